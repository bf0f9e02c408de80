package objects

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WithFinalizer returns the finalizers with one more at the end, unless it is there. The argument is not modified.
func WithFinalizer(finalizers []string, finalizer string) (_ []string, changed bool) {
	if slices.Contains(finalizers, finalizer) {
		return finalizers, false
	}
	with := make([]string, len(finalizers)+1)
	with[copy(with, finalizers)] = finalizer
	return with, true
}

// WithoutFinalizer returns the finalizers except one; nil if it was the only one. The argument is not modified.
func WithoutFinalizer(finalizers []string, finalizer string) (_ []string, changed bool) {
	if !slices.Contains(finalizers, finalizer) {
		return finalizers, false
	}
	if len(finalizers) == 1 {
		return nil, true
	}
	rest := make([]string, 0, len(finalizers)-1)
	for _, f := range finalizers {
		if f != finalizer {
			rest = append(rest, f)
		}
	}
	if len(rest) == 0 {
		return nil, true
	}
	return rest, true
}

// FinalizerMisplaced reports whether an object that is being deleted has the finalizer, or another object lacks it (PROT-010, PROT-020,
// VAC-020).
func FinalizerMisplaced(obj metav1.Object, finalizer string) bool {
	return slices.Contains(obj.GetFinalizers(), finalizer) == (obj.GetDeletionTimestamp() != nil)
}

// MergeStrings returns a copy of labels, annotations or the like with some set. The arguments are not modified.
func MergeStrings(old, set map[string]string) map[string]string {
	merged := make(map[string]string, len(old)+len(set))
	maps.Copy(merged, old)
	maps.Copy(merged, set)
	return merged
}
