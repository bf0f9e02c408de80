package strategy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// Resize is the subresource of a pod that changes the resources of its containers (API-589).
const Resize api.Subresource = "resize"

// prepareResize restores everything but the resources and resize policies of containers and the resources of the pod (API-589). Other
// containers than before are left to the validation.
func prepareResize(pod, old *corePod) {
	given := pod.Spec
	if len(given.Containers) != len(old.Spec.Containers) || len(given.InitContainers) != len(old.Spec.InitContainers) {
		return
	}
	keepAllBut(pod, old)
	pod.Spec.Resources = given.Resources
	pod.Spec.Containers = resized(given.Containers, old.Spec.Containers)
	pod.Spec.InitContainers = resized(given.InitContainers, old.Spec.InitContainers)
	dropDisabledFields(&pod.Spec, &old.Spec)
}

// resized returns the stored containers with the given resources, or the given ones if they have other names.
func resized(given, stored []corev1.Container) []corev1.Container {
	if !sameNames(given, stored) {
		return given
	}
	result := slices.Clone(stored)
	for i := range result {
		result[i].Resources, result[i].ResizePolicy = given[i].Resources, given[i].ResizePolicy
	}
	return result
}

func sameNames(a, b []corev1.Container) bool {
	return slices.EqualFunc(a, b, func(a, b corev1.Container) bool { return a.Name == b.Name })
}

// validateResize validates new resources of a pod (API-590).
func validateResize(pod, old *corePod) field.ErrorList {
	if _, ok := old.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods cannot be resized")}
	}
	if old.Spec.OS != nil && old.Spec.OS.Name == corev1.Windows {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "windows pods cannot be resized")}
	}
	errs := append(ValidateGenerateName(&pod.ObjectMeta), validatePodAnnotations(pod, old)...)
	errs = append(errs, validatePod(pod, old)...)
	spec := field.NewPath("spec")
	now := *pod
	now.Status.QOSClass = ""
	if podQOS(old) != podQOS(&now) {
		errs = append(errs, field.Invalid(spec, pod.Status.QOSClass, "Pod QOS Class may not change as a result of resizing"))
	}
	if !nodeResizes(old) {
		errs = append(errs, field.Forbidden(spec, "Pod running on node without support for resize"))
	}
	whole := pod.Spec.Resources
	if statesResources(old) || statesResources(pod) {
		var removed field.ErrorList
		if whole, removed = validateWholeResize(whole, old.Spec.Resources, spec); removed != nil {
			errs = append(errs, removed...)
		}
	}
	if len(old.Status.NodeAllocatableResourceClaimStatuses) > 0 {
		errs = append(errs, field.Forbidden(spec, "pods with node allocatable resource claims cannot be resized"))
	}
	if order := append(validateContainerOrder(pod.Spec.Containers, old.Spec.Containers, "containers", spec),
		validateContainerOrder(pod.Spec.InitContainers, old.Spec.InitContainers, "initContainers", spec)...); len(order) > 0 {
		return append(errs, order...)
	}
	for i := range old.Spec.InitContainers {
		errs = append(errs, validateKept(&pod.Spec.InitContainers[i].Resources, &old.Spec.InitContainers[i].Resources, spec.Child("initContainers").Index(i))...)
	}
	for i := range old.Spec.Containers {
		errs = append(errs, validateKept(&pod.Spec.Containers[i].Resources, &old.Spec.Containers[i].Resources, spec.Child("containers").Index(i))...)
	}
	const immutable = "only cpu and memory resources are mutable"
	rest := pod.Spec
	rest.Resources = whole
	rest.Containers = slices.Clone(pod.Spec.Containers)
	for i := range rest.Containers {
		if !keepAmounts(&rest.Containers[i], &old.Spec.Containers[i]) {
			errs = append(errs, field.Forbidden(spec, immutable))
		}
	}
	rest.InitContainers = slices.Clone(pod.Spec.InitContainers)
	for i := range rest.InitContainers {
		c, at := &rest.InitContainers[i], spec.Child("initContainers").Index(i)
		changed := !SemanticEqual(c, &old.Spec.InitContainers[i])
		if !keepAmounts(c, &old.Spec.InitContainers[i]) {
			errs = append(errs, field.Forbidden(at, "only cpu and memory resources for init or sidecar containers are mutable"))
		}
		for _, policy := range c.ResizePolicy {
			if changed && !objects.IsSidecar(c) && policy.RestartPolicy == corev1.RestartContainer {
				errs = append(errs, field.Forbidden(at, "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"))
			}
		}
	}
	if len(errs) == 0 && !SemanticEqual(&rest, &old.Spec) {
		errs = append(errs, field.Forbidden(spec, immutable))
	}
	return errs
}

// nodeResizes reports whether the kubelet of a pod reports the resources of running containers.
func nodeResizes(pod *corePod) bool {
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.State.Running != nil {
			return c.Resources != nil
		}
	}
	return true
}

func statesResources(pod *corePod) bool {
	r := pod.Spec.Resources
	return r != nil && len(r.Requests)+len(r.Limits) > 0
}

// validateWholeResize validates new resources of the whole pod. It returns them with the stored cpu and memory.
func validateWholeResize(now, old *corev1.ResourceRequirements, spec *field.Path) (*corev1.ResourceRequirements, field.ErrorList) {
	at := spec.Child("resources")
	if old != nil && now == nil {
		return now, field.ErrorList{field.Forbidden(at, "pod-level resources cannot be removed")}
	}
	var errs field.ErrorList
	var stored corev1.ResourceRequirements
	if old != nil {
		stored = *old
		if lacks(now.Requests, old.Requests) {
			errs = append(errs, field.Forbidden(at.Child("requests"), "pod-level resource requests cannot be removed"))
		}
		if lacks(now.Limits, old.Limits) {
			errs = append(errs, field.Forbidden(at.Child("limits"), "pod-level resource limits cannot be removed"))
		}
	}
	rest := *now
	rest.Requests, rest.Limits = withAmounts(now.Requests, stored.Requests), withAmounts(now.Limits, stored.Limits)
	kept := &rest
	if old == nil && len(rest.Requests)+len(rest.Limits)+len(rest.Claims) == 0 {
		kept = nil
	}
	if !SemanticEqual(kept, old) {
		errs = append(errs, field.Forbidden(spec, "only cpu and memory resources are mutable at pod-level"))
	}
	return kept, errs
}

func validateContainerOrder(now, old []corev1.Container, list string, spec *field.Path) field.ErrorList {
	if len(now) != len(old) {
		return field.ErrorList{field.Forbidden(spec.Child(list), list+" may not be added or removed on resize")}
	}
	var errs field.ErrorList
	for i := range old {
		if now[i].Name != old[i].Name {
			errs = append(errs, field.Forbidden(spec.Child(list).Index(i).Child("name"), list+" may not be renamed or reordered on resize"))
		}
	}
	return errs
}

// validateKept reports requests and limits of a container that are gone.
func validateKept(now, old *corev1.ResourceRequirements, container *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := container.Child("resources")
	if lacks(now.Requests, old.Requests) {
		errs = append(errs, field.Forbidden(at.Child("requests"), "resource requests cannot be removed"))
	}
	if lacks(now.Limits, old.Limits) {
		errs = append(errs, field.Forbidden(at.Child("limits"), "resource limits cannot be removed"))
	}
	return errs
}

// lacks reports whether a list has not all the resources of another.
func lacks(list, other corev1.ResourceList) bool {
	for name := range other {
		if _, ok := list[name]; !ok {
			return true
		}
	}
	return false
}

// keepAmounts restores cpu and memory of a container, and reports whether it is the stored one then.
func keepAmounts(c, old *corev1.Container) bool {
	c.Resources = corev1.ResourceRequirements{
		Limits: withAmounts(c.Resources.Limits, old.Resources.Limits), Requests: withAmounts(c.Resources.Requests, old.Resources.Requests),
	}
	return SemanticEqual(c, old)
}

// withAmounts returns a list with cpu and memory of another.
func withAmounts(list, old corev1.ResourceList) corev1.ResourceList {
	if list == nil && old == nil {
		return nil
	}
	result := corev1.ResourceList{}
	for name, amount := range list {
		if name != corev1.ResourceCPU && name != corev1.ResourceMemory {
			result[name] = amount
		}
	}
	for _, name := range qosResources {
		if amount, ok := old[name]; ok {
			result[name] = amount
		}
	}
	return result
}
