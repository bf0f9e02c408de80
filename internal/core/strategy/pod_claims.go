package strategy

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateResourceClaims validates the claims of devices of a pod (API-374).
func validateResourceClaims(pod *corePod) field.ErrorList {
	var errs field.ErrorList
	claims := pod.Spec.ResourceClaims
	for i := range claims {
		claim, at := &claims[i], field.NewPath("spec", "resourceClaims").Index(i)
		// API-374: nobody could reserve a device for a pod that no server creates.
		if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
			errs = append(errs, field.Forbidden(field.NewPath(""), "static pods do not support resource claims"))
			continue
		}
		switch {
		case claim.Name == "":
			errs = append(errs, field.Required(at.Child("name"), ""))
		case slices.ContainsFunc(claims[:i], func(o corev1.PodResourceClaim) bool { return o.Name == claim.Name }):
			errs = append(errs, field.Duplicate(at.Child("name"), claim.Name))
		default:
			errs = append(errs, DNSLabel(claim.Name, at, "name")...)
		}
		// API-374: a claim, or a template of one.
		if claim.ResourceClaimName != nil && claim.ResourceClaimTemplateName != nil {
			errs = append(errs, field.Invalid(at, internalForm{claim}, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"))
		}
		if claim.ResourceClaimName == nil && claim.ResourceClaimTemplateName == nil {
			errs = append(errs, field.Invalid(at, internalForm{claim}, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"))
		}
		if name := claim.ResourceClaimName; name != nil {
			errs = append(errs, Subdomain(*name, at, "resourceClaimName")...)
		}
		if name := claim.ResourceClaimTemplateName; name != nil {
			errs = append(errs, Subdomain(*name, at, "resourceClaimTemplateName")...)
		}
	}
	return errs
}

// validateClaimNames validates which claims of the pod a container uses, and which requests of them (API-374).
func validateClaimNames(claims []corev1.ResourceClaim, of []corev1.PodResourceClaim, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	known, used := map[string]bool{}, map[string]bool{}
	for _, claim := range of {
		known[claim.Name] = true
	}
	for i, claim := range claims {
		at := path.Index(i)
		if claim.Name == "" {
			errs = append(errs, field.Required(at, ""))
			continue
		}
		errs = append(errs, validateClaimUse(claim, used, at)...)
		// API-374: the pod has the claim.
		if !known[claim.Name] {
			err := field.NotFound(at, claim.Name)
			err.Detail = "must be one of the names in pod.spec.resourceClaims which is empty"
			if len(known) > 0 {
				err.Detail = "must be one of the names in pod.spec.resourceClaims: " + strings.Join(slices.Sorted(maps.Keys(known)), ", ")
			}
			errs = append(errs, err)
		}
	}
	return errs
}

// validateClaimUse requires that a container uses a claim, or a request of one, once. It adds the use to those before it.
func validateClaimUse(claim corev1.ResourceClaim, used map[string]bool, at *field.Path) field.ErrorList {
	if used[claim.Name] {
		return field.ErrorList{field.Duplicate(at, claim.Name)}
	}
	var errs field.ErrorList
	key := claim.Name
	if claim.Request != "" {
		errs = append(errs, DNSLabel(claim.Request, at, "request")...)
		key += "/" + claim.Request
	}
	if used[key] {
		errs = append(errs, field.Duplicate(at, key))
	} else if claim.Request == "" {
		// API-374: a whole claim overlaps with each of its requests.
		for other := range used {
			if name, _, ok := strings.Cut(other, "/"); ok && name == claim.Name {
				errs = append(errs, field.Duplicate(at, claim.Name))
			}
		}
	}
	used[key] = true
	return errs
}
