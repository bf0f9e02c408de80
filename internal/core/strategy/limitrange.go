package strategy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// LimitRange are the rules of LimitRanges.
var LimitRange = typedRules[*corev1.LimitRange]{
	loadedAny: true,
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
	for i := range limits.Spec.Limits {
		item, path := &limits.Spec.Limits[i], field.NewPath("spec", "limits").Index(i)
		errs = append(errs, validateLimitType(item.Type, path.Child("type"))...)
		// QUO-005: types are distinct.
		if seen[item.Type] {
			errs = append(errs, field.Duplicate(path.Child("type"), item.Type))
		}
		seen[item.Type] = true
		errs = append(errs, validateLimitNames(item, path)...)
		_, least := item.Min[corev1.ResourceStorage]
		_, most := item.Max[corev1.ResourceStorage]
		if item.Type == corev1.LimitTypePersistentVolumeClaim && !least && !most {
			errs = append(errs, field.Required(path.Child("limits"), "either minimum or maximum storage value is required, but neither was provided"))
		}
		errs = append(errs, validateNamesOf(item, item.MaxLimitRequestRatio, path.Child("maxLimitRequestRatio"))...)
		for _, name := range limitedResources(item) {
			errs = append(errs, validateOrder(path, item, name)...)
			errs = append(errs, validateRatio(path, item, name)...)
		}
	}
	return errs
}

// validateLimitType validates the type of an item: a known one, or one with a slash (QUO-005).
func validateLimitType(t corev1.LimitType, path *field.Path) field.ErrorList {
	errs := AppendInvalid(nil, path, t, validation.IsQualifiedName(string(t)))
	known := []corev1.LimitType{corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim}
	if len(errs) == 0 && !strings.Contains(string(t), "/") && !slices.Contains(known, t) {
		errs = append(errs, field.Invalid(path, t, "must be a standard limit type or fully qualified"))
	}
	return errs
}

// validateLimitNames validates the names of resources in an item, and that one for pods has no defaults (QUO-005).
func validateLimitNames(item *corev1.LimitRangeItem, path *field.Path) field.ErrorList {
	errs := append(validateNamesOf(item, item.Max, path.Child("max")), validateNamesOf(item, item.Min, path.Child("min"))...)
	if item.Type != corev1.LimitTypePod {
		return append(append(errs, validateNamesOf(item, item.Default, path.Child("default"))...),
			validateNamesOf(item, item.DefaultRequest, path.Child("defaultRequest"))...)
	}
	if len(item.Default) > 0 {
		errs = append(errs, field.Forbidden(path.Child("default"), "may not be specified when `type` is 'Pod'"))
	}
	if len(item.DefaultRequest) > 0 {
		errs = append(errs, field.Forbidden(path.Child("defaultRequest"), "may not be specified when `type` is 'Pod'"))
	}
	return errs
}

func validateNamesOf(item *corev1.LimitRangeItem, list corev1.ResourceList, path *field.Path) field.ErrorList {
	validate := validateResourceName
	// QUO-005: items for pods and containers are about resources of containers.
	if item.Type == corev1.LimitTypePod || item.Type == corev1.LimitTypeContainer {
		validate = ContainerResource
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(list)) {
		errs = append(errs, validate(name, path.Key(string(name)))...)
	}
	return errs
}

// limitedResources returns the resources of an item, by name.
func limitedResources(item *corev1.LimitRangeItem) []corev1.ResourceName {
	all := map[corev1.ResourceName]bool{}
	lists := []corev1.ResourceList{item.Min, item.Max, item.MaxLimitRequestRatio}
	if item.Type != corev1.LimitTypePod {
		lists = append(lists, item.Default, item.DefaultRequest)
	}
	for _, list := range lists {
		for name := range list {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// validateOrder validates that minimum, default request, default limit and maximum of a resource are in this order (QUO-005).
func validateOrder(path *field.Path, item *corev1.LimitRangeItem, name corev1.ResourceName) field.ErrorList {
	defaults, requests := item.Default, item.DefaultRequest
	if item.Type == corev1.LimitTypePod {
		defaults, requests = nil, nil
	}
	var errs field.ErrorList
	for _, pair := range []struct {
		field, low, high string
		lows, highs      corev1.ResourceList
		badHigh          bool // the invalid value is the higher one
	}{
		{"min", "min value", "max value", item.Min, item.Max, false},
		{"defaultRequest", "min value", "default request value", item.Min, requests, true},
		{"defaultRequest", "default request value", "max value", requests, item.Max, false},
		{"defaultRequest", "default request value", "default limit value", requests, defaults, false},
		{"default", "min value", "default value", item.Min, defaults, false},
		{"default", "default value", "max value", defaults, item.Max, true},
	} {
		low, ok := pair.lows[name]
		high, ok2 := pair.highs[name]
		if !ok || !ok2 || low.Cmp(high) <= 0 {
			continue
		}
		bad := low
		if pair.badHigh {
			bad = high
		}
		errs = append(errs, field.Invalid(path.Child(pair.field).Key(string(name)), bad.String(),
			fmt.Sprintf("%s %s is greater than %s %s", pair.low, low.String(), pair.high, high.String())))
	}
	return errs
}

// validateRatio validates the largest ratio of limit and request, and the defaults of a resource that cannot be overcommitted (QUO-005).
func validateRatio(path *field.Path, item *corev1.LimitRangeItem, name corev1.ResourceName) field.ErrorList {
	var errs field.ErrorList
	at := path.Child("maxLimitRequestRatio").Key(string(name))
	ratio, ok := item.MaxLimitRequestRatio[name]
	if ok && ratio.Cmp(*apiresource.NewQuantity(1, apiresource.DecimalSI)) < 0 {
		errs = append(errs, field.Invalid(at, ratio.String(), fmt.Sprintf("ratio %s is less than 1", ratio.String())))
	}
	least, hasLeast := item.Min[name]
	most, hasMost := item.Max[name]
	if ok && hasLeast && hasMost {
		if value, limit := ratioValues(ratio, least, most); value > limit {
			errs = append(errs, field.Invalid(at, ratio.String(), fmt.Sprintf("ratio %s is greater than max/min = %f", ratio.String(), limit)))
		}
	}
	if isNativeResource(name) && !isHugePages(name) || item.Type == corev1.LimitTypePod {
		return errs
	}
	limit, hasLimit := item.Default[name]
	if request, hasRequest := item.DefaultRequest[name]; hasLimit && hasRequest && limit.Cmp(request) != 0 {
		errs = append(errs, field.Invalid(path.Child("defaultRequest").Key(string(name)), request.String(),
			fmt.Sprintf("default value %s must equal to defaultRequest value %s in %s", limit.String(), request.String(), name)))
	}
	return errs
}

// ratioValues returns a ratio, and that of maximum and minimum, in thousandths if they are small enough.
func ratioValues(ratio, least, most apiresource.Quantity) (value, limit float64) {
	if ratio.Value() < apiresource.MaxMilliValue && least.Value() < apiresource.MaxMilliValue && most.Value() < apiresource.MaxMilliValue {
		return float64(ratio.MilliValue()) / 1000, float64(most.MilliValue()) / float64(least.MilliValue())
	}
	return float64(ratio.Value()), float64(most.Value()) / float64(least.Value())
}
