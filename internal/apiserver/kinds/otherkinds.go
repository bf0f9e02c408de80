package kinds

import (
	"reflect"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/core/strategy"
)

// revisionRules are the rules of ControllerRevisions (API-543).
var revisionRules = store.KindRules{Check: func(obj, old *plain.Object) field.ErrorList {
	errs := prefixOfUpdate(obj, old)
	path, data := field.NewPath("data"), obj.Content()["data"]
	if number, _ := obj.Content()["revision"].(int64); number < 0 {
		errs = append(errs, field.Invalid(field.NewPath("revision"), number, negative))
	}
	// API-543: the data are an object, and never change.
	switch _, isObject := data.(map[string]any); {
	case old != nil:
		if !reflect.DeepEqual(data, old.Content()["data"]) {
			errs = append(errs, field.Invalid(path, data, strategy.Immutable))
		}
	case data == nil:
		errs = append(errs, field.Required(path, "data is mandatory"))
	case !isObject:
		errs = append(errs, field.Required(path, "data must be a valid JSON object"))
	}
	return errs
}}

// leaseRules are the rules of Leases (API-544).
var leaseRules = store.KindRules{Check: func(obj, _ *plain.Object) field.ErrorList {
	lease, err := plain.As[*coordinationv1.Lease](obj)
	if err != nil {
		return nil // the body was decoded before
	}
	var errs field.ErrorList
	path := field.NewPath("spec")
	// API-544: a lease lasts for some time, and has passed on no fewer than 0 times.
	if n := lease.Spec.LeaseDurationSeconds; n != nil && *n <= 0 {
		errs = append(errs, field.Invalid(path.Child("leaseDurationSeconds"), *n, "must be greater than 0"))
	}
	if n := lease.Spec.LeaseTransitions; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(path.Child("leaseTransitions"), *n, negative))
	}
	return errs
}}

// checkQuotaStatus validates the amounts in the status of a quota (QUO-002).
func checkQuotaStatus(c *statusErrors, quota, _ *corev1.ResourceQuota) {
	c.add(strategy.QuotaAmounts(quota.Status.Hard, c.path.Child("hard"))...)
	c.add(strategy.QuotaAmounts(quota.Status.Used, c.path.Child("used"))...)
}

// prefixOfUpdate validates the generateName of an update (API-042). The store validates that of a new object.
func prefixOfUpdate(obj, old *plain.Object) field.ErrorList {
	if old == nil {
		return nil
	}
	return strategy.ValidateGenerateName(&obj.ObjectMeta)
}
