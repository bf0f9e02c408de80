package strategy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mergeLabelKeys adds matchLabelKeys and mismatchLabelKeys of a new pod to the selectors of its affinity to other pods and of its topology
// spread constraints, with the values of the pod's own labels (SCHED-299).
func mergeLabelKeys(pod *corePod) {
	if usesLabelKeys(&pod.Spec) {
		pod.Spec = *pod.Spec.DeepCopy()
	}
	merge := func(selector *metav1.LabelSelector, operator metav1.LabelSelectorOperator, keys []string) {
		// SCHED-299: without a selector a term selects nothing, whatever its keys.
		if selector == nil {
			return
		}
		for _, key := range keys {
			if value, ok := pod.Labels[key]; ok {
				selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
			}
		}
	}
	for _, term := range affinityTerms(&pod.Spec) {
		merge(term.LabelSelector, metav1.LabelSelectorOpIn, term.MatchLabelKeys)
		merge(term.LabelSelector, metav1.LabelSelectorOpNotIn, term.MismatchLabelKeys)
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		sc := &pod.Spec.TopologySpreadConstraints[i]
		merge(sc.LabelSelector, metav1.LabelSelectorOpIn, sc.MatchLabelKeys)
	}
}

func usesLabelKeys(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(affinityTerms(spec), func(t *corev1.PodAffinityTerm) bool { return len(t.MatchLabelKeys)+len(t.MismatchLabelKeys) > 0 }) ||
		slices.ContainsFunc(spec.TopologySpreadConstraints, func(sc corev1.TopologySpreadConstraint) bool { return len(sc.MatchLabelKeys) > 0 })
}

// affinityTerms returns the terms of the affinity and anti-affinity to other pods.
func affinityTerms(spec *corev1.PodSpec) []*corev1.PodAffinityTerm {
	if spec.Affinity == nil {
		return nil
	}
	var terms []*corev1.PodAffinityTerm
	add := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range preferred {
			terms = append(terms, &preferred[i].PodAffinityTerm)
		}
		for i := range required {
			terms = append(terms, &required[i])
		}
	}
	if a := spec.Affinity.PodAffinity; a != nil {
		add(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := spec.Affinity.PodAntiAffinity; a != nil {
		add(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return terms
}
