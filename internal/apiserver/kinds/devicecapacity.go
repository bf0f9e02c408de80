package kinds

import (
	"fmt"
	"regexp"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/strategy"
)

var semanticVersion = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`)

// checkAttribute requires one value of an attribute of a device (API-582).
func checkAttribute(a *resourcev1.DeviceAttribute, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if at := path.Child("string"); a.StringValue != nil {
		errs = append(errs, checkValueLength(*a.StringValue, at)...)
	}
	if at := path.Child("version"); a.VersionValue != nil {
		if !semanticVersion.MatchString(*a.VersionValue) {
			errs = append(errs, field.Invalid(at, *a.VersionValue, "must be a string compatible with semver.org spec 2.0.0"))
		}
		errs = append(errs, checkValueLength(*a.VersionValue, at)...)
	}
	set := 0
	for _, has := range []bool{a.BoolValue != nil, a.IntValue != nil, a.StringValue != nil, a.VersionValue != nil} {
		if has {
			set++
		}
	}
	const one = "exactly one value must be specified"
	switch set {
	case 0:
		errs = append(errs, field.Invalid(path, "", one))
	case 1:
	default:
		errs = append(errs, field.Invalid(path, strategy.InternalForm(a), one))
	}
	return errs
}

func checkValueLength(value string, path *field.Path) field.ErrorList {
	if len(value) > resourcev1.DeviceAttributeMaxValueLength {
		return field.ErrorList{field.TooLong(path, "", resourcev1.DeviceAttributeMaxValueLength)}
	}
	return nil
}

// checkRequestPolicy validates how much of a capacity one claim can have (API-582).
func checkRequestPolicy(policy *resourcev1.CapacityRequestPolicy, capacity *resource.Quantity, path *field.Path) field.ErrorList {
	values, within := policy.ValidValues, policy.ValidRange
	var kind string
	switch {
	case len(values) > 0 && within != nil:
		return field.ErrorList{field.Forbidden(path, `exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`)}
	case len(values) > 0:
		kind = "validValues"
	case within != nil:
		kind = "validRange"
	default:
		return nil
	}
	at := path.Child(kind)
	switch {
	case policy.Default == nil:
		return field.ErrorList{field.Required(path.Child("default"), "required when "+kind+" is defined")}
	case within != nil:
		return checkCapacityRange(within, policy.Default, capacity, at)
	}
	return checkCapacityValues(values, policy.Default, capacity, at)
}

// maxCapacityValues is how many values a policy lists at most.
const maxCapacityValues = 10

func checkCapacityValues(values []resource.Quantity, byDefault, capacity *resource.Quantity, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := 1; i < len(values); i++ {
		if values[i-1].Cmp(values[i]) > 0 {
			errs = append(errs, field.Invalid(path.Index(i), values[i].String(), "values must be sorted in ascending order"))
		}
	}
	found := false
	errs = append(errs, eachDistinct(values, maxCapacityValues, path,
		func(q *resource.Quantity) string { return fmt.Sprint(q.Value()) },
		func(q *resource.Quantity, path *field.Path) field.ErrorList {
			found = found || q.Cmp(*byDefault) == 0
			if q.Cmp(*capacity) <= 0 {
				return nil
			}
			return field.ErrorList{field.Invalid(path, q.String(), "option is larger than capacity value: "+capacity.String())}
		})...)
	if !found {
		errs = append(errs, field.Invalid(path, byDefault.String(), "default value is not valid according to the requestPolicy"))
	}
	return errs
}

func checkCapacityRange(r *resourcev1.CapacityRequestPolicyRange, byDefault, capacity *resource.Quantity, path *field.Path) field.ErrorList {
	if r.Min == nil {
		return field.ErrorList{field.Required(path.Child("min"), "required when validRange is defined")}
	}
	var errs field.ErrorList
	notAbove := func(a, b *resource.Quantity, child string, shown *resource.Quantity, what string, limit *resource.Quantity) {
		if a.Cmp(*b) > 0 {
			errs = append(errs, field.Invalid(path.Child(child), shown.String(), what+": "+limit.String()))
		}
	}
	notAbove(r.Min, capacity, "min", r.Min, "min is larger than capacity value", capacity)
	notAbove(r.Min, byDefault, "min", byDefault, "default is less than min", r.Min)
	if r.Max != nil {
		notAbove(r.Min, r.Max, "max", r.Min, "min is larger than max", r.Max)
		notAbove(r.Max, capacity, "max", r.Max, "max is larger than capacity value", capacity)
		notAbove(byDefault, r.Max, "max", byDefault, "default is more than max", r.Max)
	}
	if r.Step == nil {
		return errs
	}
	second := r.Min.DeepCopy()
	second.Add(*r.Step)
	notAbove(&second, capacity, "step", r.Step, fmt.Sprintf("one step %s is larger than capacity value", second.String()), capacity)
	for _, q := range []*resource.Quantity{byDefault, r.Max} {
		if q == nil {
			continue
		}
		// SIM: no value is a multiple of 0, with which Kubernetes panics.
		if step := r.Step.Value(); step == 0 || (q.Value()-r.Min.Value())%step != 0 {
			errs = append(errs, field.Invalid(path.Child("step"), q.String(), fmt.Sprintf("value is not a multiple of a given step (%s) from (%s)", r.Step.String(), r.Min.String())))
		}
	}
	return errs
}
