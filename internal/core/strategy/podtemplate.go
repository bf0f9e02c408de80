package strategy

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// PodTemplate are the rules of PodTemplates. No controller uses them.
var PodTemplate = typedRules[*corev1.PodTemplate]{
	// API-542: the template has the defaults of a pod template, and is validated as one.
	defaults:       func(t *corev1.PodTemplate) { defaultTemplate(&t.Template) },
	drop:           func(t *corev1.PodTemplate) { dropDisabledFields(&t.Template.Spec, nil) }, // API-375
	validate:       func(t *corev1.PodTemplate) field.ErrorList { return validateTemplate(&t.Template, nil) },
	validateUpdate: func(_, _ *corev1.PodTemplate) field.ErrorList { return nil },
	loadedAny:      true,
}
