package kubeletstatus

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// gatedReady returns the condition Ready of a pod whose containers are ready, given the other conditions.
func gatedReady(pod *corev1.Pod, conditions []corev1.PodCondition) corev1.PodCondition {
	var missing []string
	for _, gate := range pod.Spec.ReadinessGates {
		at := slices.IndexFunc(conditions, func(c corev1.PodCondition) bool { return c.Type == gate.ConditionType })
		switch {
		case at < 0:
			missing = append(missing, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case conditions[at].Status != corev1.ConditionTrue:
			missing = append(missing, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %s", gate.ConditionType, conditions[at].Status))
		}
	}
	if len(missing) == 0 {
		return condition(corev1.PodReady, corev1.ConditionTrue, "")
	}
	// MNT-389: a gate without a condition that is True holds the pod back.
	return corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady", Message: strings.Join(missing, ", ")}
}

// AsReady returns the status of a pod whose containers run, with the conditions of a pod whose containers are ready: it is ready itself unless a
// readiness gate holds it back (MNT-389).
func AsReady(l *Lists, pod *corev1.Pod, status corev1.PodStatus) corev1.PodStatus {
	ready := gatedReady(pod, status.Conditions)
	differs := func(c corev1.PodCondition) bool {
		switch c.Type {
		case corev1.PodReady:
			return c.Status != ready.Status || c.Message != ready.Message && len(pod.Spec.ReadinessGates) > 0
		case corev1.ContainersReady:
			return c.Status != corev1.ConditionTrue
		}
		return false
	}
	if !slices.ContainsFunc(status.Conditions, differs) {
		return status
	}
	status.Conditions = l.with(status.Conditions, ready, condition(corev1.ContainersReady, corev1.ConditionTrue, ""))
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == corev1.PodReady {
			c.Reason, c.Message = ready.Reason, ready.Message
		}
	}
	return status
}
