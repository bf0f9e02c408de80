package strategy

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ReplicaSet are the rules of ReplicaSets.
var ReplicaSet = typedRules[*appsv1.ReplicaSet]{
	defaults: func(set *appsv1.ReplicaSet) {
		// RS-060: one replica, and the defaults of a pod template.
		orDefault(&set.Spec.Replicas, new(int32(1)))
		defaultTemplate(&set.Spec.Template)
	},
	drop: func(set *appsv1.ReplicaSet) { dropDisabledFields(&set.Spec.Template.Spec, nil) }, // API-375
	validate: func(set *appsv1.ReplicaSet) field.ErrorList {
		path := field.NewPath("spec")
		// RS-061: numbers are not negative. The messages about selector and template are those of Deployments.
		errs := notBelowZero(int64(*set.Spec.Replicas), path.Child("replicas"))
		errs = append(errs, notBelowZero(int64(set.Spec.MinReadySeconds), path.Child("minReadySeconds"))...)
		return append(errs, validateReplicaTemplate(set.Spec.Selector, &set.Spec.Template, path)...)
	},
	validateUpdate: func(set, old *appsv1.ReplicaSet) field.ErrorList {
		return selectorUnchanged(set.Spec.Selector, old.Spec.Selector)
	},
}

// validateReplicaTemplate validates selector and template of a ReplicaSet or Deployment (RS-061).
func validateReplicaTemplate(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	errs, known := validateSelector(selector, template, "deployment", path)
	if !known {
		return errs
	}
	errs = append(errs, validateTemplate(template, path)...)
	return append(errs, validateAlwaysRunning(template, "ReplicaSet", path)...)
}

// validateAlwaysRunning requires that the pods of a template restart always and have no deadline (RS-061, DS-061).
func validateAlwaysRunning(template *corev1.PodTemplateSpec, kind string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	// RS-061: a workload of this kind never ends.
	if policy := template.Spec.RestartPolicy; policy != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(path.Child("template", "spec", "restartPolicy"), policy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if template.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(path.Child("template", "spec", "activeDeadlineSeconds"),
			"activeDeadlineSeconds in "+kind+" is not Supported"))
	}
	return errs
}

// selectorUnchanged reports a change of a selector (RS-062).
func selectorUnchanged(selector, old *metav1.LabelSelector) field.ErrorList {
	// RS-062: the selector is immutable.
	if SemanticEqual(selector, old) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "selector"), selector, Immutable)}
}
