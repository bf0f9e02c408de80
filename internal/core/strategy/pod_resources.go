package strategy

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/quota"
)

// validateRequirements validates the requests and limits of a container.
func validateRequirements(r *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	return validateRequirementsOf(r, path, ContainerResource)
}

// validateRequirementsOf validates requests and limits. validateName validates the name of a resource.
func validateRequirementsOf(r *corev1.ResourceRequirements, path *field.Path,
	validateName func(corev1.ResourceName, *field.Path) field.ErrorList) field.ErrorList {
	var errs field.ErrorList
	limits, requests := path.Child("limits"), path.Child("requests")
	computes, pages := false, false
	note := func(name corev1.ResourceName) {
		computes = computes || name == corev1.ResourceCPU || name == corev1.ResourceMemory
		pages = pages || isHugePages(name)
	}
	for _, name := range objects.SortedKeys(r.Limits) {
		errs = append(errs, validateName(name, limits.Key(string(name)))...)
		errs = append(errs, validateAmount(name, r.Limits[name], limits.Key(string(name)))...)
		errs = append(errs, validateHugePages(name, r.Limits[name], limits.Key(string(name)))...)
		note(name)
	}
	for _, name := range objects.SortedKeys(r.Requests) {
		request := r.Requests[name]
		errs = append(errs, validateName(name, requests.Key(string(name)))...)
		errs = append(errs, validateAmount(name, request, requests.Key(string(name)))...)
		errs = append(errs, validateHugePages(name, request, requests.Key(string(name)))...)
		note(name)
		// A resource that cannot be shared is requested up to its limit.
		shareable := isNativeResource(name) && !isHugePages(name)
		limit, limited := r.Limits[name]
		switch {
		case !limited && !shareable:
			errs = append(errs, field.Required(limits, "Limit must be set for non overcommitable resources"))
		case limited && !shareable && request.Cmp(limit) != 0:
			errs = append(errs, field.Invalid(requests, request.String(), "must be equal to "+string(name)+" limit of "+limit.String()))
		case limited && request.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(requests, request.String(), "must be less than or equal to "+string(name)+" limit of "+limit.String()))
		}
	}
	if pages && !computes {
		errs = append(errs, field.Forbidden(path, "HugePages require cpu or memory"))
	}
	return errs
}

// podLevelResources are the resources that a pod may state as a whole, beside sizes of huge pages.
var podLevelResources = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

func validatePodLevelResource(name corev1.ResourceName, path *field.Path) field.ErrorList {
	errs := validateResourceName(name, path)
	if len(errs) == 0 && !slices.Contains(podLevelResources, name) && !isHugePages(name) {
		errs = append(errs, field.NotSupported(path, name, []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceHugePagesPrefix, corev1.ResourceMemory}))
	}
	return errs
}

// defaultPodResources completes the resources of a pod as a whole: what it requests of what its limits are about, and the limits of huge pages
// (API-259).
func defaultPodResources(spec *corev1.PodSpec) {
	whole := *spec.Resources
	if len(whole.Limits)+len(whole.Requests) > 0 {
		// API-259: the limit of huge pages is that of the containers together.
		for name, sum := range quota.ContainerTotal(spec, quota.Limits) {
			if _, requested := whole.Requests[name]; !requested && isHugePages(name) {
				whole.Limits = withMissing(whole.Limits, corev1.ResourceList{name: sum})
			}
		}
	}
	if len(whole.Limits) > 0 {
		// API-259: if the pod has limits, a request that it omits is the sum of the requests of its containers, else the limit.
		for name, sum := range quota.ContainerTotal(spec, quota.Requests) {
			if slices.Contains(podLevelResources, name) {
				whole.Requests = withMissing(whole.Requests, corev1.ResourceList{name: sum})
			}
		}
		limits := maps.Clone(whole.Limits)
		maps.DeleteFunc(limits, func(name corev1.ResourceName, _ apiresource.Quantity) bool {
			return !slices.Contains(podLevelResources, name) && !isHugePages(name)
		})
		if len(limits) > 0 {
			whole.Requests = withMissing(whole.Requests, limits)
		}
	}
	spec.Resources = &whole
}

// validatePodResources validates the requests and limits of a pod as a whole (API-259).
func validatePodResources(spec *corev1.PodSpec) field.ErrorList {
	if spec.Resources == nil {
		return nil
	}
	path := field.NewPath("spec", "resources")
	// API-372: Windows limits containers only.
	if spec.OS != nil && spec.OS.Name == corev1.Windows {
		return field.ErrorList{field.Forbidden(path, "may not be set for a windows pod")}
	}
	var errs field.ErrorList
	if spec.Resources.Claims != nil {
		errs = append(errs, field.Forbidden(path.Child("claims"), "claims may not be set for Resources at pod-level"))
	}
	errs = append(errs, validateRequirementsOf(spec.Resources, path, validatePodLevelResource)...)
	errs = append(errs, validateClaimNames(spec.Resources.Claims, spec.ResourceClaims, path.Child("claims"))...)
	// API-259: the pod requests at least what its containers request together.
	total := quota.ContainerTotal(spec, quota.Requests)
	for _, name := range objects.SortedKeys(total) {
		sum := total[name]
		if whole, ok := spec.Resources.Requests[name]; ok && sum.Cmp(whole) > 0 {
			errs = append(errs, field.Invalid(path.Child("requests").Key(string(name)), whole.String(),
				"must be greater than or equal to aggregate container requests of "+sum.String()))
		}
	}
	total = quota.ContainerTotal(spec, quota.Limits)
	for _, name := range objects.SortedKeys(total) {
		sum := total[name]
		if whole, ok := spec.Resources.Limits[name]; ok && isHugePages(name) && sum.Cmp(whole) > 0 {
			errs = append(errs, field.Invalid(path.Child("limits").Key(string(name)), whole.String(),
				"must be greater than or equal to aggregate container limits of "+sum.String()))
		}
	}
	// API-259: no container has a larger limit than the pod.
	for i := range spec.Containers {
		list := spec.Containers[i].Resources.Limits
		for _, name := range objects.SortedKeys(list) {
			limit := list[name]
			if whole, ok := spec.Resources.Limits[name]; ok && limit.Cmp(whole) > 0 {
				errs = append(errs, field.Invalid(path.Child("containers").Index(i).Key(string(name)).Child("limits"), limit.String(),
					"must be less than or equal to pod limits of "+whole.String()))
			}
		}
	}
	return errs
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// validateHugePages requires a whole number of pages. The name contains the size of a page.
func validateHugePages(name corev1.ResourceName, quantity apiresource.Quantity, path *field.Path) field.ErrorList {
	size, huge := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix)
	if !huge {
		return nil
	}
	page, err := apiresource.ParseQuantity(size)
	if err == nil && page.Sign() > 0 && isWhole(page) && quantity.Value()%page.Value() == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, quantity.String(), quantity.String()+" is not positive integer multiple of "+string(name))}
}

// ContainerResource validates the name of a resource that a container requests.
func ContainerResource(name corev1.ResourceName, path *field.Path) field.ErrorList {
	errs := validateResourceName(name, path)
	switch {
	case !strings.Contains(string(name), "/"):
		if name != corev1.ResourceCPU && name != corev1.ResourceMemory && name != corev1.ResourceEphemeralStorage &&
			!isHugePages(name) {
			errs = append(errs, field.Invalid(path, name, "must be a standard resource for containers"))
		}
	case !isNativeResource(name) && !isExtendedResource(name):
		errs = append(errs, field.Invalid(path, name, "doesn't follow extended resource name standard"))
	}
	return errs
}
