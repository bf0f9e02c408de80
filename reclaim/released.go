package reclaim

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
)

// isReleased reports whether the claim of a volume is gone, so that it may be deleted or recycled (RECL-010). ownClaim returns the claim of a
// key from the controller's own cache. The phase of the volume does not count.
func isReleased(pv *corev1.PersistentVolume, ownClaim func(key string) (*corev1.PersistentVolumeClaim, bool)) bool {
	ref := pv.Spec.ClaimRef
	// RECL-010: a volume that was never bound is not released.
	if ref == nil || ref.UID == "" {
		return false
	}
	claim, exists := ownClaim(api.Key(ref.Namespace, ref.Name))
	// RECL-010: it is released if the claim is gone, or another claim has its name.
	if !exists || claim.UID != ref.UID {
		return true
	}
	// RECL-010: a claim without volumeName may still be bound to this volume; one with another volumeName releases it.
	return claim.Spec.VolumeName != "" && claim.Spec.VolumeName != pv.Name
}

// released is isReleased with the caches of the controller, and logs the answer.
func (r *reclaimer) released(pv *corev1.PersistentVolume) bool {
	released := isReleased(pv, r.host.OwnClaim)
	ref := pv.Spec.ClaimRef
	switch {
	case ref == nil:
		r.log.Info(4, "isVolumeReleased: ClaimRef is nil", volumeName(pv))
	case ref.UID == "":
		r.log.Info(4, "isVolumeReleased: ClaimRef is not bound", volumeName(pv))
	case !released:
		r.log.Info(4, "isVolumeReleased: ClaimRef is still valid, volume is not released", volumeName(pv))
	default:
		// Upstream logs nothing if the claim exists, and is bound to another volume.
		if claim, ok := r.host.OwnClaim(api.Key(ref.Namespace, ref.Name)); !ok || claim.UID != ref.UID {
			r.log.Info(2, "isVolumeReleased: volume is released", volumeName(pv))
		}
	}
	return released
}
