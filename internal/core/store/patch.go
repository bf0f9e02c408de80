package store

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/decode"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Patch applies a JSON merge patch (RFC 7386) to the newest version of an object and updates the object to the result (API-016). The
// result has the stored resourceVersion unless the patch changes it, so only a patch that names a version can conflict (see
// checkVersion); a patch of the uid is an invalid change. A patch that is not a JSON object, or that changes name or namespace, is a
// BadRequest; one that makes the object undecodable is Invalid. As on a server without strict validation, unknown fields are dropped.
func (t *table[T]) Patch(key string, patch []byte, sub api.Subresource) (T, error) {
	var none T
	if err := t.checkSubresource(sub); err != nil {
		return none, err
	}
	c := t.whole().Get(key)
	if c == nil {
		// API-022, API-246: a patch does not create objects.
		return none, t.notFound(key)
	}
	obj, err := t.merge(c.obj, patch)
	if err != nil {
		return none, err
	}
	return t.replacePatched(c, obj, sub)
}

// PatchWith is Patch with a function in place of a merge patch: change sets fields of a copy of the newest version. The copy shares what its
// pointers, maps and slices refer to, so change replaces them and never writes through them. An error of change is the answer; change is not
// called if the object does not exist.
//
// BenchmarkLifecycle/pods=1000 takes 0.94 ms of processor time and 1,403 allocations per pod with it, and 1.25 ms and 1,882 with merge
// patches.
func (t *table[T]) PatchWith(key string, change func(obj T) error, sub api.Subresource) (T, error) {
	var none T
	if err := t.checkSubresource(sub); err != nil {
		return none, err
	}
	c := t.whole().Get(key)
	if c == nil {
		return none, t.notFound(key)
	}
	obj := t.strategy.Shallow(c.obj)
	if err := change(obj); err != nil {
		return none, err
	}
	return t.replacePatched(c, obj, sub)
}

// replacePatched replaces an object by its patched copy.
func (t *table[T]) replacePatched(c *cell[T], obj T, sub api.Subresource) (T, error) {
	var none T
	meta, oldMeta := metaOf(obj), metaOf(c.obj)
	// API-009: the namespace is filled in, or cleared for kinds without one.
	if meta.Namespace == "" || !t.resource.namespaced {
		meta.Namespace = oldMeta.Namespace
	}
	if meta.Namespace != oldMeta.Namespace {
		return none, errOtherNamespace()
	}
	if meta.Name != oldMeta.Name {
		return none, errOtherName(meta.Name, oldMeta.Name)
	}
	return t.replace(c, obj, sub, false)
}

// merge returns a new object: the old one with the patch applied.
func (t *table[T]) merge(old T, patch []byte) (T, error) {
	var none T
	change, err := decode.Object(patch)
	if err != nil {
		return none, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	if obj, ok := t.mergeTyped(old, change); ok {
		return obj, nil
	}
	return t.mergeDocuments(old, change)
}

// mergeTyped applies the patch to the fields of a copy. It returns false for a patch that needs mergeDocuments.
func (t *table[T]) mergeTyped(old T, change map[string]any) (T, bool) {
	obj := t.strategy.Shallow(old)
	if t.resource.other {
		return obj, false
	}
	// Only mergeDocuments validates these two.
	for _, name := range [...]string{"apiVersion", "kind"} {
		if _, ok := change[name]; ok {
			return obj, false
		}
	}
	return obj, mergeFields(reflect.ValueOf(obj).Elem(), change)
}

// mergeDocuments applies the patch to the JSON of the object.
func (t *table[T]) mergeDocuments(old T, change map[string]any) (T, error) {
	var none T
	data, err := json.Marshal(old)
	if err != nil {
		return none, serverError(err.Error())
	}
	doc, err := decode.Object(data)
	if err != nil {
		return none, serverError(err.Error())
	}
	gvk := GroupVersionKind(t.resource.kind)
	if stored := old.GetObjectKind().GroupVersionKind(); t.resource.other && !stored.Empty() {
		gvk = stored
	}
	doc["apiVersion"], doc["kind"] = gvk.GroupVersion().String(), gvk.Kind
	doc = mergePatch(doc, change)
	merged, err := json.Marshal(doc)
	if err != nil {
		return none, serverError(err.Error())
	}
	if doc["apiVersion"] != gvk.GroupVersion().String() || doc["kind"] != gvk.Kind {
		return none, errPatched(merged, fmt.Errorf("unable to decode it as %s %s", gvk.GroupVersion(), gvk.Kind))
	}
	obj, err := decode.Typed[T](merged)
	if err != nil {
		return none, errPatched(merged, err)
	}
	obj.GetObjectKind().SetGroupVersionKind(old.GetObjectKind().GroupVersionKind())
	return obj, nil
}

// errPatched returns the error for a patch whose result cannot be decoded: Invalid, without a kind and a name (API-016).
func errPatched(merged []byte, why error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), string(merged), why.Error())})
}

// mergePatch applies a patch to target, which it may modify, as RFC 7386 defines it.
func mergePatch(target, patch map[string]any) map[string]any {
	if target == nil {
		target = map[string]any{}
	}
	for key, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(target, key)
		case map[string]any:
			inner, _ := target[key].(map[string]any)
			target[key] = mergePatch(inner, value)
		default:
			target[key] = value
		}
	}
	return target
}
