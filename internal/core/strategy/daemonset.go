package strategy

import (
	"cmp"
	"maps"
	"reflect"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/plain"
)

var daemonSetRules = typedRules[*appsv1.DaemonSet]{
	defaults: func(set *appsv1.DaemonSet) {
		spec := &set.Spec
		// DS-060: a rolling update with one unavailable pod, and ten revisions.
		spec.UpdateStrategy.Type = cmp.Or(spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
		if spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
			orDefault(&spec.UpdateStrategy.RollingUpdate, &appsv1.RollingUpdateDaemonSet{})
			orDefault(&spec.UpdateStrategy.RollingUpdate.MaxUnavailable, new(intstr.FromInt32(1)))
			orDefault(&spec.UpdateStrategy.RollingUpdate.MaxSurge, new(intstr.FromInt32(0)))
		}
		orDefault(&spec.RevisionHistoryLimit, new(int32(10)))
		defaultTemplate(&spec.Template)
	},
	drop:     func(set *appsv1.DaemonSet) { dropDisabledFields(&set.Spec.Template.Spec, nil) }, // API-375
	validate: validateDaemonSet,
	validateUpdate: func(set, old *appsv1.DaemonSet) field.ErrorList {
		// DS-061: the selector is immutable.
		return selectorUnchanged(set.Spec.Selector, old.Spec.Selector)
	},
	updateFirst: true,
}

// DaemonSet adds the rules of DaemonSets.
func DaemonSet(s Of[*plain.Object]) Of[*plain.Object] {
	s = daemonSetRules.Add(s)
	complete, create, update, status := s.Defaults, s.PrepareCreate, s.PrepareUpdate, s.PrepareStatus
	s.Defaults = func(obj *plain.Object) {
		complete(obj)
		// API-455: the annotation is there before the manager of the fields is recorded.
		setTemplateGeneration(obj, templateGeneration(obj))
	}
	// DS-062: an annotation counts the changes of the template; only the server sets it.
	s.PrepareCreate = func(obj *plain.Object, now metav1.Time) {
		create(obj, now)
		setTemplateGeneration(obj, max(templateGeneration(obj), 1))
	}
	s.PrepareUpdate = func(obj, old *plain.Object) {
		update(obj, old)
		n := templateGeneration(old)
		if !reflect.DeepEqual(templateIn(obj), templateIn(old)) {
			n++
		}
		setTemplateGeneration(obj, n)
	}
	s.PrepareStatus = func(obj, old *plain.Object, now metav1.Time) {
		status(obj, old, now)
		setTemplateGeneration(obj, templateGeneration(old))
	}
	return s
}

func templateGeneration(obj *plain.Object) int64 {
	n, err := strconv.ParseInt(obj.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func setTemplateGeneration(obj *plain.Object, n int64) {
	obj.Annotations = maps.Clone(obj.Annotations)
	if obj.Annotations == nil {
		obj.Annotations = map[string]string{}
	}
	obj.Annotations[appsv1.DeprecatedTemplateGeneration] = strconv.FormatInt(n, 10)
}

// templateIn returns the pod template in the fields of a workload.
func templateIn(obj *plain.Object) any {
	spec, _ := obj.Content()["spec"].(map[string]any)
	return spec["template"]
}

// validateDaemonSet validates a set (DS-061).
func validateDaemonSet(set *appsv1.DaemonSet) field.ErrorList {
	spec, path := &set.Spec, field.NewPath("spec")
	// WORK-021: a missing selector matches no pods.
	errs := validateLabelSelector(spec.Selector, metav1validation.LabelSelectorValidationOptions{}, path.Child("selector"))
	if parsed, err := metav1.LabelSelectorAsSelector(spec.Selector); err == nil {
		errs = append(errs, unmatchedLabels(parsed, &spec.Template, path)...)
	}
	if selectsAll(spec.Selector) {
		errs = append(errs, field.Invalid(path.Child("selector"), spec.Selector, "empty selector is invalid for daemonset"))
	}
	errs = append(errs, validateTemplate(&spec.Template, path)...)
	errs = append(errs, validateAlwaysRunning(&spec.Template, "DaemonSet", path)...)
	errs = append(errs, notBelowZero(int64(spec.MinReadySeconds), path.Child("minReadySeconds"))...)
	strategy := path.Child("updateStrategy")
	rolling := strategy.Child("rollingUpdate")
	// DS-061: exactly one of maxUnavailable and maxSurge is not 0.
	switch u := spec.UpdateStrategy.RollingUpdate; spec.UpdateStrategy.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
	case appsv1.RollingUpdateDaemonSetStrategyType:
		errs = append(errs, intOrPercent(*u.MaxUnavailable, rolling.Child("maxUnavailable"))...)
		errs = append(errs, intOrPercent(*u.MaxSurge, rolling.Child("maxSurge"))...)
		errs = append(errs, atMost100Percent(*u.MaxUnavailable, rolling.Child("maxUnavailable"))...)
		errs = append(errs, atMost100Percent(*u.MaxSurge, rolling.Child("maxSurge"))...)
		switch unavailable, surge := amount(*u.MaxUnavailable) != 0, amount(*u.MaxSurge) != 0; {
		case unavailable && surge:
			errs = append(errs, field.Invalid(rolling.Child("maxSurge"), *u.MaxSurge, "may not be set when maxUnavailable is non-zero"))
		case !unavailable && !surge:
			errs = append(errs, field.Required(rolling.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0"))
		}
	default:
		errs = append(errs, field.NotSupported(strategy,
			printedStrategy(string(spec.UpdateStrategy.Type), (*appsv1.RollingUpdateDeployment)(spec.UpdateStrategy.RollingUpdate)), []string{"RollingUpdate", "OnDelete"}))
	}
	return append(errs, notBelowZero(int64(*spec.RevisionHistoryLimit), path.Child("revisionHistoryLimit"))...)
}
