package kinds

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/apiserver/expression"
	"github.com/volsim/volsim/internal/core/strategy"
)

// checkClaimedDevices validates what a new claim asks for (API-580).
func checkClaimedDevices(devices *resourcev1.DeviceClaim, path *field.Path) field.ErrorList {
	requests := requestsOf(devices)
	errs := eachDistinct(devices.Requests, resourcev1.DeviceRequestsMaxSize, path.Child("requests"), func(r *resourcev1.DeviceRequest) string { return r.Name }, checkDeviceRequest)
	errs = append(errs, eachOf(devices.Constraints, resourcev1.DeviceConstraintsMaxSize, path.Child("constraints"), requests.checkConstraint)...)
	return append(errs, eachOf(devices.Config, resourcev1.DeviceConfigMaxSize, path.Child("config"), func(config *resourcev1.DeviceClaimConfiguration, path *field.Path) field.ErrorList {
		return append(requests.check(config.Requests, path.Child("requests")), checkDeviceConfig(&config.DeviceConfiguration, false, path)...)
	})...)
}

// requestNames are the names of the requests of a claim, with those of their alternatives.
type requestNames map[string][]string

func requestsOf(devices *resourcev1.DeviceClaim) requestNames {
	names := requestNames{}
	for _, request := range devices.Requests {
		names[request.Name] = nil
		for _, sub := range request.FirstAvailable {
			names[request.Name] = append(names[request.Name], sub.Name)
		}
	}
	return names
}

func (r requestNames) check(list []string, path *field.Path) field.ErrorList {
	return eachDistinct(list, resourcev1.DeviceRequestsMaxSize, path, itself, func(name *string, path *field.Path) field.ErrorList {
		return r.checkName(*name, path)
	})
}

// checkName requires the name of a request, or of one of its alternatives: `REQUEST/ALTERNATIVE`.
func (r requestNames) checkName(name string, path *field.Path) field.ErrorList {
	unknown := field.Invalid(path, name, "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'")
	parts := strings.Split(name, "/")
	if len(parts) > 2 {
		return field.ErrorList{unknown}
	}
	var errs field.ErrorList
	for _, part := range parts {
		errs = append(errs, checkLabel(part, path)...)
	}
	if subs, ok := r[parts[0]]; !ok || len(parts) == 2 && !slices.Contains(subs, parts[1]) {
		errs = append(errs, unknown)
	}
	return errs
}

func checkLabel(name string, path *field.Path) field.ErrorList {
	return strategy.AppendInvalid(nil, path, name, utilvalidation.IsDNS1123Label(name))
}

// checkDeviceRequest requires either devices of one sort, or alternatives.
func checkDeviceRequest(request *resourcev1.DeviceRequest, path *field.Path) field.ErrorList {
	errs := checkLabel(request.Name, path.Child("name"))
	const one = "exactly one of `exactly` or `firstAvailable` is required"
	switch exact := request.Exactly; {
	case exact == nil && len(request.FirstAvailable) == 0:
		return append(errs, field.Required(path, one))
	case exact != nil && len(request.FirstAvailable) > 0:
		return append(errs, field.Invalid(path, nil, one+", but multiple fields are set"))
	case exact != nil:
		wanted := wantedDevices{exact.DeviceClassName, exact.Selectors, exact.AllocationMode, exact.Count, exact.Tolerations}
		return append(errs, wanted.check(path.Child("exactly"))...)
	}
	return append(errs, eachDistinct(request.FirstAvailable, resourcev1.FirstAvailableDeviceRequestMaxSize, path.Child("firstAvailable"),
		func(sub *resourcev1.DeviceSubRequest) string { return sub.Name },
		func(sub *resourcev1.DeviceSubRequest, path *field.Path) field.ErrorList {
			wanted := wantedDevices{sub.DeviceClassName, sub.Selectors, sub.AllocationMode, sub.Count, sub.Tolerations}
			return append(checkLabel(sub.Name, path.Child("name")), wanted.check(path)...)
		})...)
}

// wantedDevices has the fields that an exact request and a subrequest share.
type wantedDevices struct {
	class       string
	selectors   []resourcev1.DeviceSelector
	mode        resourcev1.DeviceAllocationMode
	count       int64
	tolerations []resourcev1.DeviceToleration
}

var allocationModes = []resourcev1.DeviceAllocationMode{resourcev1.DeviceAllocationModeAll, resourcev1.DeviceAllocationModeExactCount}

func (w wantedDevices) check(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if at := path.Child("deviceClassName"); w.class == "" {
		errs = append(errs, field.Required(at, ""))
	} else {
		errs = strategy.AppendInvalid(errs, at, w.class, utilvalidation.IsDNS1123Subdomain(w.class))
	}
	errs = append(errs, checkSelectors(w.selectors, false, path.Child("selectors"))...)
	at := path.Child("count")
	switch {
	case w.mode == resourcev1.DeviceAllocationModeAll && w.count != 0:
		errs = append(errs, field.Invalid(at, w.count, "must not be specified when allocationMode is 'All'"))
	case w.mode == resourcev1.DeviceAllocationModeExactCount && w.count <= 0:
		errs = append(errs, field.Invalid(at, w.count, "must be greater than zero"))
	}
	errs = append(errs, strategy.OneOf(w.mode, path, "allocationMode", allocationModes)...)
	return append(errs, eachOf(w.tolerations, -1, path.Child("tolerations"), checkDeviceToleration)...)
}

// checkSelectors validates expressions that select devices (API-579).
func checkSelectors(selectors []resourcev1.DeviceSelector, stored bool, path *field.Path) field.ErrorList {
	return eachOf(selectors, resourcev1.DeviceSelectorsMaxSize, path, func(selector *resourcev1.DeviceSelector, path *field.Path) field.ErrorList {
		at := path.Child("cel")
		if selector.CEL == nil {
			return field.ErrorList{field.Required(at, "")}
		}
		if err := expression.CheckDeviceSelector(selector.CEL.Expression, stored, at.Child("expression")); err != nil {
			return field.ErrorList{err}
		}
		return nil
	})
}

var (
	deviceOperators = []resourcev1.DeviceTolerationOperator{resourcev1.DeviceTolerationOpEqual, resourcev1.DeviceTolerationOpExists}
	deviceEffects   = []resourcev1.DeviceTaintEffect{resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNone}
)

func checkDeviceToleration(t *resourcev1.DeviceToleration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t.Key != "" {
		errs = strategy.LabelKey(t.Key, path, "key")
	}
	switch t.Operator {
	case resourcev1.DeviceTolerationOpExists:
		if t.Value != "" {
			errs = append(errs, field.Invalid(path.Child("value"), t.Value, "must be empty for operator `Exists`"))
		}
	case resourcev1.DeviceTolerationOpEqual:
		errs = strategy.AppendInvalid(errs, path.Child("value"), t.Value, utilvalidation.IsValidLabelValue(t.Value))
	default:
		errs = append(errs, strategy.RequiredAt(t.Operator, path.Child("operator"), deviceOperators)...)
	}
	if t.Effect != "" {
		errs = append(errs, strategy.OneOf(t.Effect, path, "effect", deviceEffects)...)
	}
	return errs
}

// checkConstraint validates what devices of several requests have in common, or in what they differ.
func (r requestNames) checkConstraint(c *resourcev1.DeviceConstraint, path *field.Path) field.ErrorList {
	errs := r.check(c.Requests, path.Child("requests"))
	switch {
	case c.MatchAttribute != nil:
		return append(errs, checkAttributeName(string(*c.MatchAttribute), path.Child("matchAttribute"))...)
	case c.DistinctAttribute != nil:
		return append(errs, checkAttributeName(string(*c.DistinctAttribute), path.Child("distinctAttribute"))...)
	}
	return append(errs, field.Required(path, `exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`))
}

func checkAttributeName(name string, path *field.Path) field.ErrorList {
	errs := checkDeviceName(name, path)
	if !strings.Contains(name, "/") {
		errs = append(errs, field.Invalid(path, name, "a fully qualified name must be a domain and a name separated by a slash"))
	}
	return errs
}

// checkDeviceName validates the name of an attribute or a capacity: an identifier, with or without a domain.
func checkDeviceName(name string, path *field.Path) field.ErrorList {
	domain, id, ok := strings.Cut(name, "/")
	switch {
	case !ok:
		return checkIdentifier(name, path)
	case strings.Contains(id, "/"):
		return nil // Kubernetes does not look at it
	}
	var errs field.ErrorList
	if domain == "" {
		errs = append(errs, field.Invalid(path, "", "the domain must not be empty"))
	} else {
		errs = append(errs, strategy.DriverName(domain, path)...)
	}
	if id == "" {
		return append(errs, field.Invalid(path, "", "the name must not be empty"))
	}
	return append(errs, checkIdentifier(id, path)...)
}

func checkIdentifier(id string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(id) > resourcev1.DeviceMaxIDLength {
		errs = append(errs, field.TooLong(path, "", resourcev1.DeviceMaxIDLength))
	}
	return strategy.AppendInvalid(errs, path, id, utilvalidation.IsCIdentifier(id))
}

// checkDeviceConfig validates parameters for a driver. stored says that they were valid before.
func checkDeviceConfig(config *resourcev1.DeviceConfiguration, stored bool, path *field.Path) field.ErrorList {
	path = path.Child("opaque")
	if config.Opaque == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	limit := resourcev1.OpaqueParametersMaxLength
	if stored {
		limit = len(config.Opaque.Parameters.Raw)
	}
	return append(strategy.DriverName(config.Opaque.Driver, path.Child("driver")), checkDeviceData(config.Opaque.Parameters.Raw, limit, path.Child("parameters"))...)
}

// checkDeviceData requires an object of at most so many bytes.
func checkDeviceData(data []byte, limit int, path *field.Path) field.ErrorList {
	var value any
	switch err := json.Unmarshal(data, &value); {
	case len(data) == 0:
		return field.ErrorList{field.Required(path, "")}
	case len(data) > limit:
		return field.ErrorList{field.TooLong(path, "", limit)}
	case err != nil:
		return field.ErrorList{field.Invalid(path, "<value omitted>", fmt.Sprintf("error parsing data as JSON: %v", err))}
	case value == nil:
		return field.ErrorList{field.Required(path, "")}
	}
	if _, ok := value.(map[string]any); !ok {
		return field.ErrorList{field.Invalid(path, "<value omitted>", "must be a valid JSON object")}
	}
	return nil
}
