package reclaim

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// UsesClaim reports whether the pod delays the deletion of a claim (PROT-026). The uid of the claim counts for generic ephemeral volumes
// only (PROT-027).
func UsesClaim(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	// PROT-026: an unscheduled pod does not count, because no kubelet starts it with a claim that is being deleted. The phase of the pod and
	// whether it is being deleted do not matter.
	if pod.Spec.NodeName == "" || pod.Namespace != claim.Namespace {
		return false
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		// PROT-027: the name alone counts, even if the pod is older than the claim.
		if volume.PersistentVolumeClaim != nil && volume.PersistentVolumeClaim.ClaimName == claim.Name {
			return true
		}
		// PROT-026: a pod that only waits for its finalizers must not wait for its own claim.
		if volume.Ephemeral != nil && !shutDown(pod) &&
			objects.EphemeralClaimName(pod, volume) == claim.Name && objects.OwnsClaim(pod, claim) {
			return true
		}
	}
	return false
}

// shutDown reports whether the pod is deleted with no grace period left: the kubelet has stopped it, or it was deleted by force.
func shutDown(pod *corev1.Pod) bool {
	grace := pod.DeletionGracePeriodSeconds
	return pod.DeletionTimestamp != nil && grace != nil && *grace == 0
}
