package reclaim

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
)

// Released reports whether a volume has no claim any more and may be deleted or recycled (RECL-010). ownClaim looks a claim up
// in the controller's own cache, by key. The phase of the volume does not count.
func Released(pv *corev1.PersistentVolume, ownClaim func(key string) (*corev1.PersistentVolumeClaim, bool)) bool {
	ref := pv.Spec.ClaimRef
	// RECL-010: a volume that nobody was bound to yet has not been released.
	if ref == nil || ref.UID == "" {
		return false
	}
	claim, exists := ownClaim(api.Key(ref.Namespace, ref.Name))
	// RECL-010: the claim is gone, or another one has its name.
	if !exists || claim.UID != ref.UID {
		return true
	}
	// RECL-010: a claim that has not got its volumeName yet may still be on its way to this volume.
	return claim.Spec.VolumeName != "" && claim.Spec.VolumeName != pv.Name
}
