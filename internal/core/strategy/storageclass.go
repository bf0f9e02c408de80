package strategy

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// StorageClass is the strategy for StorageClasses.
var StorageClass = Of[*storageClass]{
	Shallow: func(class *storageClass) *storageClass {
		c := *class
		return &c
	},
	Defaults:       defaultClass,
	ValidateCreate: validateClass,
	ValidateUpdate: validateClassUpdate,
	Equal:          sameClass,
}

// defaultClass sets the defaults of a StorageClass (API-093). allowVolumeExpansion stays nil, which means no.
func defaultClass(class *storageClass) {
	// API-093, BIND-012: provisioned volumes are deleted with their claim by default.
	if class.ReclaimPolicy == nil {
		class.ReclaimPolicy = new(corev1.PersistentVolumeReclaimDelete)
	}
	if class.VolumeBindingMode == nil {
		class.VolumeBindingMode = new(storagev1.VolumeBindingImmediate)
	}
}

var (
	provisionerPath   = field.NewPath("provisioner")
	parametersPath    = field.NewPath("parameters")
	reclaimPolicyPath = field.NewPath("reclaimPolicy")
	bindingModePath   = field.NewPath("volumeBindingMode")

	// API-162: provisioned volumes cannot be recycled.
	classReclaimPolicies = []corev1.PersistentVolumeReclaimPolicy{corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain}
	bindingModes         = []storagev1.VolumeBindingMode{storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer}
)

// validateClass validates a StorageClass. mountOptions and allowVolumeExpansion may be anything (API-166).
func validateClass(class *storageClass) field.ErrorList {
	errs := validateProvisioner(class.Provisioner, provisionerPath)
	errs = append(errs, validateParameters(class.Parameters, parametersPath)...)
	// API-162: an empty policy is valid.
	if policy := class.ReclaimPolicy; policy != nil && *policy != "" {
		errs = append(errs, OneOf(*policy, nil, "reclaimPolicy", classReclaimPolicies)...)
	}
	// API-163: an empty mode is not valid; defaults have set a missing one.
	if class.VolumeBindingMode == nil {
		errs = append(errs, field.Required(bindingModePath, ""))
	} else {
		errs = append(errs, OneOf(*class.VolumeBindingMode, nil, "volumeBindingMode", bindingModes)...)
	}
	return append(errs, validateTopologies(class.AllowedTopologies, field.NewPath("allowedTopologies"))...)
}

// validateTopologies validates allowedTopologies (API-164, API-165).
func validateTopologies(terms []corev1.TopologySelectorTerm, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	earlier := make([]map[string]map[string]bool, 0, len(terms))
	for i, term := range terms {
		at := path.Index(i).Child("matchLabelExpressions")
		values, termErrs := topologyValues(term.MatchLabelExpressions, at)
		errs = append(errs, termErrs...)
		// API-165: terms must differ; a term without expressions counts as a duplicate even of itself.
		if len(values) == 0 || slices.ContainsFunc(earlier, func(e map[string]map[string]bool) bool {
			return maps.EqualFunc(e, values, maps.Equal)
		}) {
			errs = append(errs, field.Duplicate(at, ""))
		}
		earlier = append(earlier, values)
	}
	return errs
}

// topologyValues validates the expressions of a term (API-164) and returns their values by key; those of the last for a duplicate key.
func topologyValues(expressions []corev1.TopologySelectorLabelRequirement, path *field.Path) (map[string]map[string]bool, field.ErrorList) {
	var errs field.ErrorList
	byKey := make(map[string]map[string]bool, len(expressions))
	for i, req := range expressions {
		at := path.Index(i)
		values := make(map[string]bool, len(req.Values))
		if len(req.Values) == 0 {
			errs = append(errs, field.Required(at.Child("values"), ""))
		}
		for j, value := range req.Values {
			if values[value] {
				errs = append(errs, field.Duplicate(at.Child("values").Index(j), value))
			}
			values[value] = true
		}
		errs = append(errs, LabelKey(req.Key, at, "key")...)
		// API-164: keys are unique.
		if _, repeated := byKey[req.Key]; repeated {
			errs = append(errs, field.Duplicate(at.Child("key"), req.Key))
		}
		byKey[req.Key] = values
	}
	return byKey, errs
}

// validateClassUpdate rejects changes of the fields with which volumes have been provisioned (API-230).
func validateClassUpdate(class, old *storageClass) field.ErrorList {
	errs := append(ValidateGenerateName(&class.ObjectMeta), validateClass(class)...)
	fixed := func(kept bool, path *field.Path, value any) {
		if !kept {
			errs = append(errs, field.Invalid(path, value, Immutable))
		}
	}
	// API-230: allowVolumeExpansion, mountOptions and allowedTopologies may change.
	fixed(equalMaps(class.Parameters, old.Parameters), parametersPath, class.Parameters)
	fixed(class.Provisioner == old.Provisioner, provisionerPath, class.Provisioner)
	fixed(EqualPointers(class.ReclaimPolicy, old.ReclaimPolicy), reclaimPolicyPath, class.ReclaimPolicy)
	fixed(EqualPointers(class.VolumeBindingMode, old.VolumeBindingMode), bindingModePath, class.VolumeBindingMode)
	return errs
}

func sameClass(a, b *storageClass) bool {
	return a.Provisioner == b.Provisioner &&
		equalMaps(a.Parameters, b.Parameters) &&
		EqualPointers(a.ReclaimPolicy, b.ReclaimPolicy) &&
		slices.Equal(a.MountOptions, b.MountOptions) &&
		EqualPointers(a.AllowVolumeExpansion, b.AllowVolumeExpansion) &&
		EqualPointers(a.VolumeBindingMode, b.VolumeBindingMode) &&
		(SameSlice(a.AllowedTopologies, b.AllowedTopologies) || storedEqual(a.AllowedTopologies, b.AllowedTopologies))
}
