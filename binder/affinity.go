package binder

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// nodeAffinityMatches reports whether the volume's node affinity admits the node (MATCH-022).
func nodeAffinityMatches(pv *corev1.PersistentVolume, node *corev1.Node) bool {
	return objects.AdmitsNode(pv, node.Labels)
}

// describeAffinity spells the terms of the volume's node affinity, such as "zone In (a, b); disk Exists or zone In (c)".
func describeAffinity(pv *corev1.PersistentVolume) string {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		return "none"
	}
	terms := make([]string, 0, len(pv.Spec.NodeAffinity.Required.NodeSelectorTerms))
	for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		var parts []string
		for _, r := range slices.Concat(term.MatchExpressions, term.MatchFields) {
			part := r.Key + " " + string(r.Operator)
			if len(r.Values) > 0 {
				part += " (" + strings.Join(r.Values, ", ") + ")"
			}
			parts = append(parts, part)
		}
		if len(parts) == 0 {
			parts = append(parts, "an empty term")
		}
		terms = append(terms, strings.Join(parts, "; "))
	}
	return strings.Join(terms, " or ")
}
