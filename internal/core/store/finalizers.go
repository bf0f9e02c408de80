package store

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// The protection finalizers, as most objects have them: alone. Stored objects share them.
var (
	volumeProtection          = [1]string{objects.VolumeProtectionFinalizer}
	claimProtection           = [1]string{objects.ClaimProtectionFinalizer}
	attributesClassProtection = [1]string{objects.VACProtectionFinalizer}
)

// protect adds a protection finalizer to a new object, as its last, unless it already has it (API-254).
func protect(meta *metav1.ObjectMeta, finalizer *[1]string) {
	switch {
	case len(meta.Finalizers) == 0:
		meta.Finalizers = finalizer[:]
	case !slices.Contains(meta.Finalizers, finalizer[0]):
		meta.Finalizers = append(slices.Clip(meta.Finalizers), finalizer[0])
	}
}

// blocked reports whether finalizers keep a deleted object in the store (API-052, BIND-016).
func blocked(meta *metav1.ObjectMeta) bool { return len(meta.Finalizers) > 0 }

// releases reports whether an update takes the last finalizer off an object that is being deleted, so that the object is removed. A pod
// with grace left stays (API-055, API-066).
func releases(old, updated *metav1.ObjectMeta) bool {
	return old.DeletionTimestamp != nil && !blocked(updated) && graceOver(old)
}

// graceOver reports whether the grace period of an object that is being deleted has been set to zero, so that only finalizers can keep
// it.
func graceOver(meta *metav1.ObjectMeta) bool {
	return meta.DeletionGracePeriodSeconds == nil || *meta.DeletionGracePeriodSeconds == 0
}

// addedFinalizers lists the finalizers that an update adds, sorted.
func addedFinalizers(finalizers, old []string) []string {
	var added []string
	for _, name := range finalizers {
		if !slices.Contains(old, name) {
			added = append(added, name)
		}
	}
	slices.Sort(added)
	return slices.Compact(added)
}
