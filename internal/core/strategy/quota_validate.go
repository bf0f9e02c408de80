package strategy

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// quotaResources are the names of limits without a slash (QUO-002).
var quotaResources = []corev1.ResourceName{
	"cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage", "limits.cpu",
	"limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas", "services", "replicationcontrollers", "secrets",
	"persistentvolumeclaims", "configmaps", "services.nodeports", "services.loadbalancers",
}

// isQuotaResource reports whether a quota may limit a resource without a slash in its name (QUO-002).
func isQuotaResource(name corev1.ResourceName) bool {
	return slices.Contains(quotaResources, name) || isHugePages(name) || strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

// validateResourceName validates the name of a resource of any kind.
func validateResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	errs := AppendInvalid(nil, path, name, validation.IsQualifiedName(string(name)))
	if len(errs) == 0 && !strings.Contains(string(name), "/") && name != corev1.ResourceStorage && !isQuotaResource(name) {
		errs = append(errs, field.Invalid(path, name, "must be a standard resource type or fully qualified"))
	}
	return errs
}

// ResourceQuota are the rules of ResourceQuotas.
var ResourceQuota = typedRules[*corev1.ResourceQuota]{
	loadedAny: true,
	defaults:  func(q *corev1.ResourceQuota) {},
	validate:  validateQuota,
	validateUpdate: func(q, old *corev1.ResourceQuota) field.ErrorList {
		scopes := func(q *corev1.ResourceQuota) []corev1.ResourceQuotaScope {
			return slices.Compact(slices.Sorted(slices.Values(q.Spec.Scopes)))
		}
		// QUO-003: scopes are immutable.
		if !slices.Equal(scopes(q), scopes(old)) {
			return field.ErrorList{field.Invalid(field.NewPath("spec", "scopes"), q.Spec.Scopes, "field is immutable")}
		}
		return nil
	},
}

// validateQuota validates the limits and scopes of a quota (QUO-002, QUO-003, QUO-006).
func validateQuota(q *corev1.ResourceQuota) field.ErrorList {
	errs := QuotaAmounts(q.Spec.Hard, field.NewPath("spec", "hard"))
	return append(append(errs, validateScopes(q)...), validateScopeSelector(q)...)
}

// QuotaAmounts validates the amounts of a quota, or of its status.
func QuotaAmounts(amounts corev1.ResourceList, list *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		path := list.Key(string(name))
		// QUO-002: a limit is about a known resource, or one with a slash in its name, is not negative, and is whole for what is counted.
		errs = append(errs, validateResourceName(name, path)...)
		if !strings.Contains(string(name), "/") && !isQuotaResource(name) {
			errs = append(errs, field.Invalid(path, name, "must be a standard resource for quota"))
		}
		errs = append(errs, validateAmount(name, amounts[name], path)...)
	}
	return errs
}

var quotaScopes = []corev1.ResourceQuotaScope{
	corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeBestEffort,
	corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity,
	corev1.ResourceQuotaScopeVolumeAttributesClass,
}

// validateScopes validates spec.scopes (QUO-003).
func validateScopes(q *corev1.ResourceQuota) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("spec", "scopes")
	for _, scope := range q.Spec.Scopes {
		// QUO-003: scopes are known, and apply to what the quota limits.
		if !slices.Contains(quotaScopes, scope) {
			errs = append(errs, field.Invalid(path, q.Spec.Scopes, "unsupported scope"))
		}
		for range beyondScope(q, scope) {
			errs = append(errs, field.Invalid(path, q.Spec.Scopes, "unsupported scope applied to resource"))
		}
	}
	return append(errs, validateDistinct(q.Spec.Scopes, path, q)...)
}

// validateScopeSelector validates spec.scopeSelector (QUO-006).
func validateScopeSelector(q *corev1.ResourceQuota) field.ErrorList {
	if q.Spec.ScopeSelector == nil {
		return nil
	}
	var errs field.ErrorList
	var scopes []corev1.ResourceQuotaScope
	path := field.NewPath("spec", "scopeSelector", "matchExpressions")
	for _, e := range q.Spec.ScopeSelector.MatchExpressions {
		scopes = append(scopes, e.ScopeName)
		// QUO-006: scopes are known, and apply to what the quota limits.
		if !slices.Contains(quotaScopes, e.ScopeName) {
			errs = append(errs, field.Invalid(path.Child("scopeName"), e.ScopeName, "unsupported scope"))
		}
		for range beyondScope(q, e.ScopeName) {
			errs = append(errs, field.Invalid(path, internalForm{q.Spec.ScopeSelector}, "unsupported scope applied to resource"))
		}
		// QUO-006: scopes without values only exist.
		if e.Operator != corev1.ScopeSelectorOpExists && slices.Contains(quotaScopes, e.ScopeName) && !hasValues(e.ScopeName) {
			errs = append(errs, field.Invalid(path.Child("operator"), e.Operator, "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "+
				"ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"))
		}
		// QUO-006: In and NotIn have values, Exists and DoesNotExist have none.
		switch e.Operator {
		case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
			if len(e.Values) == 0 {
				errs = append(errs, field.Required(path.Child("values"), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"))
			}
		case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
			if len(e.Values) != 0 {
				errs = append(errs, field.Invalid(path.Child("values"), e.Values,
					"must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"))
			}
		default:
			errs = append(errs, field.Invalid(path.Child("operator"), e.Operator, "not a valid selector operator"))
		}
	}
	return append(errs, validateDistinct(scopes, path, q)...)
}

// validateDistinct reports scopes that exclude each other (QUO-003, QUO-006).
func validateDistinct(scopes []corev1.ResourceQuotaScope, path *field.Path, q *corev1.ResourceQuota) field.ErrorList {
	var errs field.ErrorList
	for _, pair := range [][2]corev1.ResourceQuotaScope{
		{corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort},
		{corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating},
	} {
		if slices.Contains(scopes, pair[0]) && slices.Contains(scopes, pair[1]) {
			errs = append(errs, field.Invalid(path, q.Spec.Scopes, "conflicting scopes"))
		}
	}
	return errs
}

// hasValues reports whether a scope selects by name.
func hasValues(scope corev1.ResourceQuotaScope) bool {
	return scope == corev1.ResourceQuotaScopePriorityClass || scope == corev1.ResourceQuotaScopeVolumeAttributesClass
}

// beyondScope returns the limits of a quota on what is never in a known scope.
func beyondScope(q *corev1.ResourceQuota, scope corev1.ResourceQuotaScope) []corev1.ResourceName {
	inScope := []corev1.ResourceName{"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"}
	switch {
	case !slices.Contains(quotaScopes, scope):
		return nil
	case scope == corev1.ResourceQuotaScopeBestEffort:
		inScope = inScope[:1]
	case scope == corev1.ResourceQuotaScopeVolumeAttributesClass:
		inScope = []corev1.ResourceName{"persistentvolumeclaims", "requests.storage"}
	}
	var beyond []corev1.ResourceName
	for _, name := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
		if isQuotaResource(name) && !slices.Contains(inScope, name) {
			beyond = append(beyond, name)
		}
	}
	return beyond
}
