package store_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

func byClass(v *corev1.PersistentVolume) []string {
	if v.Spec.StorageClassName == "" {
		return nil
	}
	return []string{v.Spec.StorageClassName, "any"}
}

func appendClasses(v *corev1.PersistentVolume, list []string) []string {
	return append(list, byClass(v)...)
}

func TestIndex(t *testing.T) {
	w := newFixture(t)
	inClass := func(name string) func(*corev1.PersistentVolume) {
		return func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = name }
	}
	create(w, with(disk("b"), inClass("fast")))
	ix := w.Volumes.NewIndex(appendClasses)
	assert.Equal(t, []string{"b"}, ix.Keys("fast"), "what was there before")
	a := create(w, with(disk("a"), inClass("fast")))
	assert.Equal(t, []string{"a", "b"}, ix.Keys("fast"), "in order")
	update(w, with(a, inClass("slow")))
	assert.Equal(t, []string{"b"}, ix.Keys("fast"), "moved")
	assert.Equal(t, []string{"a"}, ix.Keys("slow"))
	assert.Equal(t, []string{"a", "b"}, ix.Keys("any"))
	assert.Empty(t, ix.Keys("fas"), "not by a prefix")
	assert.Equal(t, []string{"slow", "any"}, ix.Values(with(a, inClass("slow"))))
	w.Update(with(a, func(v *corev1.PersistentVolume) { inClass("none")(v); v.ResourceVersion = "1" }))
	assert.Empty(t, ix.Keys("none"), "a refused write")
	marked := remove(w, a).(*corev1.PersistentVolume)
	update(w, with(marked, func(v *corev1.PersistentVolume) { v.Finalizers = nil; inClass("fast")(v) }))
	assert.Equal(t, []string{"b"}, ix.Keys("any"), "gone, by what was stored")
}

// TestIndexAgrees: an index finds the same objects as a search, for every sequence of writes.
func TestIndexAgrees(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := store.New(store.Config{})
		ix := s.Volumes.NewIndex(appendClasses)
		names, classes := rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"", "x", "y"})
		for range rapid.IntRange(1, 30).Draw(r, "writes") {
			pv := disk(names.Draw(r, "name"))
			pv.Spec.StorageClassName = classes.Draw(r, "class")
			switch rapid.IntRange(0, 3).Draw(r, "verb") {
			case 0:
				s.Create(pv)
			case 1:
				s.Update(pv) // drops the finalizer
			case 2:
				s.Delete(api.PersistentVolume, pv.Name, api.DeleteOptions{})
			case 3:
				s.Load(pv)
			}
			for _, value := range []string{"x", "y", "any"} {
				var want []string
				for _, v := range s.Volumes.List() {
					for _, has := range byClass(v) {
						if has == value {
							want = append(want, v.Name)
						}
					}
				}
				if got := ix.Keys(value); !assert.ObjectsAreEqual(want, got) {
					r.Fatalf("Keys(%q) = %v, want %v", value, got, want)
				}
			}
		}
	})
}
