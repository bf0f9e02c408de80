package store

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/volsim/volsim/api"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Patch applies a JSON merge patch (RFC 7386) to the newest version of an object and carries the result through as an update
// (API-016). The result carries the stored resourceVersion unless the patch says otherwise, so only a patch that names one can
// conflict; another uid is an invalid change. A patch that is no JSON object, or changes name or namespace, is a BadRequest; one
// that makes the object undecodable is Invalid. As on a server without strict validation, unknown fields are dropped.
func (t *Table[T]) Patch(key string, patch []byte, sub api.Subresource) (T, error) {
	var none T
	if err := t.checkSubresource(sub); err != nil {
		return none, err
	}
	c := t.cells.Get(key)
	if c == nil {
		// API-022, API-246
		return none, t.notFound(key)
	}
	old := c.obj
	obj, err := t.merge(old, patch)
	if err != nil {
		return none, err
	}
	meta, oldMeta := metaOf(obj), metaOf(old)
	// API-009: the namespace is filled in, or cleared where there is none.
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

// merge makes a new object of the old one and the patch.
func (t *Table[T]) merge(old T, patch []byte) (T, error) {
	var none T
	change, err := decodeObject(patch)
	if err != nil {
		return none, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	if obj, ok := t.mergeTyped(old, change); ok {
		return obj, nil
	}
	return t.mergeDocuments(old, change)
}

// mergeTyped merges into the fields that the patch names. It reports false if that is not possible, for whatever reason.
func (t *Table[T]) mergeTyped(old T, change map[string]any) (T, bool) {
	obj := t.strategy.shallow(old)
	// Whether these are right is seen in the document.
	for _, name := range [...]string{"apiVersion", "kind"} {
		if _, ok := change[name]; ok {
			return obj, false
		}
	}
	return obj, mergeFields(reflect.ValueOf(obj).Elem(), change)
}

// mergeDocuments merges as RFC 7386 has it: by way of JSON.
func (t *Table[T]) mergeDocuments(old T, change map[string]any) (T, error) {
	var none T
	data, err := json.Marshal(old)
	if err != nil {
		return none, serverError(err.Error())
	}
	doc, err := decodeObject(data)
	if err != nil {
		return none, serverError(err.Error())
	}
	gvk := GroupVersionKind(t.resource.kind)
	doc["apiVersion"], doc["kind"] = gvk.GroupVersion().String(), gvk.Kind
	doc = mergePatch(doc, change)
	merged, err := json.Marshal(doc)
	if err != nil {
		return none, serverError(err.Error())
	}
	if doc["apiVersion"] != gvk.GroupVersion().String() || doc["kind"] != gvk.Kind {
		return none, errPatched(merged, fmt.Errorf("unable to decode it as %s %s", gvk.GroupVersion(), gvk.Kind))
	}
	obj, err := decodeTyped[T](merged)
	if err != nil {
		return none, errPatched(merged, err)
	}
	obj.GetObjectKind().SetGroupVersionKind(old.GetObjectKind().GroupVersionKind())
	return obj, nil
}

// errPatched is the error for a patch that makes an object that cannot be read. It is Invalid, of no kind and no name (API-016).
func errPatched(merged []byte, why error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), string(merged), why.Error())})
}

// mergePatch is RFC 7386 for a target that may be written to.
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
