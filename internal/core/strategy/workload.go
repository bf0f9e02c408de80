package strategy

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// defaultTemplate sets the defaults of a pod template (WORK-020). Defaults that only pods have are not set: requests
// that follow from limits, service links, ports of nodes, and a grace period in place of a negative one.
func defaultTemplate(template *corev1.PodTemplateSpec) {
	pod := &corev1.Pod{Spec: *template.Spec.DeepCopy()}
	pod.Spec.HostNetwork = false
	defaultPod(pod)
	// WORK-020: requests, service links and host ports are completed in pods, not in templates.
	pod.Spec.HostNetwork = template.Spec.HostNetwork
	pod.Spec.EnableServiceLinks = template.Spec.EnableServiceLinks
	if grace := template.Spec.TerminationGracePeriodSeconds; grace != nil {
		pod.Spec.TerminationGracePeriodSeconds = grace
	}
	if whole := template.Spec.Resources; whole != nil {
		pod.Spec.Resources = roundRequirements(whole)
	}
	restore := func(containers, given []corev1.Container) {
		for i := range containers {
			containers[i].Resources.Requests = given[i].Resources.Requests
		}
	}
	pod.Spec.Containers, pod.Spec.InitContainers = slices.Clone(pod.Spec.Containers), slices.Clone(pod.Spec.InitContainers)
	restore(pod.Spec.Containers, template.Spec.Containers)
	restore(pod.Spec.InitContainers, template.Spec.InitContainers)
	template.Spec = pod.Spec
}

// validateTemplate validates the pod template of a workload whose path is given, as far as pods are validated (WORK-022).
func validateTemplate(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	at := path.Child("template")
	errs := validatePodTemplateMeta(template, at)
	// WORK-022: the errors are those of a pod, at the path of the template.
	for _, err := range validatePodSpec(&corePod{Spec: template.Spec}, nil, true) {
		err.Field = at.String() + "." + err.Field
		errs = append(errs, err)
	}
	for _, err := range validateProfilesMatch(&corePod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}) {
		err.Field = at.String() + "." + err.Field
		errs = append(errs, err)
	}
	if len(template.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(at.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template"))
	}
	return errs
}

// validatePodTemplateMeta validates labels and annotations of a pod template, whose path is given (WORK-023).
func validatePodTemplateMeta(template *corev1.PodTemplateSpec, at *field.Path) field.ErrorList {
	errs := ValidateLabels(template.Labels, at.Child("labels"))
	errs = append(errs, ValidateAnnotations(template.Annotations, at.Child("annotations"))...)
	for _, err := range validatePodAnnotations(&corePod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}, nil) {
		err.Field = at.String() + strings.TrimPrefix(err.Field, "metadata")
		errs = append(errs, err)
	}
	return errs
}

// validateSelector validates the selector of a workload: it must select something, and match the labels of the template (WORK-021). known is
// false if it cannot be compared with the labels; then the template is not validated.
func validateSelector(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, kind string, path *field.Path) (errs field.ErrorList, known bool) {
	if selector == nil {
		errs = append(errs, field.Required(path.Child("selector"), ""))
	} else {
		errs = append(errs, validateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path.Child("selector"))...)
		if selectsAll(selector) {
			errs = append(errs, field.Invalid(path.Child("selector"), selector, "empty selector is invalid for "+kind))
		}
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		detail := ""
		if kind == "deployment" {
			detail = "invalid label selector"
		}
		return append(errs, field.Invalid(path.Child("selector"), selector, detail)), false
	}
	// WORK-021: a workload must find the pods that it makes. A missing selector matches none.
	return append(errs, unmatchedLabels(parsed, template, path)...), true
}

// selectsAll reports whether a selector has no requirements.
func selectsAll(selector *metav1.LabelSelector) bool {
	return selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0
}

// unmatchedLabels requires that a selector matches the labels of the template.
func unmatchedLabels(selector labels.Selector, template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	if selector.Matches(labels.Set(template.Labels)) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("template", "metadata", "labels"), maps.Clone(template.Labels), "`selector` does not match template `labels`")}
}

func notBelowZero(n int64, path *field.Path) field.ErrorList {
	if n >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, n, "must be greater than or equal to 0").WithOrigin("minimum")}
}
