package strategy

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validatePodUpdate validates an update of a pod (API-237). It validates the pod like a new one, and then rejects changes of immutable
// fields. Some of these errors end the validation, as upstream.
func validatePodUpdate(pod, old *corePod) field.ErrorList {
	errs := append(ValidateGenerateName(&pod.ObjectMeta), validatePodAnnotations(pod, old)...)
	errs = append(errs, validatePod(pod, old)...)
	errs = append(errs, validateAnnotationChange(pod, old)...)
	spec, was := &pod.Spec, &old.Spec
	// API-237: containers are immutable except for their images.
	if len(spec.Containers) != len(was.Containers) {
		return append(errs, field.Forbidden(field.NewPath("spec", "containers"), "pod updates may not add or remove containers"))
	}
	if len(spec.InitContainers) != len(was.InitContainers) {
		return append(errs, field.Forbidden(field.NewPath("spec", "initContainers"), "pod updates may not add or remove containers"))
	}
	bad, stop := validateDeadlineChange(spec.ActiveDeadlineSeconds, was.ActiveDeadlineSeconds)
	errs = append(errs, bad...)
	if stop {
		return errs
	}
	errs = append(errs, validateTolerationChange(spec.Tolerations, was.Tolerations)...)
	// API-237: scheduling gates may be removed, not added.
	for i, gate := range spec.SchedulingGates {
		if !slices.Contains(was.SchedulingGates, gate) && !slices.Contains(spec.SchedulingGates[i+1:], gate) {
			errs = append(errs, field.Forbidden(field.NewPath("spec", "schedulingGates").Index(i).Child("name"),
				fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name)))
		}
	}
	if equalPodSpecs(spec, was) {
		return errs
	}
	return append(errs, validateSpecChange(spec, was)...)
}

// validateDeadlineChange allows a deadline to be set or shortened (API-237). stop reports that the validation of the pod ends here.
func validateDeadlineChange(deadline, old *int64) (errs field.ErrorList, stop bool) {
	path := field.NewPath("spec", "activeDeadlineSeconds")
	switch {
	case deadline == nil && old == nil:
	case deadline == nil:
		errs = append(errs, field.Invalid(path, deadline, "must not update from a positive integer to nil value"))
	case *deadline < 0 || *deadline > math.MaxInt32:
		return append(errs, field.Invalid(path, *deadline, validation.InclusiveRangeError(0, math.MaxInt32))), true
	case old != nil && *old < *deadline:
		return append(errs, field.Invalid(path, *deadline, "must be less than or equal to previous value")), true
	}
	return errs, false
}

// validateTolerationChange allows tolerations to be added; of existing ones, only the time may change (API-237).
func validateTolerationChange(tolerations, old []corev1.Toleration) field.ErrorList {
	for _, was := range old {
		if !slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
			t.TolerationSeconds = was.TolerationSeconds
			return t == was
		}) {
			return field.ErrorList{field.Forbidden(field.NewPath("spec", "tolerations"),
				"existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return nil
}

// validateSpecChange restores the fields that may change, and requires that the result equals the old spec (API-237).
func validateSpecChange(spec, old *corev1.PodSpec) field.ErrorList {
	rest := *spec
	rest.Containers = withImages(spec.Containers, old.Containers)
	rest.InitContainers = withImages(spec.InitContainers, old.InitContainers)
	rest.ActiveDeadlineSeconds = old.ActiveDeadlineSeconds
	rest.SchedulingGates = old.SchedulingGates
	rest.Tolerations = old.Tolerations
	// API-237: a negative grace period, which means one second, may be replaced by one second.
	if grace, was := rest.TerminationGracePeriodSeconds,
		old.TerminationGracePeriodSeconds; was != nil && *was < 0 && grace != nil && *grace == 1 {
		rest.TerminationGracePeriodSeconds = was
	}
	var errs field.ErrorList
	// API-237: while a pod is gated, its node selector and node affinity may be restricted.
	if len(old.SchedulingGates) > 0 {
		errs = append(errs, validateSelectorChange(rest.NodeSelector, old.NodeSelector)...)
		rest.NodeSelector = old.NodeSelector
		if affinity, was := nodeAffinityOf(spec), nodeAffinityOf(old); !SemanticEqual(affinity, was) {
			errs = append(errs, validateAffinityChange(affinity, was)...)
			rest.Affinity = withNodeAffinity(rest.Affinity, old.Affinity)
		}
	}
	// API-237: the error shows what would change.
	if !SemanticEqual(&rest, old) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), "pod updates may not change fields other than "+
			"`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"+
			"`spec.tolerations` (only additions to existing tolerations),"+
			"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"+
			diff.Diff(internalForm{*old}, internalForm{rest})))
	}
	return errs
}

// withImages returns the containers with the images of the old ones.
func withImages(containers, old []corev1.Container) []corev1.Container {
	l := lazyCopy[corev1.Container]{items: containers}
	for i := range containers {
		if l.items[i].Image != old[i].Image {
			l.at(i).Image = old[i].Image
		}
	}
	return l.items
}

// validateSelectorChange allows labels to be added to a node selector.
func validateSelectorChange(selector, old map[string]string) field.ErrorList {
	for key, value := range old {
		if now, ok := selector[key]; !ok || now != value {
			return field.ErrorList{field.Invalid(field.NewPath("spec", "nodeSelector"), selector,
				"only additions to spec.nodeSelector are allowed (no mutations or deletions)")}
		}
	}
	return nil
}

// validateAffinityChange allows requirements to be added to each existing term. Without terms, any may be added.
func validateAffinityChange(affinity, old *corev1.NodeAffinity) field.ErrorList {
	terms, was := requiredTerms(affinity), requiredTerms(old)
	if len(was) == 0 {
		return nil
	}
	path := field.NewPath("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	if len(terms) != len(was) {
		return field.ErrorList{field.Invalid(path, internalForm{terms}, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")}
	}
	var errs field.ErrorList
	for i := range was {
		empty := len(was[i].MatchExpressions) == 0 && len(was[i].MatchFields) == 0
		grown := len(terms[i].MatchExpressions) > 0 || len(terms[i].MatchFields) > 0
		if empty && grown || !beginsWith(terms[i].MatchExpressions, was[i].MatchExpressions) ||
			!beginsWith(terms[i].MatchFields, was[i].MatchFields) {
			errs = append(errs, field.Invalid(path.Index(i), internalForm{terms[i]}, "only additions are allowed (no mutations or deletions)"))
		}
	}
	return errs
}

func beginsWith(requirements, old []corev1.NodeSelectorRequirement) bool {
	return len(requirements) >= len(old) &&
		slices.EqualFunc(requirements[:len(old)], old, func(a, b corev1.NodeSelectorRequirement) bool {
			return a.Key == b.Key && a.Operator == b.Operator && slices.Equal(a.Values, b.Values)
		})
}

func nodeAffinityOf(spec *corev1.PodSpec) *corev1.NodeAffinity {
	if spec.Affinity == nil {
		return nil
	}
	return spec.Affinity.NodeAffinity
}

func requiredTerms(affinity *corev1.NodeAffinity) []corev1.NodeSelectorTerm {
	if affinity == nil || affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

// withNodeAffinity returns affinity with the node affinity of old, or nil if old is nil and affinity contains nothing else.
func withNodeAffinity(affinity, old *corev1.Affinity) *corev1.Affinity {
	if affinity == nil {
		return &corev1.Affinity{NodeAffinity: old.NodeAffinity}
	}
	if old == nil && affinity.PodAffinity == nil && affinity.PodAntiAffinity == nil {
		return nil
	}
	rest := *affinity
	rest.NodeAffinity = nil
	if old != nil {
		rest.NodeAffinity = old.NodeAffinity
	}
	return &rest
}
