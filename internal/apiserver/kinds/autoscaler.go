package kinds

import (
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// autoscalerRules are the rules of HorizontalPodAutoscalers (API-456). They have no controller.
var autoscalerRules = store.KindRules{
	Default: func(obj *plain.Object) {
		obj.SetAnnotations(dropped(obj.GetAnnotations())) // API-517
		scaler, err := plain.As[*autoscalingv2.HorizontalPodAutoscaler](obj)
		if err != nil {
			return // validation reports it
		}
		defaultAutoscaler(&scaler.Spec)
		obj.SetSource(scaler)
	},
	Check: func(obj, old *plain.Object) field.ErrorList {
		scaler, err := plain.As[*autoscalingv2.HorizontalPodAutoscaler](obj)
		if err != nil {
			return field.ErrorList{field.Invalid(field.NewPath("spec"), obj.Content()["spec"], err.Error())}
		}
		known, metricsKnown := false, false
		if old != nil {
			// API-456: an update that leaves the kind of its target as it is may leave a bad version, too.
			before := plain.Shared[*autoscalingv2.HorizontalPodAutoscaler](old)
			was := before.Spec.ScaleTargetRef
			known = was.APIVersion == scaler.Spec.ScaleTargetRef.APIVersion && was.Kind == scaler.Spec.ScaleTargetRef.Kind
			metricsKnown = slices.ContainsFunc(before.Spec.Metrics, describesBadVersion)
		}
		return checkAutoscaler(&scaler.Spec, field.NewPath("spec"), known, metricsKnown)
	},
	CheckStatus: statusCheck(checkAutoscalerStatus),
}

// defaultAutoscaler sets the defaults of API-456.
func defaultAutoscaler(spec *autoscalingv2.HorizontalPodAutoscalerSpec) {
	if spec.MinReplicas == nil {
		spec.MinReplicas = new(int32(1))
	}
	if len(spec.Metrics) == 0 {
		spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(80))},
		}}}
	}
	if spec.Behavior == nil {
		return
	}
	spec.Behavior = spec.Behavior.DeepCopy()
	all := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}
	up, down := orNew(&spec.Behavior.ScaleUp), orNew(&spec.Behavior.ScaleDown)
	if up.StabilizationWindowSeconds == nil {
		up.StabilizationWindowSeconds = new(int32)
	}
	if up.Policies == nil {
		up.Policies = []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15}, all}
	}
	if down.Policies == nil {
		down.Policies = []autoscalingv2.HPAScalingPolicy{all}
	}
	for _, rules := range []*autoscalingv2.HPAScalingRules{up, down} {
		if rules.SelectPolicy == nil {
			rules.SelectPolicy = new(autoscalingv2.MaxChangePolicySelect)
		}
	}
}

// orNew returns what p points to, which is not nil afterwards.
func orNew[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

// checkAutoscaler validates the spec of an autoscaler. known says that the kind of its target is that of the stored one, metricsKnown that a metric
// of the stored one describes an object with a bad version.
func checkAutoscaler(spec *autoscalingv2.HorizontalPodAutoscalerSpec, path *field.Path, known, metricsKnown bool) field.ErrorList {
	var errs field.ErrorList
	if n := *spec.MinReplicas; n < 1 {
		errs = append(errs, field.Invalid(path.Child("minReplicas"), n, "must be greater than or equal to 1").WithOrigin("minimum"))
	}
	at := path.Child("maxReplicas")
	switch n := spec.MaxReplicas; {
	case n == 0:
		errs = append(errs, field.Required(at, "must be set and greater than 0"))
	case n < 0:
		errs = append(errs, field.Invalid(at, n, "must be greater than or equal to 1").WithOrigin("minimum"))
	}
	if spec.MaxReplicas < *spec.MinReplicas {
		errs = append(errs, field.Invalid(at, spec.MaxReplicas, "must be greater than or equal to `minReplicas`"))
	}
	errs = append(errs, checkReference(spec.ScaleTargetRef, path.Child("scaleTargetRef"), known, spec.ScaleTargetRef.Kind == "ReplicationController")...)
	for i := range spec.Metrics {
		errs = append(errs, checkMetric(&spec.Metrics[i], path.Child("metrics").Index(i), metricsKnown)...)
	}
	scalesToZero := func(m autoscalingv2.MetricSpec) bool {
		return m.Type == autoscalingv2.ObjectMetricSourceType || m.Type == autoscalingv2.ExternalMetricSourceType
	}
	if *spec.MinReplicas == 0 && !slices.ContainsFunc(spec.Metrics, scalesToZero) {
		errs = append(errs, field.Forbidden(path.Child("metrics"), "must specify at least one Object or External metric to support scaling to zero replicas"))
	}
	if b := spec.Behavior; b != nil {
		errs = append(errs, checkScalingRules(b.ScaleUp, path.Child("behavior", "scaleUp"))...)
		errs = append(errs, checkScalingRules(b.ScaleDown, path.Child("behavior", "scaleDown"))...)
	}
	return errs
}

// checkReference requires the kind and the name of an object, and its version unless that is known. core says that it may have no group.
func checkReference(ref autoscalingv2.CrossVersionObjectReference, path *field.Path, known, core bool) field.ErrorList {
	var errs field.ErrorList
	for _, part := range []struct{ name, value string }{{"kind", ref.Kind}, {"name", ref.Name}} {
		if part.value == "" {
			errs = append(errs, field.Required(path.Child(part.name), ""))
			continue
		}
		for _, text := range content.IsPathSegmentName(part.value) {
			errs = append(errs, field.Invalid(path.Child(part.name), part.value, text))
		}
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	switch {
	case known:
	case err != nil:
		errs = append(errs, field.Invalid(path.Child("apiVersion"), ref.APIVersion, err.Error()))
	case gv.Group == "" && !core:
		errs = append(errs, field.Invalid(path.Child("apiVersion"), ref.APIVersion, "apiVersion must specify API group"))
	}
	return errs
}

// The longest periods of policies and the longest stabilization, in seconds.
const (
	longestPolicyPeriod  = 1800
	longestStabilization = 3600
)

// checkScalingRules: at least one policy, and times that are not too long.
func checkScalingRules(rules *autoscalingv2.HPAScalingRules, path *field.Path) field.ErrorList {
	if rules == nil {
		return nil
	}
	var errs field.ErrorList
	if seconds := rules.StabilizationWindowSeconds; seconds != nil {
		switch at := path.Child("stabilizationWindowSeconds"); {
		case *seconds < 0:
			errs = append(errs, field.Invalid(at, seconds, "must be greater than or equal to zero"))
		case *seconds > longestStabilization:
			errs = append(errs, field.Invalid(at, seconds, "must be less than or equal to 3600"))
		}
	}
	if policy := rules.SelectPolicy; policy != nil {
		if known := []string{"Disabled", "Max", "Min"}; !slices.Contains(known, string(*policy)) {
			errs = append(errs, field.NotSupported(path.Child("selectPolicy"), policy, known))
		}
	}
	if len(rules.Policies) == 0 {
		errs = append(errs, field.Required(path.Child("policies"), "must specify at least one Policy"))
	}
	for i, p := range rules.Policies {
		at := path.Child("policies").Index(i)
		if known := []string{"Percent", "Pods"}; !slices.Contains(known, string(p.Type)) {
			errs = append(errs, field.NotSupported(at.Child("type"), p.Type, known))
		}
		if p.Value <= 0 {
			errs = append(errs, field.Invalid(at.Child("value"), p.Value, "must be greater than zero"))
		}
		switch {
		case p.PeriodSeconds <= 0:
			errs = append(errs, field.Invalid(at.Child("periodSeconds"), p.PeriodSeconds, "must be greater than zero"))
		case p.PeriodSeconds > longestPolicyPeriod:
			errs = append(errs, field.Invalid(at.Child("periodSeconds"), p.PeriodSeconds, "must be less than or equal to 1800"))
		}
	}
	if t := rules.Tolerance; t != nil && t.Sign() < 0 {
		errs = append(errs, field.Invalid(path.Child("tolerance"), t.String(), negative).WithOrigin("minimum"))
	}
	return errs
}
