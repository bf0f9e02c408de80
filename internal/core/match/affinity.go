package match

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// Reaches reports whether the node affinity of the volume admits the node (MATCH-022).
func Reaches(pv *corev1.PersistentVolume, node *corev1.Node) bool {
	return objects.AdmitsNode(pv, node.Labels)
}

// DescribeAffinity renders the node affinity of the volume: `zone in (a, b) and disk exists, or zone in (c)`.
func DescribeAffinity(pv *corev1.PersistentVolume) string {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		return "none"
	}
	return DescribeTerms(pv.Spec.NodeAffinity.Required.NodeSelectorTerms)
}

// DescribeTerms renders the terms of a node selector: "zone in (a, b) and disk exists, or zone in (c)".
func DescribeTerms(all []corev1.NodeSelectorTerm) string {
	terms := make([]string, 0, len(all))
	for _, term := range all {
		var parts []string
		for _, r := range slices.Concat(term.MatchExpressions, term.MatchFields) {
			part := r.Key + " " + strings.ToLower(string(r.Operator))
			if len(r.Values) > 0 {
				part += " (" + strings.Join(r.Values, ", ") + ")"
			}
			parts = append(parts, part)
		}
		if len(parts) == 0 {
			parts = append(parts, "an empty term")
		}
		terms = append(terms, strings.Join(parts, " and "))
	}
	return strings.Join(terms, ", or ")
}
