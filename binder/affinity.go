package binder

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// nodeAffinityMatches reports whether the volume's node affinity admits the node: there is none, or one of its terms
// matches. It judges labels alone, as upstream does for volumes: a valid requirement on a field of the node, such as its
// name, always holds.
func nodeAffinityMatches(pv *corev1.PersistentVolume, node *corev1.Node) bool {
	affinity := pv.Spec.NodeAffinity
	if affinity == nil || affinity.Required == nil {
		return true
	}
	for i := range affinity.Required.NodeSelectorTerms {
		if termMatches(&affinity.Required.NodeSelectorTerms[i], node.Labels) {
			return true
		}
	}
	return false
}

// termMatches reports whether all requirements of the term hold. A term without any matches nothing.
func termMatches(term *corev1.NodeSelectorTerm, labels map[string]string) bool {
	if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
		return false
	}
	for i := range term.MatchFields {
		if !fieldRequirementValid(&term.MatchFields[i]) {
			return false
		}
	}
	for i := range term.MatchExpressions {
		if !requirementHolds(&term.MatchExpressions[i], labels) {
			return false
		}
	}
	return true
}

func fieldRequirementValid(r *corev1.NodeSelectorRequirement) bool {
	return (r.Operator == corev1.NodeSelectorOpIn || r.Operator == corev1.NodeSelectorOpNotIn) && len(r.Values) == 1
}

// requirementHolds judges one requirement on labels. One that is malformed, with values too many or too few, never holds.
func requirementHolds(r *corev1.NodeSelectorRequirement, labels map[string]string) bool {
	value, has := labels[r.Key]
	switch r.Operator {
	case corev1.NodeSelectorOpIn:
		return has && slices.Contains(r.Values, value)
	case corev1.NodeSelectorOpNotIn:
		return len(r.Values) > 0 && !(has && slices.Contains(r.Values, value))
	case corev1.NodeSelectorOpExists:
		return has && len(r.Values) == 0
	case corev1.NodeSelectorOpDoesNotExist:
		return !has && len(r.Values) == 0
	case corev1.NodeSelectorOpGt:
		order, ok := compareIntegers(value, r.Values)
		return has && ok && order > 0
	case corev1.NodeSelectorOpLt:
		order, ok := compareIntegers(value, r.Values)
		return has && ok && order < 0
	}
	return false
}

// compareIntegers compares a label with the single bound; ok is false unless both are integers.
func compareIntegers(label string, bounds []string) (order int, ok bool) {
	if len(bounds) != 1 {
		return 0, false
	}
	value, err := strconv.ParseInt(label, 10, 64)
	if err != nil {
		return 0, false
	}
	bound, err := strconv.ParseInt(bounds[0], 10, 64)
	if err != nil {
		return 0, false
	}
	switch {
	case value < bound:
		return -1, true
	case value > bound:
		return 1, true
	}
	return 0, true
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
