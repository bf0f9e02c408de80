package strategy

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/plain"
)

// PodDisruptionBudget adds the rules of PodDisruptionBudgets (API-352).
func PodDisruptionBudget(s Of[*plain.Object]) Of[*plain.Object] {
	s.ValidateCreate = func(obj *plain.Object) field.ErrorList { return validateBudget(obj, nil) }
	s.ValidateUpdate = validateBudget
	s.ValidateStatus = validateBudgetStatus
	return s
}

// validateBudget validates a PodDisruptionBudget; old is nil for a new one.
func validateBudget(obj, old *plain.Object) field.ErrorList {
	path := field.NewPath("spec")
	budget, err := plain.As[*policyv1.PodDisruptionBudget](obj)
	if err != nil {
		return field.ErrorList{field.Invalid(path, obj.Content()["spec"], err.Error())}
	}
	spec := &budget.Spec
	var errs field.ErrorList
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		// API-352: the server shows the spec with the names of the fields in Go.
		shown := struct {
			MinAvailable               *intstr.IntOrString
			Selector                   *metav1.LabelSelector
			MaxUnavailable             *intstr.IntOrString
			UnhealthyPodEvictionPolicy *policyv1.UnhealthyPodEvictionPolicyType
		}{spec.MinAvailable, spec.Selector, spec.MaxUnavailable, spec.UnhealthyPodEvictionPolicy}
		errs = append(errs, field.Invalid(path, shown, "minAvailable and maxUnavailable cannot be both set"))
	}
	amount := func(v *intstr.IntOrString, name string) {
		if v != nil {
			errs = append(append(errs, intOrPercent(*v, path.Child(name))...), atMost100Percent(*v, path.Child(name))...)
		}
	}
	amount(spec.MinAvailable, "minAvailable")
	amount(spec.MaxUnavailable, "maxUnavailable")
	options := metav1validation.LabelSelectorValidationOptions{}
	if old != nil {
		// API-352: a selector that was stored with a bad value can still be updated.
		was, err := plain.As[*policyv1.PodDisruptionBudget](old)
		options.AllowInvalidLabelValueInSelector = err == nil && len(metav1validation.ValidateLabelSelector(was.Spec.Selector, options, nil)) > 0
	}
	errs = append(errs, metav1validation.ValidateLabelSelector(spec.Selector, options, path.Child("selector"))...)
	if policy := spec.UnhealthyPodEvictionPolicy; policy != nil {
		errs = append(errs, OneOf(*policy, path, "unhealthyPodEvictionPolicy", []policyv1.UnhealthyPodEvictionPolicyType{policyv1.AlwaysAllow, policyv1.IfHealthyBudget})...)
	}
	return errs
}

// validateBudgetStatus requires numbers that are not negative.
func validateBudgetStatus(obj, _ *plain.Object) field.ErrorList {
	path := field.NewPath("status")
	budget, err := plain.As[*policyv1.PodDisruptionBudget](obj)
	if err != nil {
		return field.ErrorList{field.Invalid(path, obj.Content()["status"], err.Error())}
	}
	status := &budget.Status
	errs := notBelowZero(int64(status.DisruptionsAllowed), path.Child("disruptionsAllowed"))
	errs = append(errs, notBelowZero(int64(status.CurrentHealthy), path.Child("currentHealthy"))...)
	errs = append(errs, notBelowZero(int64(status.DesiredHealthy), path.Child("desiredHealthy"))...)
	return append(errs, notBelowZero(int64(status.ExpectedPods), path.Child("expectedPods"))...)
}
