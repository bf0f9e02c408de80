// Package apply computes what kubectl apply changes in an object: the difference between the manifest that was applied before, the one that
// is applied now, and the object.
package apply

import (
	"encoding/json"
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/document"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/strategic"
)

// Manifest is an object as a user describes it.
type Manifest struct {
	object api.Object
	doc    map[string]any // nil before the first call of document
}

// NewManifest returns the manifest of an object, which must not change afterwards.
func NewManifest(obj api.Object) *Manifest { return &Manifest{object: obj} }

// document returns the document of the object without status and without empty values that the Go types add.
func (m *Manifest) document() map[string]any {
	if m.doc == nil {
		m.doc = document.Of(m.object.DeepCopyObject().(api.Object))
		delete(m.doc, "status")
		prune(m.doc)
	}
	return m.doc
}

// Applied has the manifests that were applied last, by object.
type Applied map[api.Ref]*Manifest

// Patch returns the merge patch that makes the stored object what kubectl apply makes it. Lists of objects are merged by the keys of their
// elements, but not in custom objects.
func (a Applied) Patch(wanted *Manifest, stored api.Object) (string, error) {
	before, after := a.last(stored), wanted.document()
	if t, ok := MergeType(api.KindOf(stored)); ok {
		now := document.Of(stored)
		merged, err := strategic.ThreeWay(before, after, now, t)
		if err != nil {
			return "", fmt.Errorf("apply %s: %w", api.RefTo(stored), err)
		}
		before, after = now, merged
	}
	patch, err := json.Marshal(PatchTo(before, after))
	return string(patch), err
}

// last returns the manifest that was applied last: here or, if the object was not applied here, by kubectl.
func (a Applied) last(stored api.Object) map[string]any {
	if before, ok := a[api.RefTo(stored)]; ok {
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

// PatchTo returns the merge patch that sets every field of wanted and removes the fields that only before has.
func PatchTo(before, wanted map[string]any) map[string]any {
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
			patch[key] = PatchTo(old, inner)
		case isMap:
			patch[key] = PatchTo(nil, inner)
		default:
			patch[key] = v
		}
	}
	return patch
}

// listMergers are the Go types of kinds that a cluster does not store as such, and whose lists a strategic patch merges.
var listMergers = map[api.Kind]reflect.Type{
	"Deployment.apps":  reflect.TypeFor[appsv1.Deployment](),
	"StatefulSet.apps": reflect.TypeFor[appsv1.StatefulSet](),
	"DaemonSet.apps":   reflect.TypeFor[appsv1.DaemonSet](),
	"ReplicaSet.apps":  reflect.TypeFor[appsv1.ReplicaSet](),
	"Job.batch":        reflect.TypeFor[batchv1.Job](),
	"CronJob.batch":    reflect.TypeFor[batchv1.CronJob](),
	"Service":          reflect.TypeFor[corev1.Service](),
	"ServiceAccount":   reflect.TypeFor[corev1.ServiceAccount](),
}

// MergeType returns the Go type that says how a strategic patch merges the lists of a kind. There is none for custom kinds.
func MergeType(kind api.Kind) (t reflect.Type, ok bool) {
	if known := objkinds.Get(string(kind)); known == nil || known.Custom {
		return nil, false
	}
	if obj := objects.New(kind); obj != nil {
		return reflect.TypeOf(obj), true
	}
	if merger, ok := listMergers[kind]; ok {
		return merger, true
	}
	return reflect.TypeFor[metav1.PartialObjectMetadata](), true
}
