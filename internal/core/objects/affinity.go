package objects

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// AdmitsNode reports whether the node affinity of a volume admits a node with these labels: it is nil, or one of its terms matches
// (MNT-191). Only labels are compared; every well-formed requirement on a field of the node matches.
func AdmitsNode(pv *corev1.PersistentVolume, labels map[string]string) bool {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		return true
	}
	// MNT-191: one matching term is enough.
	return slices.ContainsFunc(pv.Spec.NodeAffinity.Required.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		return termMatches(&term, labels)
	})
}

// MissingHost returns the host name of the only machine that the node affinity of a volume admits if none of the nodes has that name; "" for other
// volumes.
func MissingHost(pv *corev1.PersistentVolume, nodes []*corev1.Node) string {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil || len(pv.Spec.NodeAffinity.Required.NodeSelectorTerms) != 1 {
		return ""
	}
	for _, of := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions {
		if of.Key == corev1.LabelHostname && of.Operator == corev1.NodeSelectorOpIn && len(of.Values) == 1 &&
			!slices.ContainsFunc(nodes, func(node *corev1.Node) bool { return node.Labels[of.Key] == of.Values[0] }) {
			return of.Values[0]
		}
	}
	return ""
}

// termMatches reports whether all requirements match. A term without requirements matches no node.
func termMatches(term *corev1.NodeSelectorTerm, labels map[string]string) bool {
	if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
		return false
	}
	for i := range term.MatchFields {
		field := &term.MatchFields[i]
		if field.Operator != corev1.NodeSelectorOpIn && field.Operator != corev1.NodeSelectorOpNotIn || len(field.Values) != 1 {
			return false
		}
	}
	for i := range term.MatchExpressions {
		if !labelMatches(&term.MatchExpressions[i], labels) {
			return false
		}
	}
	return true
}

func labelMatches(r *corev1.NodeSelectorRequirement, labels map[string]string) bool {
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
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if !has || len(r.Values) != 1 {
			return false
		}
		label, err := strconv.ParseInt(value, 10, 64)
		bound, err2 := strconv.ParseInt(r.Values[0], 10, 64)
		return err == nil && err2 == nil &&
			(r.Operator == corev1.NodeSelectorOpGt && label > bound || r.Operator == corev1.NodeSelectorOpLt && label < bound)
	}
	return false
}
