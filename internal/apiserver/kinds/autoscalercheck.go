package kinds

import (
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/strategy"
)

var metricTypes = []string{"ContainerResource", "External", "Object", "Pods", "Resource"}

// describesBadVersion reports whether a metric describes an object whose version cannot be parsed.
func describesBadVersion(m autoscalingv2.MetricSpec) bool {
	if m.Type != autoscalingv2.ObjectMetricSourceType || m.Object == nil {
		return false
	}
	_, err := schema.ParseGroupVersion(m.Object.DescribedObject.APIVersion)
	return err != nil
}

// checkMetric validates a metric (API-546): it has the source that its type names, and no other.
func checkMetric(m *autoscalingv2.MetricSpec, path *field.Path, anyVersion bool) field.ErrorList {
	var errs field.ErrorList
	unknown := field.NotSupported(path.Child("type"), m.Type, metricTypes)
	known := slices.Contains(metricTypes, string(m.Type))
	if m.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), "must specify a metric source type"))
	}
	if !known {
		errs = append(errs, unknown)
	}
	sources := []struct {
		kind  autoscalingv2.MetricSourceType
		name  string
		given bool
		check func(path *field.Path) field.ErrorList
	}{
		{autoscalingv2.ObjectMetricSourceType, "object", m.Object != nil, func(path *field.Path) field.ErrorList { return checkObjectMetric(m.Object, path, anyVersion) }},
		{autoscalingv2.ExternalMetricSourceType, "external", m.External != nil, func(path *field.Path) field.ErrorList { return checkExternalMetric(m.External, path) }},
		{autoscalingv2.PodsMetricSourceType, "pods", m.Pods != nil, func(path *field.Path) field.ErrorList { return checkPodsMetric(m.Pods, path) }},
		{autoscalingv2.ResourceMetricSourceType, "resource", m.Resource != nil, func(path *field.Path) field.ErrorList { return checkResourceMetric(m.Resource, path) }},
		{autoscalingv2.ContainerResourceMetricSourceType, "containerResource", m.ContainerResource != nil, func(path *field.Path) field.ErrorList {
			return checkContainerMetric(m.ContainerResource, path)
		}},
	}
	var given []string
	for _, s := range sources {
		if !s.given {
			continue
		}
		// API-546: only the first source is validated.
		if given = append(given, s.name); len(given) == 1 {
			errs = append(errs, s.check(path.Child(s.name))...)
		}
	}
	for _, s := range sources {
		if s.kind == m.Type && !s.given {
			errs = append(errs, field.Required(path.Child(s.name), "must populate information for the given metric source"))
		}
	}
	if !known {
		errs = append(errs, unknown)
	}
	if len(given) == 1 {
		return errs
	}
	for _, s := range sources {
		if s.given && s.kind != m.Type {
			errs = append(errs, field.Forbidden(path.Child(s.name), "must populate the given metric source only"))
		}
	}
	return errs
}

func checkObjectMetric(m *autoscalingv2.ObjectMetricSource, path *field.Path, anyVersion bool) field.ErrorList {
	errs := checkReference(m.DescribedObject, path.Child("describedObject"), anyVersion, true)
	errs = append(errs, checkMetricName(m.Metric, path.Child("metric"))...)
	target := path.Child("target")
	errs = append(errs, checkMetricTarget(&m.Target, target)...)
	if m.Target.Value == nil && m.Target.AverageValue == nil {
		errs = append(errs, field.Required(target.Child("averageValue"), "must set either a target value or averageValue"))
	}
	return errs
}

func checkExternalMetric(m *autoscalingv2.ExternalMetricSource, path *field.Path) field.ErrorList {
	errs := checkMetricName(m.Metric, path.Child("metric"))
	target := path.Child("target")
	errs = append(errs, checkMetricTarget(&m.Target, target)...)
	switch value, average := m.Target.Value != nil, m.Target.AverageValue != nil; {
	case !value && !average:
		errs = append(errs, field.Required(target.Child("averageValue"), "must set either a target value for metric or a per-pod target"))
	case value && average:
		errs = append(errs, field.Forbidden(target.Child("value"), "may not set both a target value for metric and a per-pod target"))
	}
	return errs
}

func checkPodsMetric(m *autoscalingv2.PodsMetricSource, path *field.Path) field.ErrorList {
	errs := append(checkMetricName(m.Metric, path.Child("metric")), checkMetricTarget(&m.Target, path.Child("target"))...)
	if m.Target.AverageValue == nil {
		errs = append(errs, field.Required(path.Child("target", "averageValue"), "must specify a positive target averageValue"))
	}
	return errs
}

func checkResourceMetric(m *autoscalingv2.ResourceMetricSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if m.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), noResource))
	}
	return append(errs, checkUsage(&m.Target, path.Child("target"))...)
}

func checkContainerMetric(m *autoscalingv2.ContainerResourceMetricSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if m.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), noResource))
	} else {
		errs = append(errs, strategy.ContainerResource(m.Name, path.Child("name"))...)
	}
	if m.Container == "" {
		errs = append(errs, field.Required(path.Child("container"), "must specify a container"))
	} else {
		errs = append(errs, strategy.DNSLabel(m.Container, path, "container")...)
	}
	return append(errs, checkUsage(&m.Target, path.Child("target"))...)
}

const noResource = "must specify a resource name"

// checkUsage validates the target of a metric of resources.
func checkUsage(target *autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	errs := checkMetricTarget(target, path)
	switch utilization, value := target.AverageUtilization != nil, target.AverageValue != nil; {
	case !utilization && !value:
		errs = append(errs, field.Required(path.Child("averageUtilization"), "must set either a target raw value or a target utilization"))
	case utilization && value:
		errs = append(errs, field.Forbidden(path.Child("averageValue"), "may not set both a target raw value and a target utilization"))
	}
	return errs
}

func checkMetricTarget(target *autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if target.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), "must specify a metric target type"))
	}
	switch target.Type {
	case autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType:
	default:
		errs = append(errs, field.Invalid(path.Child("type"), target.Type, "must be either Utilization, Value, or AverageValue"))
	}
	for _, q := range []struct {
		name  string
		value *apiresource.Quantity
	}{{"value", target.Value}, {"averageValue", target.AverageValue}} {
		if q.value != nil && q.value.Sign() <= 0 {
			errs = append(errs, field.Invalid(path.Child(q.name), q.value, "must be positive"))
		}
	}
	if n := target.AverageUtilization; n != nil && *n < 1 {
		errs = append(errs, field.Invalid(path.Child("averageUtilization"), n, "must be greater than 0"))
	}
	return errs
}

func checkMetricName(m autoscalingv2.MetricIdentifier, path *field.Path) field.ErrorList {
	if m.Name == "" {
		return field.ErrorList{field.Required(path.Child("name"), "must specify a metric name")}
	}
	return strategy.AppendInvalid(nil, path.Child("name"), m.Name, content.IsPathSegmentName(m.Name))
}
