package objects

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SelectsNode reports whether the node selector and the required node affinity of a pod allow a node. Requirements on fields compare the
// name of the node.
func SelectsNode(pod *corev1.Pod, node *corev1.Node) bool {
	if len(pod.Spec.NodeSelector) > 0 { // a range over a nil map takes longer than the rest
		for key, value := range pod.Spec.NodeSelector {
			if got, ok := node.Labels[key]; !ok || got != value {
				return false
			}
		}
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	terms := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	return slices.ContainsFunc(terms, func(term corev1.NodeSelectorTerm) bool {
		return TermSelectsNode(&term, node)
	})
}

// TermSelectsNode reports whether a node satisfies all requirements of a term. A term without requirements selects no node.
func TermSelectsNode(term *corev1.NodeSelectorTerm, node *corev1.Node) bool {
	return termMatches(term, node.Labels) && !slices.ContainsFunc(term.MatchFields, func(r corev1.NodeSelectorRequirement) bool {
		return r.Key != metav1.ObjectNameField || (r.Operator == corev1.NodeSelectorOpIn) != (r.Values[0] == node.Name)
	})
}

// Tolerated reports whether a pod tolerates a taint.
func Tolerated(pod *corev1.Pod, taint *corev1.Taint) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return Tolerates(&t, taint) })
}

// Tolerates reports whether a toleration matches a taint.
func Tolerates(t *corev1.Toleration, taint *corev1.Taint) bool {
	switch {
	case t.Effect != "" && t.Effect != taint.Effect, t.Key != "" && t.Key != taint.Key:
		return false
	case t.Operator == corev1.TolerationOpExists:
		return true
	}
	return t.Key != "" && (t.Operator == "" || t.Operator == corev1.TolerationOpEqual) && t.Value == taint.Value
}

// criticalPriority is the lowest priority of a critical pod.
const criticalPriority = 2_000_000_000

// IsCriticalPod reports whether a kubelet makes room for a pod (MNT-407).
func IsCriticalPod(pod *corev1.Pod) bool {
	return pod.Spec.Priority != nil && *pod.Spec.Priority >= criticalPriority
}
