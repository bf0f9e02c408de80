package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/quota"
)

// QuotaKind and LimitRangeKind are stored as data, and decide about other objects of their namespace (docs/rules/quota.md).
const (
	QuotaKind      api.Kind = "ResourceQuota"
	LimitRangeKind api.Kind = "LimitRange"
)

// objectsIn returns the objects of a namespace as Ts, by name. They are shared, and read-only.
func objectsIn[T api.Object](t *Table[*plain.Object], namespace string) []T {
	if t == nil {
		return nil
	}
	var all []T
	for obj := range t.All() {
		if obj.Namespace == namespace {
			all = append(all, plain.Shared[T](obj))
		}
	}
	return all
}

// completeLimits sets the defaults that the LimitRanges of its namespace have for a new pod (QUO-040).
func (s *Store) completeLimits(obj api.Object) {
	if pod, ok := obj.(*corev1.Pod); ok && s.limits != nil && !s.asGiven {
		for _, limits := range objectsIn[*corev1.LimitRange](s.limits, pod.Namespace) {
			quota.SetDefaults(limits, pod)
		}
	}
}

// checkLimits decides whether an object is within the LimitRanges of its namespace (QUO-041, QUO-042). old is nil for a new object.
func (s *Store) checkLimits(r resource, obj, old api.Object) error {
	if s.limits == nil || s.asGiven {
		return nil
	}
	// QUO-043: what is being deleted may change.
	if old != nil && old.GetDeletionTimestamp() != nil {
		return nil
	}
	for _, limits := range objectsIn[*corev1.LimitRange](s.limits, obj.GetNamespace()) {
		var err error
		switch obj := obj.(type) {
		case *corev1.PersistentVolumeClaim:
			err = quota.CheckClaim(limits, obj)
		case *corev1.Pod:
			// QUO-042: only new pods are checked.
			if old == nil {
				err = quota.CheckPod(limits, obj)
			}
		}
		if err != nil {
			return forbidden(r, obj.GetName(), err)
		}
	}
	return nil
}

// chargeQuotas charges the quotas of a namespace with an object, or rejects it (QUO-020). old is nil for a new object. dry charges nothing.
func (s *Store) chargeQuotas(r resource, obj, old api.Object, sub api.Subresource, dry bool) error {
	if s.quotas == nil || s.asGiven || !r.namespaced || quota.Ignored(r.groupResource()) {
		return nil
	}
	if old != nil && !chargesUpdate(obj, old, sub) {
		return nil
	}
	all := objectsIn[*corev1.ResourceQuota](s.quotas, obj.GetNamespace())
	changed, err := quota.Charge(all, r.groupResource(), obj, old, sub == api.Status, s.now())
	if err != nil {
		return forbidden(r, obj.GetName(), err)
	}
	// QUO-025: a dry run is checked, and not charged.
	if dry {
		return nil
	}
	for _, q := range changed {
		charged, err := plain.From(q)
		if err != nil {
			return err
		}
		// QUO-024: the API server writes the usage before it stores the object.
		if _, err := s.quotas.UpdateStatus(charged); err != nil {
			return err
		}
	}
	return nil
}

// chargesUpdate reports whether an update may charge a quota (QUO-023): that of a claim or of its status, that of a Service, and that of
// a pod which gets a deadline or loses it.
func chargesUpdate(obj, old api.Object, sub api.Subresource) bool {
	switch obj := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		return true
	case *corev1.Pod:
		before, ok := old.(*corev1.Pod)
		return ok && sub == api.Main && quota.HasDeadline(obj) != quota.HasDeadline(before)
	case *plain.Object:
		// QUO-023: the type of a Service may change.
		return sub == api.Main && api.KindOf(obj) == "Service"
	}
	return false
}

// quotaResources are the names of limits without a slash (QUO-002).
var quotaResources = []string{
	"cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage", "limits.cpu",
	"limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas", "services", "replicationcontrollers", "secrets",
	"persistentvolumeclaims", "configmaps", "services.nodeports", "services.loadbalancers",
}

var quotaScopes = []corev1.ResourceQuotaScope{
	corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeBestEffort,
	corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity,
	corev1.ResourceQuotaScopeVolumeAttributesClass,
}

var quotaRules = workloadRules[*corev1.ResourceQuota]{
	defaults: func(q *corev1.ResourceQuota) {},
	validate: validateQuota,
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

// validateQuota validates the limits and scopes of a quota (QUO-002, QUO-003).
func validateQuota(q *corev1.ResourceQuota) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
		path := field.NewPath("spec", "hard").Key(string(name))
		// QUO-002: a limit is about a known resource, or one with a slash in its name, and is not negative.
		if !strings.Contains(string(name), "/") && !slices.Contains(quotaResources, string(name)) && !strings.HasPrefix(string(name), "hugepages-") &&
			!strings.HasPrefix(string(name), "requests.hugepages-") {
			errs = append(errs, field.Invalid(path, name, "must be a standard resource for quota"))
		}
		if value := q.Spec.Hard[name]; value.Sign() < 0 {
			errs = append(errs, field.Invalid(path, value.String(), "must be greater than or equal to 0"))
		}
	}
	path := field.NewPath("spec", "scopes")
	for _, scope := range q.Spec.Scopes {
		// QUO-003: scopes are known, and do not exclude each other.
		if !slices.Contains(quotaScopes, scope) {
			errs = append(errs, field.Invalid(path, q.Spec.Scopes, "unsupported scope"))
		}
	}
	for _, pair := range [][2]corev1.ResourceQuotaScope{
		{corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort},
		{corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating},
	} {
		if slices.Contains(q.Spec.Scopes, pair[0]) && slices.Contains(q.Spec.Scopes, pair[1]) {
			errs = append(errs, field.Invalid(path, q.Spec.Scopes, "conflicting scopes"))
		}
	}
	return errs
}

var limitRangeRules = workloadRules[*corev1.LimitRange]{
	defaults: func(limits *corev1.LimitRange) {
		for i := range limits.Spec.Limits {
			// QUO-004: containers get the maximum as limit, the limit as request, and at least the minimum.
			if item := &limits.Spec.Limits[i]; item.Type == corev1.LimitTypeContainer {
				item.Default = withMissing(item.Default, item.Max)
				item.DefaultRequest = withMissing(withMissing(item.DefaultRequest, item.Default), item.Min)
			}
		}
	},
	validate:       validateLimitRange,
	validateUpdate: func(_, _ *corev1.LimitRange) field.ErrorList { return nil },
}

func withMissing(list, more corev1.ResourceList) corev1.ResourceList {
	all := maps.Clone(more)
	if all == nil {
		all = corev1.ResourceList{}
	}
	maps.Copy(all, list)
	return all
}

// validateLimitRange validates the items of a LimitRange (QUO-005).
func validateLimitRange(limits *corev1.LimitRange) field.ErrorList {
	var errs field.ErrorList
	seen := map[corev1.LimitType]bool{}
	for i, item := range limits.Spec.Limits {
		path := field.NewPath("spec", "limits").Index(i)
		known := []corev1.LimitType{corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim}
		if !strings.Contains(string(item.Type), "/") && !slices.Contains(known, item.Type) {
			errs = append(errs, field.Invalid(path.Child("type"), item.Type, "must be a standard limit type or fully qualified"))
		}
		if seen[item.Type] {
			errs = append(errs, field.Duplicate(path.Child("type"), item.Type))
		}
		seen[item.Type] = true
		if item.Type == corev1.LimitTypePod && len(item.Default) > 0 {
			errs = append(errs, field.Forbidden(path.Child("default"), "may not be specified when `type` is 'Pod'"))
		}
		if item.Type == corev1.LimitTypePod && len(item.DefaultRequest) > 0 {
			errs = append(errs, field.Forbidden(path.Child("defaultRequest"), "may not be specified when `type` is 'Pod'"))
		}
		_, least := item.Min[corev1.ResourceStorage]
		_, most := item.Max[corev1.ResourceStorage]
		if item.Type == corev1.LimitTypePersistentVolumeClaim && !least && !most {
			errs = append(errs, field.Required(path.Child("limits"), "either minimum or maximum storage value is required, but neither was provided"))
		}
		errs = append(errs, validateOrder(path, &item)...)
	}
	return errs
}

// validateOrder validates that minimum, default request, default limit and maximum are in this order (QUO-005).
func validateOrder(path *field.Path, item *corev1.LimitRangeItem) field.ErrorList {
	var errs field.ErrorList
	for _, pair := range []struct {
		field, low, high string
		lows, highs      corev1.ResourceList
		badHigh          bool // the invalid value is the higher one
	}{
		{"min", "min value", "max value", item.Min, item.Max, false},
		{"defaultRequest", "min value", "default request value", item.Min, item.DefaultRequest, true},
		{"defaultRequest", "default request value", "max value", item.DefaultRequest, item.Max, false},
		{"defaultRequest", "default request value", "default limit value", item.DefaultRequest, item.Default, false},
		{"default", "min value", "default value", item.Min, item.Default, false},
		{"default", "default value", "max value", item.Default, item.Max, true},
	} {
		for _, name := range slices.Sorted(maps.Keys(pair.lows)) {
			low := pair.lows[name]
			high, ok := pair.highs[name]
			if !ok || low.Cmp(high) <= 0 {
				continue
			}
			bad := low
			if pair.badHigh {
				bad = high
			}
			errs = append(errs, field.Invalid(path.Child(pair.field).Key(string(name)), bad.String(),
				fmt.Sprintf("%s %s is greater than %s %s", pair.low, low.String(), pair.high, high.String())))
		}
	}
	ratio := item.MaxLimitRequestRatio
	for _, name := range slices.Sorted(maps.Keys(ratio)) {
		if q := ratio[name]; q.Cmp(*apiresource.NewQuantity(1, apiresource.DecimalSI)) < 0 {
			errs = append(errs, field.Invalid(path.Child("maxLimitRequestRatio").Key(string(name)), q.String(), fmt.Sprintf("ratio %s is less than 1", q.String())))
		}
	}
	return errs
}
