//go:build !js

package kubectl

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
)

func (d *description) autoscaler(h *autoscalingv2.HorizontalPodAutoscaler) {
	d.meta(h)
	d.field("CreationTimestamp", "%s", timeOf(h.CreationTimestamp))
	d.field("Reference", "%s/%s", h.Spec.ScaleTargetRef.Kind, h.Spec.ScaleTargetRef.Name)
	d.printf("Metrics:\t( current / target )\n")
	for i, m := range h.Spec.Metrics {
		var now autoscalingv2.MetricStatus
		if i < len(h.Status.CurrentMetrics) {
			now = h.Status.CurrentMetrics[i]
		}
		d.metric(&m, now)
	}
	d.field("Min replicas", "%s", set(h.Spec.MinReplicas))
	d.field("Max replicas", "%d", h.Spec.MaxReplicas)
	if b := h.Spec.Behavior; b != nil {
		d.printf("Behavior:\n")
		d.scaling("Scale Up", b.ScaleUp)
		d.scaling("Scale Down", b.ScaleDown)
	}
	d.field(h.Spec.ScaleTargetRef.Kind+" pods", "%d current / %d desired", h.Status.CurrentReplicas, h.Status.DesiredReplicas)
	if len(h.Status.Conditions) > 0 {
		d.printf("Conditions:\n  Type\tStatus\tReason\tMessage\n  ----\t------\t------\t-------\n")
	}
	for _, c := range h.Status.Conditions {
		d.printf("  %s\t%s\t%s\t%s\n", c.Type, c.Status, c.Reason, c.Message)
	}
}

// metric writes a metric, and its value as far as the status has it.
func (d *description) metric(m *autoscalingv2.MetricSpec, now autoscalingv2.MetricStatus) {
	// Only the value of the same type counts.
	var current *autoscalingv2.MetricValueStatus
	average := func() *resource.Quantity {
		if current == nil {
			return nil
		}
		return current.AverageValue
	}
	value := func() *resource.Quantity {
		if current == nil {
			return nil
		}
		return current.Value
	}
	line := func(what string, have, want *resource.Quantity) {
		d.printf("  %s:\t%s / %s\n", what, amount(have), want.String())
	}
	switch {
	case m.Type == autoscalingv2.ExternalMetricSourceType && m.External != nil:
		if now.External != nil {
			current = &now.External.Current
		}
		name := fmt.Sprintf("%q", m.External.Metric.Name)
		if want := m.External.Target.AverageValue; want != nil {
			line(name+" (target average value)", average(), want)
		} else {
			line(name+" (target value)", value(), m.External.Target.Value)
		}
	case m.Type == autoscalingv2.PodsMetricSourceType && m.Pods != nil:
		if now.Pods != nil {
			current = &now.Pods.Current
		}
		line(fmt.Sprintf("%q on pods", m.Pods.Metric.Name), average(), m.Pods.Target.AverageValue)
	case m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil:
		if now.Object != nil {
			current = &now.Object.Current
		}
		name := fmt.Sprintf("%q on %s/%s", m.Object.Metric.Name, m.Object.DescribedObject.Kind, m.Object.DescribedObject.Name)
		if m.Object.Target.Type == autoscalingv2.AverageValueMetricType {
			line(name+" (target average value)", average(), m.Object.Target.AverageValue)
		} else {
			line(name+" (target value)", value(), m.Object.Target.Value)
		}
	case m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil:
		if now.Resource != nil {
			current = &now.Resource.Current
		}
		d.resourceMetric(fmt.Sprintf("resource %s on pods", m.Resource.Name), m.Resource.Target, current)
	case m.Type == autoscalingv2.ContainerResourceMetricSourceType && m.ContainerResource != nil:
		if now.ContainerResource != nil {
			current = &now.ContainerResource.Current
		}
		d.resourceMetric(fmt.Sprintf("resource %s of container %q on pods", m.ContainerResource.Name, m.ContainerResource.Container),
			m.ContainerResource.Target, current)
	default:
		d.printf("  <unknown metric type %q>\n", m.Type)
	}
}

func (d *description) resourceMetric(what string, target autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) {
	if current == nil {
		current = &autoscalingv2.MetricValueStatus{}
	}
	if target.AverageValue != nil {
		d.printf("  %s:\t%s / %s\n", what, amount(current.AverageValue), target.AverageValue)
		return
	}
	have, want := "<unknown>", "<auto>"
	if current.AverageUtilization != nil {
		have = fmt.Sprintf("%d%% (%s)", *current.AverageUtilization, current.AverageValue)
	}
	if target.AverageUtilization != nil {
		want = fmt.Sprintf("%d%%", *target.AverageUtilization)
	}
	d.printf("  %s  (as a percentage of request):\t%s / %s\n", what, have, want)
}

// amount returns a quantity, which may be unknown.
func amount(q *resource.Quantity) string {
	if q == nil {
		return "<unknown>"
	}
	return q.String()
}

func (d *description) scaling(direction string, rules *autoscalingv2.HPAScalingRules) {
	if rules == nil {
		return
	}
	d.printf("  %s:\n", direction)
	if s := rules.StabilizationWindowSeconds; s != nil {
		d.printf("    Stabilization Window: %d seconds\n", *s)
	}
	if len(rules.Policies) > 0 {
		d.printf("    Select Policy: %s\n    Policies:\n", deref(rules.SelectPolicy, autoscalingv2.MaxChangePolicySelect))
	}
	for _, p := range rules.Policies {
		d.printf("      - Type: %s\tValue: %d\tPeriod: %d seconds\n", p.Type, p.Value, p.PeriodSeconds)
	}
}
