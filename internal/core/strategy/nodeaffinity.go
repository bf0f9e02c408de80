package strategy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateVolumeAffinity validates the node affinity of a volume (API-124), which may be nil. With anyValue, values in expressions need
// not be label values.
func validateVolumeAffinity(affinity *corev1.VolumeNodeAffinity, anyValue bool, path *field.Path) field.ErrorList {
	if affinity == nil {
		return nil
	}
	// API-124: an affinity has required terms.
	if affinity.Required == nil {
		return field.ErrorList{field.Required(path.Child("required"), "must specify required node constraints")}
	}
	return validateNodeSelector(affinity.Required, anyValue, path.Child("required"))
}

// NodeSelector validates a node selector (API-124).
func NodeSelector(selector *corev1.NodeSelector, path *field.Path) field.ErrorList {
	return validateNodeSelector(selector, false, path)
}

// validateNodeSelector validates a node selector (API-124). It needs a term; an empty term is valid and matches no node.
func validateNodeSelector(selector *corev1.NodeSelector, anyValue bool, path *field.Path) field.ErrorList {
	if len(selector.NodeSelectorTerms) == 0 {
		return field.ErrorList{field.Required(path.Child("nodeSelectorTerms"), "must have at least one node selector term")}
	}
	var errs field.ErrorList
	for i := range selector.NodeSelectorTerms {
		term := &selector.NodeSelectorTerms[i]
		for j := range term.MatchExpressions {
			at := func() *field.Path {
				return path.Child("nodeSelectorTerms").Index(i).Child("matchExpressions").Index(j)
			}
			errs = append(errs, validateNodeExpression(&term.MatchExpressions[j], anyValue, at)...)
		}
		for j := range term.MatchFields {
			at := func() *field.Path {
				return path.Child("nodeSelectorTerms").Index(i).Child("matchFields").Index(j)
			}
			errs = append(errs, validateNodeField(&term.MatchFields[j], at)...)
		}
	}
	return errs
}

// validateNodeExpression validates an expression of a node selector (API-125).
func validateNodeExpression(req *corev1.NodeSelectorRequirement, anyValue bool, at func() *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch req.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(req.Values) == 0 {
			errs = append(errs, field.Required(at().Child("values"), "must be specified when `operator` is 'In' or 'NotIn'"))
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(req.Values) > 0 {
			errs = append(errs, field.Forbidden(at().Child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(req.Values) != 1 {
			errs = append(errs, field.Required(at().Child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'"))
		}
	default:
		errs = append(errs, field.Invalid(at().Child("operator"), req.Operator, "not a valid selector operator"))
	}
	if !IsQualifiedName(req.Key) {
		errs = append(errs, LabelKey(req.Key, at(), "key")...)
	}
	if anyValue {
		return errs
	}
	for i, value := range req.Values {
		if !IsLabelValue(value) {
			errs = AppendInvalid(errs, at().Child("values").Index(i), value, validation.IsValidLabelValue(value))
		}
	}
	return errs
}

// validateNodeField validates a requirement on a field (API-126): the field must be metadata.name, with one value.
func validateNodeField(req *corev1.NodeSelectorRequirement, at func() *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch req.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(req.Values) != 1 {
			errs = append(errs, field.Required(at().Child("values"),
				"must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
		}
	default:
		errs = append(errs, field.Invalid(at().Child("operator"), req.Operator, "not a valid selector operator"))
	}
	if req.Key != metav1.ObjectNameField {
		return append(errs, field.Invalid(at().Child("key"), req.Key, "not a valid field selector key"))
	}
	for i, value := range req.Values {
		if !IsSubdomain(value) {
			errs = AppendInvalid(errs, at().Child("values").Index(i), value, validation.IsDNS1123Subdomain(value))
		}
	}
	return errs
}

// hasBadValue reports whether an expression of the affinity has a value that is not a label value.
func hasBadValue(affinity *corev1.VolumeNodeAffinity) bool {
	if affinity == nil || affinity.Required == nil {
		return false
	}
	return slices.ContainsFunc(affinity.Required.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(term.MatchExpressions, func(req corev1.NodeSelectorRequirement) bool {
			return slices.ContainsFunc(req.Values, func(value string) bool { return !IsLabelValue(value) })
		})
	})
}

// gaLabels maps beta labels of nodes to the labels that replaced them.
var gaLabels = map[string]string{
	corev1.LabelFailureDomainBetaZone:   corev1.LabelTopologyZone,
	corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
	"beta.kubernetes.io/os":             corev1.LabelOSStable,
	"beta.kubernetes.io/arch":           corev1.LabelArchStable,
	corev1.LabelInstanceType:            corev1.LabelInstanceTypeStable,
}

// affinityKept reports whether affinity equals old, except for keys that changed from beta to GA (API-213).
func affinityKept(affinity, old *corev1.VolumeNodeAffinity) bool {
	if affinity == old {
		return true
	}
	if affinity == nil || old == nil {
		return false
	}
	a, b := affinity.Required, old.Required
	if a == b {
		return true
	}
	return a != nil && b != nil && slices.EqualFunc(a.NodeSelectorTerms, b.NodeSelectorTerms, termKept)
}

func termKept(term, old corev1.NodeSelectorTerm) bool {
	return slices.EqualFunc(term.MatchExpressions, old.MatchExpressions, requirementKept) &&
		slices.EqualFunc(term.MatchFields, old.MatchFields, requirementKept)
}

// requirementKept also lets an unknown key become empty, as upstream does; an empty key is invalid anyway.
func requirementKept(req, old corev1.NodeSelectorRequirement) bool {
	return (req.Key == old.Key || req.Key == gaLabels[old.Key]) && req.Operator == old.Operator && slices.Equal(req.Values, old.Values)
}
