package reclaim

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// UsesClaim reports whether the pod keeps a claim of its namespace from being deleted (PROT-026). The uid of the claim counts for
// generic ephemeral volumes only (PROT-027).
func UsesClaim(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	// PROT-026: no kubelet starts an unscheduled pod with a claim that is being deleted. Phase and deletion of the pod do not count.
	if pod.Spec.NodeName == "" || pod.Namespace != claim.Namespace {
		return false
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		// PROT-027: by name, whenever pod and claim were created.
		if volume.PersistentVolumeClaim != nil && volume.PersistentVolumeClaim.ClaimName == claim.Name {
			return true
		}
		// PROT-026: a pod that is only waiting for its finalizers must not wait for its own claim.
		if volume.Ephemeral != nil && !shutDown(pod) &&
			objects.EphemeralClaimName(pod, volume) == claim.Name && objects.OwnsClaim(pod, claim) {
			return true
		}
	}
	return false
}

// shutDown reports whether the kubelet is done with the pod, or it was deleted by force.
func shutDown(pod *corev1.Pod) bool {
	grace := pod.DeletionGracePeriodSeconds
	return pod.DeletionTimestamp != nil && grace != nil && *grace == 0
}
