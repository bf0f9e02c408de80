package podgc

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// TerminatedThreshold is how many finished pods a cluster may have (NODE-071, --terminated-pod-gc-threshold).
const TerminatedThreshold = 12500

// terminated reports whether a pod has finished (NODE-071).
func terminated(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodPending, corev1.PodRunning, corev1.PodUnknown:
		return false
	}
	return true
}

// Terminated returns the finished pods above the threshold: evicted pods first, then the oldest, then by name (NODE-071).
func Terminated(pods []*corev1.Pod, threshold int) []*corev1.Pod {
	var finished []*corev1.Pod
	for _, pod := range pods {
		if terminated(pod) {
			finished = append(finished, pod)
		}
	}
	if len(finished) <= threshold {
		return nil
	}
	slices.SortStableFunc(finished, byAge)
	return finished[:len(finished)-threshold]
}

// byAge orders evicted pods first, then by creation, then by name.
func byAge(a, b *corev1.Pod) int {
	if evicted(a) != evicted(b) {
		if evicted(a) {
			return -1
		}
		return 1
	}
	if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

func evicted(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == "Evicted"
}

// OutOfService returns the pods that are being deleted on a node that is out of service and not ready (ATT-196). node returns the node of a
// name, nil if there is none.
func OutOfService(pods []*corev1.Pod, node func(name string) *corev1.Node) []*corev1.Pod {
	var found []*corev1.Pod
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil {
			continue
		}
		// ATT-196: unlike for the attach/detach controller, the node must also not be ready.
		if n := node(pod.Spec.NodeName); n != nil && !objects.Healthy(n) && objects.OutOfService(n) {
			found = append(found, pod)
		}
	}
	slices.SortStableFunc(found, byAge)
	return found
}

// Unscheduled returns the pods that are being deleted and have no node (NODE-075).
func Unscheduled(pods []*corev1.Pod) []*corev1.Pod {
	var found []*corev1.Pod
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil && pod.Spec.NodeName == "" {
			found = append(found, pod)
		}
	}
	return found
}
