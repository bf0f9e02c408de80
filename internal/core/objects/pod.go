package objects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
)

// EphemeralClaimName returns the name of the claim for a generic ephemeral volume of a pod (EPH-003).
func EphemeralClaimName(pod *corev1.Pod, volume *corev1.Volume) string {
	return pod.Name + "-" + volume.Name
}

// ClaimOf returns the name of the claim that a volume of a pod uses, or "" if it uses none.
func ClaimOf(pod *corev1.Pod, volume *corev1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		return EphemeralClaimName(pod, volume)
	}
	return ""
}

// ClaimsOf returns the keys of the claims that a pod uses, in the order of its volumes, including those of generic ephemeral volumes
// (PROT-021).
func ClaimsOf(pod *corev1.Pod) []string { return AppendClaims(pod, nil) }

// AppendClaims is ClaimsOf; it appends to keys. A key that was in that place of the list before takes no memory: an index often asks for the
// claims of one pod several times in a row.
func AppendClaims(pod *corev1.Pod, keys []string) []string {
	for i := range pod.Spec.Volumes {
		name := ClaimOf(pod, &pod.Spec.Volumes[i])
		if name == "" {
			continue
		}
		n := len(keys)
		if n < cap(keys) && isKey(keys[:n+1][n], pod.Namespace, name) {
			keys = keys[:n+1]
		} else {
			keys = append(keys, api.Key(pod.Namespace, name))
		}
	}
	return keys
}

// isKey reports whether the key is namespace/name. It compares the name first, in which keys differ most.
func isKey(key, namespace, name string) bool {
	n := len(namespace)
	return n > 0 && len(key) == n+1+len(name) && key[n+1:] == name && key[n] == '/' && key[:n] == namespace
}

// OwnsClaim reports whether this pod is the controller of the claim, as for claims of generic ephemeral volumes (API-276).
func OwnsClaim(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	// API-276: the controller reference decides, by uid; a pod that was re-created does not own the claim of its predecessor.
	controller := metav1.GetControllerOfNoCopy(claim)
	return claim.Namespace == pod.Namespace && controller != nil && controller.UID == pod.UID
}

// Terminated reports whether no container of the pod runs or will run again (RECL-066).
func Terminated(pod *corev1.Pod) bool {
	// RECL-066: the pod is complete.
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return true
	}
	// RECL-066: the pod is being deleted and no container runs; a pod without statuses counts as such.
	return pod.DeletionTimestamp != nil &&
		noneRuns(pod.Status.InitContainerStatuses) &&
		noneRuns(pod.Status.ContainerStatuses) &&
		noneRuns(pod.Status.EphemeralContainerStatuses)
}

func noneRuns(statuses []corev1.ContainerStatus) bool {
	for i := range statuses {
		if statuses[i].State.Terminated == nil && statuses[i].State.Waiting == nil {
			return false
		}
	}
	return true
}

// IsSidecar reports whether an init container runs beside the main containers.
func IsSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
