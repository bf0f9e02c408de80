package strategy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CSIStorageCapacity is the strategy for CSIStorageCapacities.
var CSIStorageCapacity = Of[*csiStorageCapacity]{
	Shallow: func(capacity *csiStorageCapacity) *csiStorageCapacity {
		c := *capacity
		return &c
	},
	ValidateCreate: func(capacity *csiStorageCapacity) field.ErrorList { return validateStorageCapacity(capacity, false) },
	ValidateUpdate: validateStorageCapacityUpdate,
	Equal: func(a, b *csiStorageCapacity) bool {
		return a.StorageClassName == b.StorageClassName && storedEqual(a.NodeTopology, b.NodeTopology) &&
			storedEqual(a.Capacity, b.Capacity) && storedEqual(a.MaximumVolumeSize, b.MaximumVolumeSize)
	},
}

// validateStorageCapacity validates a report of free space. With anyValue, the values in expressions of the topology need not be label
// values.
func validateStorageCapacity(capacity *csiStorageCapacity, anyValue bool) field.ErrorList {
	var errs field.ErrorList
	// API-191: the topology is an ordinary label selector.
	if capacity.NodeTopology != nil {
		errs = append(errs, validateTopology(capacity.NodeTopology, anyValue)...)
	}
	// API-190: a report is always about a class.
	errs = append(errs, Subdomain(capacity.StorageClassName, nil, "storageClassName")...)
	// API-192: the capacity may be zero, but not negative. The maximum size of a volume is not validated.
	if capacity.Capacity != nil && isNegative(*capacity.Capacity) {
		errs = append(errs, field.Invalid(field.NewPath("capacity"), capacity.Capacity.String(), "must be greater than or equal to 0"))
	}
	return errs
}

func validateTopology(topology *metav1.LabelSelector, anyValue bool) field.ErrorList {
	path := field.NewPath("nodeTopology")
	var errs field.ErrorList
	if !LabelsValid(topology.MatchLabels) {
		errs = ValidateLabels(topology.MatchLabels, path.Child("matchLabels"))
	}
	options := metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: anyValue}
	expressions := metav1.LabelSelector{MatchExpressions: topology.MatchExpressions}
	return append(errs, metavalidation.ValidateLabelSelector(&expressions, options, path)...)
}

func validateStorageCapacityUpdate(capacity, old *csiStorageCapacity) field.ErrorList {
	// API-191: an object that was stored with a bad topology can still be updated.
	anyValue := old.NodeTopology != nil && len(validateTopology(old.NodeTopology, false)) > 0
	errs := append(ValidateGenerateName(&capacity.ObjectMeta), validateStorageCapacity(capacity, anyValue)...)
	// API-235: class and topology are immutable; only the reported sizes change.
	if !SemanticEqual(capacity.NodeTopology, old.NodeTopology) {
		errs = append(errs, field.Invalid(field.NewPath("nodeTopology"), capacity.NodeTopology, Immutable))
	}
	if capacity.StorageClassName != old.StorageClassName {
		errs = append(errs, field.Invalid(field.NewPath("storageClassName"), capacity.StorageClassName, Immutable))
	}
	return errs
}
