package strategy

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// defaultTemplate sets the defaults of a pod template, and removes disabled fields (WORK-020). Defaults that only pods have are not set: requests
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
	// API-375. SIM: the server removes these fields after it has noted who manages them, so there they remain in managedFields.
	dropDisabledFields(&pod.Spec, nil)
	template.Spec = pod.Spec
}

// validateTemplate validates the pod template of a workload whose path is given, as far as pods are validated (WORK-022).
func validateTemplate(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	at := path.Child("template")
	errs := ValidateLabels(template.Labels, at.Child("labels"))
	// WORK-022: the errors are those of a pod, at the path of the template.
	for _, err := range validatePodSpec(&corePod{Spec: template.Spec}, nil, true) {
		err.Field = at.String() + "." + err.Field
		errs = append(errs, err)
	}
	if len(template.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(at.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template"))
	}
	return errs
}

// validateSelector validates the selector of a workload: it must select something, and match the labels of the template (WORK-021).
func validateSelector(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, kind string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if selector == nil && kind != "daemonset" {
		errs = append(errs, field.Required(path.Child("selector"), ""))
	} else if selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return field.ErrorList{field.Invalid(path.Child("selector"), selector, "empty selector is invalid for "+kind)}
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		detail := ""
		if kind == "deployment" {
			detail = "invalid label selector"
		}
		return append(errs, field.Invalid(path.Child("selector"), selector, detail))
	}
	// WORK-021: a workload must find the pods that it makes. A missing selector matches none.
	if !parsed.Matches(labels.Set(template.Labels)) {
		errs = append(errs, field.Invalid(path.Child("template", "metadata", "labels"), maps.Clone(template.Labels),
			"`selector` does not match template `labels`"))
	}
	return errs
}

func notBelowZero(n int64, path *field.Path) field.ErrorList {
	if n >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, n, "must be greater than or equal to 0").WithOrigin("minimum")}
}
