package reclaim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// with returns the finalizers with one more at the end, unless it is there. The argument is not modified.
func with(finalizers []string, finalizer string) (_ []string, changed bool) {
	if slices.Contains(finalizers, finalizer) {
		return finalizers, false
	}
	return append(slices.Clip(slices.Clone(finalizers)), finalizer), true
}

// without returns the finalizers except one; nil if none is left. The argument is not modified.
func without(finalizers []string, finalizer string) (_ []string, changed bool) {
	if !slices.Contains(finalizers, finalizer) {
		return finalizers, false
	}
	var rest []string
	for _, f := range finalizers {
		if f != finalizer {
			rest = append(rest, f)
		}
	}
	return rest, true
}

// volumeWith returns a copy of the volume with other finalizers. It shares everything else.
func volumeWith(pv *corev1.PersistentVolume, finalizers []string) *corev1.PersistentVolume {
	edited := *pv
	edited.Finalizers = finalizers
	return &edited
}

// claimWith returns a copy of the claim with other finalizers. It shares everything else.
func claimWith(claim *corev1.PersistentVolumeClaim, finalizers []string) *corev1.PersistentVolumeClaim {
	edited := *claim
	edited.Finalizers = finalizers
	return &edited
}
