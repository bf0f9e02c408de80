package store

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateRequirements validates the requests and limits of a container.
func validateRequirements(r *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	limits, requests := path.Child("limits"), path.Child("requests")
	computes, pages := false, false
	note := func(name corev1.ResourceName) {
		computes = computes || name == corev1.ResourceCPU || name == corev1.ResourceMemory
		pages = pages || isHugePages(name)
	}
	for _, name := range sortedKeys(r.Limits) {
		errs = append(errs, validateContainerResource(name, limits.Key(string(name)))...)
		errs = append(errs, validateAmount(name, r.Limits[name], limits.Key(string(name)))...)
		errs = append(errs, validateHugePages(name, r.Limits[name], limits.Key(string(name)))...)
		note(name)
	}
	for _, name := range sortedKeys(r.Requests) {
		request := r.Requests[name]
		errs = append(errs, validateContainerResource(name, requests.Key(string(name)))...)
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

func validateContainerResource(name corev1.ResourceName, path *field.Path) field.ErrorList {
	errs := appendInvalid(nil, path, name, validation.IsQualifiedName(string(name)))
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
