package script

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/core/strategic"
	"github.com/volsim/volsim/internal/tools/jsonpath"
)

func readApply(s *Script, args []string) (step, error) {
	a, err := readArguments(args, fileOption, namespaceOption)
	if err != nil {
		return nil, err
	}
	files, err := readFiles(s, "apply", a)
	if err != nil {
		return nil, err
	}
	objs, err := s.manifests(files, a.get("namespace", ""))
	if err != nil {
		return nil, err
	}
	manifests := make([]manifest, len(objs))
	for i, m := range objs {
		manifests[i].obj = m.obj
	}
	return func(r *runner) error {
		var failed error
		for i, m := range objs {
			if err := r.apply(&manifests[i]); err != nil {
				failed = both(failed, m.explain(err))
			}
		}
		return failed
	}, nil
}

// manifest is an object as a file describes it. It is not changed.
type manifest struct {
	obj api.Object
	doc map[string]any // nil before the first call of document
}

// document returns the document of the object without status and without empty values that the Go types add.
func (m *manifest) document() map[string]any {
	if m.doc == nil {
		m.doc = jsonpath.Of(m.obj.DeepCopyObject().(api.Object))
		delete(m.doc, "status")
		prune(m.doc)
	}
	return m.doc
}

// apply creates an object, or patches it with the difference to the manifest applied before.
func (r *runner) apply(wanted *manifest) error {
	ref := api.RefTo(wanted.obj)
	if wanted.obj.GetName() == "" {
		return fmt.Errorf("apply %s: missing name; use create with generateName", ref.Kind)
	}
	var stored api.Object
	if r.exists(ref) {
		stored, _ = r.get(ref)
	}
	if stored == nil {
		created := store.Share(wanted.obj)
		jsonpath.SetType(created)
		if err := internals.Give(r.cluster, created); err != nil {
			return err
		}
		r.applied[ref] = wanted
		r.tell(ref, "created")
		return nil
	}
	change, err := changeOf(r.lastApplied(stored), wanted.document(), stored)
	if err != nil {
		return fmt.Errorf("apply %s: %w", displayName(ref), err)
	}
	patch, err := json.Marshal(change)
	if err != nil {
		return err
	}
	if err := r.cluster.Patch(emptyObject(ref), string(patch)); err != nil {
		return err
	}
	r.applied[ref] = wanted
	now, err := r.get(ref)
	if err == nil && now.GetResourceVersion() == stored.GetResourceVersion() {
		r.tell(ref, "unchanged")
		return nil
	}
	r.tell(ref, "configured")
	return nil
}

// changeOf returns the merge patch that makes the stored object what kubectl apply makes it. Lists of objects are merged by the keys of their
// elements, but not in custom objects.
func changeOf(before, wanted map[string]any, stored api.Object) (map[string]any, error) {
	t, ok := mergeTypeOf(api.KindOf(stored))
	if !ok {
		return patchTo(before, wanted), nil
	}
	now := jsonpath.Of(stored)
	after, err := strategic.ThreeWay(before, wanted, now, t)
	if err != nil {
		return nil, err
	}
	return patchTo(now, after), nil
}

// lastApplied returns the manifest that was applied last: by this run or, if it did not apply the object, by kubectl.
func (r *runner) lastApplied(stored api.Object) map[string]any {
	if before, ok := r.applied[api.RefTo(stored)]; ok {
		return before.document()
	}
	var before map[string]any
	if text := stored.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; json.Unmarshal([]byte(text), &before) != nil {
		return nil
	}
	// kubectl writes an empty map of annotations where the manifest has none.
	if meta, ok := before["metadata"].(map[string]any); ok && isEmpty(meta["annotations"]) {
		delete(meta, "annotations")
	}
	return before
}

func isEmpty(value any) bool {
	m, ok := value.(map[string]any)
	return ok && len(m) == 0
}

// prune removes nulls and empty maps from a document, such as "creationTimestamp: null" and "resources: {}".
func prune(doc map[string]any) {
	for key, v := range doc {
		inner, isMap := v.(map[string]any)
		if isMap {
			prune(inner)
		}
		if v == nil || isMap && len(inner) == 0 {
			delete(doc, key)
		}
	}
}

// patchTo returns the merge patch that sets every field of wanted and removes the fields that only before has.
func patchTo(before, wanted map[string]any) map[string]any {
	patch := make(map[string]any)
	for key := range before {
		if _, ok := wanted[key]; !ok {
			patch[key] = nil
		}
	}
	for key, v := range wanted {
		inner, isMap := v.(map[string]any)
		old, wasMap := before[key].(map[string]any)
		switch {
		case isMap && wasMap:
			patch[key] = patchTo(old, inner)
		case isMap:
			patch[key] = patchTo(nil, inner)
		default:
			patch[key] = v
		}
	}
	return patch
}
