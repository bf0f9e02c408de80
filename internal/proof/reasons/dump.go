package reasons

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// Dump returns the objects of a row as kubectl get -o json prints them.
func (r Row) Dump(t testing.TB) []byte {
	t.Helper()
	items := make([]api.Object, 0, len(r.Objs))
	for _, obj := range r.Objs {
		obj := obj.DeepCopyObject().(api.Object)
		gvk := store.GroupVersionKind(api.KindOf(obj))
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind})
		items = append(items, obj)
	}
	// Without it, the objects could be manifests that were never applied.
	items = append(items, &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "ns"}})
	data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	require.NoError(t, err)
	return data
}

// Command returns the row with the command's answer.
func (r Row) Command() Row {
	d := r.Dumped
	if d == nil {
		return r
	}
	or := func(other, own string) string {
		if other == "" {
			return own
		}
		return other
	}
	root := d.Root
	if root == "" {
		root = d.Rule
	}
	r.Rule, r.Root, r.Candidate, r.Actor = or(d.Rule, r.Rule), or(root, r.Root), or(d.Candidate, r.Candidate), or(d.Actor, r.Actor)
	if d.When != "" {
		r.When = d.When
	}
	return r
}
