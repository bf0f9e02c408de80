package strategy

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ReplicationController are the rules of ReplicationControllers.
var ReplicationController = typedRules[*corev1.ReplicationController]{
	defaults: func(rc *corev1.ReplicationController) {
		// RS-071: the labels of the template are the selector and the labels of the object.
		if template := rc.Spec.Template; template != nil {
			if len(rc.Spec.Selector) == 0 {
				rc.Spec.Selector = template.Labels
			}
			if len(rc.Labels) == 0 {
				rc.Labels = template.Labels
			}
			defaultTemplate(template)
		}
		orDefault(&rc.Spec.Replicas, new(int32(1)))
	},
	drop: func(rc *corev1.ReplicationController) {
		if rc.Spec.Template != nil {
			dropDisabledFields(&rc.Spec.Template.Spec, nil) // API-375
		}
	},
	validate: func(rc *corev1.ReplicationController) field.ErrorList {
		path := field.NewPath("spec")
		// RS-072: the order of the checks.
		errs := notBelowZero(int64(rc.Spec.MinReadySeconds), path.Child("minReadySeconds"))
		if len(rc.Spec.Selector) == 0 {
			errs = append(errs, field.Required(path.Child("selector"), ""))
		}
		errs = append(errs, notBelowZero(int64(*rc.Spec.Replicas), path.Child("replicas"))...)
		template := rc.Spec.Template
		if template == nil {
			return append(errs, field.Required(path.Child("template"), ""))
		}
		selector := labels.Set(rc.Spec.Selector).AsSelectorPreValidated()
		if !selector.Empty() && !selector.Matches(labels.Set(template.Labels)) {
			errs = append(errs, field.Invalid(path.Child("template", "metadata", "labels"), template.Labels, "`selector` does not match template `labels`"))
		}
		errs = append(errs, validateTemplate(template, path)...)
		return append(errs, validateAlwaysRunning(template, "ReplicationController", path)...)
	},
	validateUpdate: func(_, _ *corev1.ReplicationController) field.ErrorList { return nil },
}
