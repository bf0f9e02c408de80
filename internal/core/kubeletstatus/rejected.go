package kubeletstatus

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rejected returns the status of a pod that its node does not run (MNT-403): nothing about containers and addresses, and no condition of a kubelet.
func Rejected(pod *corev1.Pod, reason, message string, now metav1.Time) corev1.PodStatus {
	status := corev1.PodStatus{Phase: corev1.PodFailed, Reason: reason, Message: message, QOSClass: pod.Status.QOSClass, StartTime: pod.Status.StartTime,
		ObservedGeneration: pod.Generation}
	if status.StartTime == nil {
		status.StartTime = &now
	}
	status.Conditions = slices.DeleteFunc(slices.Clone(pod.Status.Conditions), func(c corev1.PodCondition) bool { return owned(&c) })
	return status
}
