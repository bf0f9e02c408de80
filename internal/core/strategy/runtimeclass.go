package strategy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// RuntimeClass are those of RuntimeClasses (API-376). They have no defaults.
var RuntimeClass = typedRules[*nodev1.RuntimeClass]{
	loadedAny: true,
	defaults:  func(*nodev1.RuntimeClass) {},
	validate:  validateRuntimeClass,
	validateUpdate: func(class, old *nodev1.RuntimeClass) field.ErrorList {
		errs := ValidateGenerateName(&class.ObjectMeta)
		// API-376: the handler does not change.
		if class.Handler != old.Handler {
			errs = append(errs, field.Invalid(field.NewPath("handler"), class.Handler, Immutable))
		}
		return errs
	},
}

// validateRuntimeClass validates the handler, the overhead and the scheduling of a class (API-376).
func validateRuntimeClass(class *nodev1.RuntimeClass) field.ErrorList {
	errs := Required(nil, "handler", class.Handler)
	if class.Handler != "" {
		errs = AppendInvalid(errs, field.NewPath("handler"), class.Handler, validation.IsDNS1123Label(class.Handler))
	}
	if class.Overhead != nil {
		errs = append(errs, validateRequirements(&corev1.ResourceRequirements{Limits: class.Overhead.PodFixed}, field.NewPath("overhead"))...)
	}
	if class.Scheduling == nil {
		return errs
	}
	path := field.NewPath("scheduling")
	errs = append(errs, ValidateLabels(class.Scheduling.NodeSelector, path.Child("nodeSelector"))...)
	tolerations, at := class.Scheduling.Tolerations, path.Child("tolerations")
	errs = append(errs, validateTolerations(tolerations, func() *field.Path { return at })...)
	for i, t := range tolerations {
		// API-376: no two tolerations differ in their seconds only.
		if slices.ContainsFunc(tolerations[:i], func(o corev1.Toleration) bool {
			o.TolerationSeconds = t.TolerationSeconds
			return o == t
		}) {
			errs = append(errs, field.Duplicate(at.Index(i), internalForm{t}))
		}
	}
	return errs
}
