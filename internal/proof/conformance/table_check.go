package conformance

import (
	"cmp"
	"slices"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
)

// Check returns the differences from the expected result; nil if there is none.
func (c TableCase) Check(outcome TableOutcome) []string {
	diffs := slices.Clone(outcome.Wrong)
	diffs = append(diffs, diffLists(c.Expected.Volumes, outcome.Volumes)...)
	diffs = append(diffs, diffLists(c.Expected.Claims, outcome.Claims)...)
	// The cases list only the first Events.
	events := outcome.Events[:min(len(outcome.Events), len(c.ExpectedEvents))]
	if diff := gocmp.Diff(c.ExpectedEvents, events, cmpopts.EquateEmpty()); diff != "" {
		diffs = append(diffs, diff)
	}
	return diffs
}

// diffLists compares objects in the order of their names.
func diffLists[T api.Object](want, got []T) []string {
	byKey := func(a, b T) int { return cmp.Compare(api.KeyOf(a), api.KeyOf(b)) }
	want, got = slices.SortedFunc(slices.Values(want), byKey), slices.SortedFunc(slices.Values(got), byKey)
	var diffs []string
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			diffs = append(diffs, "not expected: "+api.KeyOf(got[i]))
		case i >= len(got):
			diffs = append(diffs, "missing: "+api.KeyOf(want[i]))
		default:
			if diff := diffObjects(want[i], got[i]); diff != "" {
				diffs = append(diffs, diff)
			}
		}
	}
	return diffs
}

// diffObjects compares whole objects, except versions and, if want lacks them, what only an API server sets: the uid of volumes, and
// timestamps.
func diffObjects(want, got api.Object) string {
	want, got = want.DeepCopyObject().(api.Object), got.DeepCopyObject().(api.Object)
	for _, obj := range []api.Object{want, got} {
		obj.SetResourceVersion("")
		if pv, ok := obj.(*corev1.PersistentVolume); ok && pv.Spec.ClaimRef != nil {
			pv.Spec.ClaimRef.ResourceVersion = ""
		}
	}
	if t := want.GetCreationTimestamp(); t.IsZero() {
		got.SetCreationTimestamp(metav1.Time{})
	}
	if pv, ok := want.(*corev1.PersistentVolume); ok {
		if pv.UID == "" {
			got.SetUID("")
		}
		if other, ok := got.(*corev1.PersistentVolume); ok && pv.Status.LastPhaseTransitionTime == nil {
			other.Status.LastPhaseTransitionTime = nil
		}
	}
	return gocmp.Diff(want, got, cmpopts.EquateEmpty())
}
