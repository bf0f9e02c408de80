package kinds

import (
	"encoding/json"
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
)

// API-517: HorizontalPodAutoscalers are stored in v2. In v1 a field has the utilization of CPU, and annotations have the other metrics, the behavior, the
// present metrics and the conditions.

// The annotations of v1, and two that older versions had.
const (
	annotationMetrics        = "autoscaling.alpha.kubernetes.io/metrics"
	annotationCurrentMetrics = "autoscaling.alpha.kubernetes.io/current-metrics"
	annotationConditions     = "autoscaling.alpha.kubernetes.io/conditions"
	annotationBehavior       = "autoscaling.alpha.kubernetes.io/behavior"
	annotationToleranceDown  = "autoscaling.alpha.kubernetes.io/scale-down-tolerance"
	annotationToleranceUp    = "autoscaling.alpha.kubernetes.io/scale-up-tolerance"
)

// ConvertAutoscaler converts an autoscaler to a version, v1 or v2. Other objects stay as they are.
func ConvertAutoscaler(obj api.Object, version string) api.Object {
	switch obj := obj.(type) {
	case *autoscalingv1.HorizontalPodAutoscaler:
		if version == "v2" {
			return NewerAutoscaler(obj)
		}
	case *autoscalingv2.HorizontalPodAutoscaler:
		if version == "v1" {
			return OlderAutoscaler(obj)
		}
	}
	return obj
}

// dropped returns annotations without those that v1 has in place of fields.
func dropped(annotations map[string]string) map[string]string {
	kept := annotations
	for _, name := range []string{
		annotationMetrics, annotationCurrentMetrics, annotationConditions, annotationBehavior, annotationToleranceDown, annotationToleranceUp,
	} {
		if _, ok := annotations[name]; ok {
			if len(kept) == len(annotations) {
				kept = maps.Clone(annotations)
			}
			delete(kept, name)
		}
	}
	return kept
}

// internalBehavior is autoscalingv2.HorizontalPodAutoscalerBehavior under the names that the annotation has.
type (
	internalBehavior struct{ ScaleUp, ScaleDown *internalRules }
	internalRules    struct {
		StabilizationWindowSeconds *int32
		SelectPolicy               *autoscalingv2.ScalingPolicySelect
		Policies                   []internalPolicy
		Tolerance                  *apiresource.Quantity
	}
	internalPolicy struct {
		Type          autoscalingv2.HPAScalingPolicyType
		Value         int32
		PeriodSeconds int32
	}
)

// cpuUtilization reports whether v1 has a field for the metric.
func cpuUtilization(m autoscalingv2.MetricSpec) bool {
	return m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil && m.Resource.Name == corev1.ResourceCPU && m.Resource.Target.AverageUtilization != nil
}

// OlderAutoscaler converts an autoscaler from v2 to v1. It shares what they have in common.
func OlderAutoscaler(in *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv1.HorizontalPodAutoscaler {
	out := &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: in.ObjectMeta}
	out.Annotations = dropped(in.Annotations)
	out.Spec = autoscalingv1.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(in.Spec.ScaleTargetRef), MinReplicas: in.Spec.MinReplicas, MaxReplicas: in.Spec.MaxReplicas,
	}
	out.Status = autoscalingv1.HorizontalPodAutoscalerStatus{
		ObservedGeneration: in.Status.ObservedGeneration, LastScaleTime: in.Status.LastScaleTime, CurrentReplicas: in.Status.CurrentReplicas,
		DesiredReplicas: in.Status.DesiredReplicas,
	}
	annotate := func(name string, value any) {
		data, err := json.Marshal(value)
		if err != nil {
			return // a quantity, a number or a text can be encoded
		}
		if annotations := maps.Clone(out.Annotations); annotations != nil {
			out.Annotations = annotations
		} else {
			out.Annotations = map[string]string{}
		}
		out.Annotations[name] = string(data)
	}
	var metrics []autoscalingv1.MetricSpec
	for _, m := range in.Spec.Metrics {
		if !cpuUtilization(m) {
			metrics = append(metrics, olderMetric(m))
		} else if out.Spec.TargetCPUUtilizationPercentage == nil {
			out.Spec.TargetCPUUtilizationPercentage = m.Resource.Target.AverageUtilization
		}
	}
	if metrics != nil {
		annotate(annotationMetrics, metrics)
	}
	var current []autoscalingv1.MetricStatus
	for _, m := range in.Status.CurrentMetrics {
		current = append(current, olderMetricStatus(m))
		if m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil && m.Resource.Name == corev1.ResourceCPU && m.Resource.Current.AverageUtilization != nil {
			out.Status.CurrentCPUUtilizationPercentage = m.Resource.Current.AverageUtilization
		}
	}
	if current != nil {
		annotate(annotationCurrentMetrics, current)
	}
	if b := in.Spec.Behavior; b != nil {
		annotate(annotationBehavior, internalBehavior{internalScaling(b.ScaleUp), internalScaling(b.ScaleDown)})
	}
	var conditions []autoscalingv1.HorizontalPodAutoscalerCondition
	for _, c := range in.Status.Conditions {
		conditions = append(conditions, autoscalingv1.HorizontalPodAutoscalerCondition{
			Type: autoscalingv1.HorizontalPodAutoscalerConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		})
	}
	if conditions != nil {
		annotate(annotationConditions, conditions)
	}
	return out
}

// NewerAutoscaler converts an autoscaler from v1 to v2. An annotation that cannot be read has no effect.
func NewerAutoscaler(in *autoscalingv1.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	out := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: in.ObjectMeta}
	out.Annotations = dropped(in.Annotations)
	out.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(in.Spec.ScaleTargetRef), MinReplicas: in.Spec.MinReplicas, MaxReplicas: in.Spec.MaxReplicas,
	}
	out.Status = autoscalingv2.HorizontalPodAutoscalerStatus{
		ObservedGeneration: in.Status.ObservedGeneration, LastScaleTime: in.Status.LastScaleTime, CurrentReplicas: in.Status.CurrentReplicas,
		DesiredReplicas: in.Status.DesiredReplicas,
	}
	var metrics []autoscalingv1.MetricSpec
	if read(in.Annotations, annotationMetrics, &metrics) {
		for _, m := range metrics {
			out.Spec.Metrics = append(out.Spec.Metrics, newerMetric(m))
		}
	}
	if percentage := in.Spec.TargetCPUUtilizationPercentage; percentage != nil {
		out.Spec.Metrics = append(out.Spec.Metrics, autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: percentage},
		}})
	}
	var behavior internalBehavior
	if read(in.Annotations, annotationBehavior, &behavior) && behavior != (internalBehavior{}) {
		out.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: behavior.ScaleUp.scaling(), ScaleDown: behavior.ScaleDown.scaling()}
	}
	if percentage := in.Status.CurrentCPUUtilizationPercentage; percentage != nil {
		out.Status.CurrentMetrics = []autoscalingv2.MetricStatus{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricStatus{
			Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: percentage},
		}}}
	}
	var current []autoscalingv1.MetricStatus
	if read(in.Annotations, annotationCurrentMetrics, &current) {
		out.Status.CurrentMetrics = nil
		for _, m := range current {
			out.Status.CurrentMetrics = append(out.Status.CurrentMetrics, newerMetricStatus(m))
		}
	}
	var conditions []autoscalingv2.HorizontalPodAutoscalerCondition
	if read(in.Annotations, annotationConditions, &conditions) {
		out.Status.Conditions = conditions
	}
	return out
}

// read decodes an annotation, and reports whether there is one that can be read.
func read(annotations map[string]string, name string, into any) bool {
	text, ok := annotations[name]
	return ok && json.Unmarshal([]byte(text), into) == nil
}

func internalScaling(in *autoscalingv2.HPAScalingRules) *internalRules {
	if in == nil {
		return nil
	}
	out := &internalRules{StabilizationWindowSeconds: in.StabilizationWindowSeconds, SelectPolicy: in.SelectPolicy, Tolerance: in.Tolerance}
	for _, p := range in.Policies {
		out.Policies = append(out.Policies, internalPolicy(p))
	}
	return out
}

func (r *internalRules) scaling() *autoscalingv2.HPAScalingRules {
	if r == nil {
		return nil
	}
	out := &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy, Tolerance: r.Tolerance}
	for _, p := range r.Policies {
		out.Policies = append(out.Policies, autoscalingv2.HPAScalingPolicy(p))
	}
	return out
}
