package strategy

import (
	"cmp"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/plain"
)

var deploymentRules = typedRules[*appsv1.Deployment]{
	defaults: func(d *appsv1.Deployment) {
		spec := &d.Spec
		// DEP-090: one replica, a rolling update by quarters, ten old sets, and ten minutes without progress.
		orDefault(&spec.Replicas, new(int32(1)))
		spec.Strategy.Type = cmp.Or(spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
		if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
			orDefault(&spec.Strategy.RollingUpdate, &appsv1.RollingUpdateDeployment{})
			orDefault(&spec.Strategy.RollingUpdate.MaxUnavailable, new(intstr.FromString("25%")))
			orDefault(&spec.Strategy.RollingUpdate.MaxSurge, new(intstr.FromString("25%")))
		}
		orDefault(&spec.RevisionHistoryLimit, new(int32(10)))
		orDefault(&spec.ProgressDeadlineSeconds, new(int32(600)))
		defaultTemplate(&spec.Template)
	},
	drop:     func(d *appsv1.Deployment) { dropDisabledFields(&d.Spec.Template.Spec, nil) }, // API-375
	validate: validateDeployment,
	validateUpdate: func(d, old *appsv1.Deployment) field.ErrorList {
		// DEP-092: the selector is immutable.
		return selectorUnchanged(d.Spec.Selector, old.Spec.Selector)
	},
}

// Deployment adds the rules of Deployments.
func Deployment(s Of[*plain.Object]) Of[*plain.Object] {
	s = deploymentRules.Add(s)
	contentChanged := s.SpecChanged
	// DEP-093: annotations count for generation, because the sets get them.
	s.SpecChanged = func(obj, old *plain.Object) bool {
		return contentChanged(obj, old) || !maps.Equal(obj.Annotations, old.Annotations)
	}
	prepare := s.PrepareStatus
	s.PrepareStatus = func(obj, old *plain.Object, now metav1.Time) {
		prepare(obj, old, now)
		// DEP-094: a write of the status can change annotations, but not labels.
		obj.Labels = old.Labels
	}
	return s
}

// validateDeployment validates a Deployment (DEP-091).
func validateDeployment(d *appsv1.Deployment) field.ErrorList {
	spec, path := &d.Spec, field.NewPath("spec")
	errs := notBelowZero(int64(*spec.Replicas), path.Child("replicas"))
	errs = append(errs, validateReplicaTemplate(spec.Selector, &spec.Template, path)...)
	strategy := path.Child("strategy")
	rolling := strategy.Child("rollingUpdate")
	// DEP-091: a strategy has its own fields only, and a rolling update must be able to change a pod.
	switch u := spec.Strategy.RollingUpdate; spec.Strategy.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if u != nil {
			errs = append(errs, field.Forbidden(rolling, "may not be specified when strategy `type` is 'Recreate'"))
		}
	case appsv1.RollingUpdateDeploymentStrategyType:
		errs = append(errs, intOrPercent(*u.MaxUnavailable, rolling.Child("maxUnavailable"))...)
		errs = append(errs, intOrPercent(*u.MaxSurge, rolling.Child("maxSurge"))...)
		if amount(*u.MaxUnavailable) == 0 && amount(*u.MaxSurge) == 0 {
			errs = append(errs, field.Invalid(rolling.Child("maxUnavailable"), *u.MaxUnavailable, "may not be 0 when `maxSurge` is 0"))
		}
		errs = append(errs, atMost100Percent(*u.MaxUnavailable, rolling.Child("maxUnavailable"))...)
	default:
		errs = append(errs, field.NotSupported(strategy, printedStrategy(string(spec.Strategy.Type), spec.Strategy.RollingUpdate), []string{"Recreate", "RollingUpdate"}))
	}
	errs = append(errs, notBelowZero(int64(spec.MinReadySeconds), path.Child("minReadySeconds"))...)
	errs = append(errs, notBelowZero(int64(*spec.RevisionHistoryLimit), path.Child("revisionHistoryLimit"))...)
	errs = append(errs, notBelowZero(int64(*spec.ProgressDeadlineSeconds), path.Child("progressDeadlineSeconds"))...)
	if *spec.ProgressDeadlineSeconds <= spec.MinReadySeconds {
		errs = append(errs, field.Invalid(path.Child("progressDeadlineSeconds"), spec.ProgressDeadlineSeconds, "must be greater than minReadySeconds"))
	}
	return errs
}

// printedStrategy returns a strategy as the API server prints it: with the names of the Go fields.
func printedStrategy(kind string, rolling *appsv1.RollingUpdateDeployment) any {
	type update struct{ MaxUnavailable, MaxSurge *intstr.IntOrString }
	strategy := struct {
		Type          string
		RollingUpdate *update
	}{Type: kind}
	if rolling != nil {
		strategy.RollingUpdate = &update{cmp.Or(rolling.MaxUnavailable, &intstr.IntOrString{}), cmp.Or(rolling.MaxSurge, &intstr.IntOrString{})}
	}
	return strategy
}

// intOrPercent requires a number that is not negative, or a percentage.
func intOrPercent(v intstr.IntOrString, path *field.Path) field.ErrorList {
	if v.Type == intstr.Int {
		return notBelowZero(int64(v.IntValue()), path)
	}
	var errs field.ErrorList
	for _, text := range validation.IsValidPercent(v.StrVal) {
		errs = append(errs, field.Invalid(path, v, text))
	}
	return errs
}

// amount returns the number, or the percentage as a number. It is 0 for text that is neither.
func amount(v intstr.IntOrString) int {
	if n, ok := percentage(v); ok {
		return n
	}
	return v.IntValue()
}

func percentage(v intstr.IntOrString) (int, bool) {
	if v.Type != intstr.String || len(validation.IsValidPercent(v.StrVal)) > 0 {
		return 0, false
	}
	n := intstr.Parse(v.StrVal[:len(v.StrVal)-1])
	return n.IntValue(), true
}

func atMost100Percent(v intstr.IntOrString, path *field.Path) field.ErrorList {
	if n, ok := percentage(v); ok && n > 100 {
		return field.ErrorList{field.Invalid(path, v, "must not be greater than 100%")}
	}
	return nil
}
