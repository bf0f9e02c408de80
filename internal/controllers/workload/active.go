package workload

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Ended reports whether a pod has succeeded or failed.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Active reports whether a pod has not ended and is not being deleted.
func Active(pod *corev1.Pod) bool { return !Ended(pod) && pod.DeletionTimestamp == nil }

// Older compares pods by creation and name.
func Older(a, b *corev1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}
