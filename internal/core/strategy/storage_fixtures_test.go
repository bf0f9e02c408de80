package strategy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/strategy/sample"
	corev1 "k8s.io/api/core/v1"
)

// row is one object of a table: what mutate makes of the good object, and what is wrong with that; "" is nothing.
type row[T api.Object] struct {
	rule, name string
	mutate     func(T)
	want       string
}

// change is one update of a table: of what before makes of the good object, to what after makes of that.
type change[T api.Object] struct {
	rule, name    string
	before, after func(T)
	want          string
}

func checkCreates[T api.Object](t *testing.T, s Of[T], good func() T, rows []row[T]) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.rule+" "+row.name, func(t *testing.T) {
			obj := good()
			row.mutate(obj)
			if s.Defaults != nil {
				s.Defaults(obj)
			}
			if got := sample.Faults(s.ValidateCreate(obj)); got != row.want {
				t.Errorf("create: %q, want %q", got, row.want)
			}
		})
	}
}

func checkUpdates[T api.Object](t *testing.T, s Of[T], good func() T, changes []change[T], status bool) {
	t.Helper()
	for _, c := range changes {
		t.Run(c.rule+" "+c.name, func(t *testing.T) {
			old := good()
			if c.before != nil {
				c.before(old)
			}
			if s.Defaults != nil {
				s.Defaults(old)
			}
			obj := old.DeepCopyObject().(T)
			c.after(obj)
			if s.Defaults != nil {
				s.Defaults(obj)
			}
			validate := s.ValidateUpdate
			if status {
				s.PrepareStatus(obj, old, sample.StoredNoon)
				validate = s.ValidateStatus
			} else if s.PrepareUpdate != nil {
				s.PrepareUpdate(obj, old)
			}
			kept := old.DeepCopyObject()
			if got := sample.Faults(validate(obj, old)); got != c.want {
				t.Errorf("update: %q, want %q", got, c.want)
			}
			if diff := cmp.Diff(kept, any(old)); diff != "" {
				t.Errorf("the stored object was written to:\n%s", diff)
			}
			if !status {
				checkSpecShared(t, s, good, c)
			}
		})
	}
}

// checkSpecShared makes the same change to a copy that shares unchanged fields with a valid object: if Of.SpecShared accepts it, it
// must be valid.
func checkSpecShared[T api.Object](t *testing.T, s Of[T], good func() T, c change[T]) {
	t.Helper()
	old := good()
	if c.before != nil {
		c.before(old)
	}
	if s.SpecShared == nil || len(s.ValidateCreate(old)) > 0 {
		return
	}
	s.Defaults(old)
	kept := old.DeepCopyObject()
	obj := s.Shallow(old)
	c.after(obj)
	if cmp.Diff(kept, any(old)) != "" {
		return // the change writes to shared memory
	}
	s.Defaults(obj)
	s.PrepareUpdate(obj, old)
	if s.SpecShared(obj, old) && c.want != "" {
		t.Errorf("spec shared, want %q", c.want)
	}
}

// affinity is a node affinity of one expression.
func affinity(key string, op corev1.NodeSelectorOperator, values ...string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
		{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}},
	}}}
}

// fieldAffinity is a node affinity of one field.
func fieldAffinity(key string, op corev1.NodeSelectorOperator, values ...string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
		{MatchFields: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}},
	}}}
}
