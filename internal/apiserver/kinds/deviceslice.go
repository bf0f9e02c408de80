package kinds

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/core/strategy"
)

// sliceRules are the rules of ResourceSlices (API-582).
func (c Surroundings) sliceRules() store.KindRules {
	return store.KindRules{
		Default: func(obj *plain.Object) { typedDefault(obj, c.completeSlice) },
		PrepareCreate: func(obj *plain.Object) {
			typedDefault(obj, func(slice *resourcev1.ResourceSlice) { dropDisabled(slice) })
		},
		PrepareUpdate: func(obj, old *plain.Object) {
			raise := false
			typedDefault(obj, func(slice *resourcev1.ResourceSlice) {
				// API-584: Kubernetes compares before it drops.
				raise = dropDisabled(slice) && apiequality.Semantic.DeepEqual(slice.Spec, plain.Shared[*resourcev1.ResourceSlice](old).Spec)
			})
			if raise {
				obj.Generation++
			}
		},
		Check: func(obj, old *plain.Object) field.ErrorList {
			slice, err := plain.As[*resourcev1.ResourceSlice](obj)
			if err != nil {
				return nil // the body was decoded before
			}
			s := sliceCheck{spec: &slice.Spec, path: field.NewPath("spec")}
			if old != nil {
				s.old = &plain.Shared[*resourcev1.ResourceSlice](old).Spec
			}
			return s.check()
		},
		Warn: typedWarn(func(slice, _ *resourcev1.ResourceSlice) []string {
			if name := slice.Spec.Driver; name != strings.ToLower(name) {
				return []string{fmt.Sprintf("spec.driver: driver names should be lowercase; %q contains uppercase characters", name)}
			}
			return nil
		}),
	}
}

// completeSlice sets when devices were tainted.
func (c Surroundings) completeSlice(slice *resourcev1.ResourceSlice) {
	for i := range slice.Spec.Devices {
		device := &slice.Spec.Devices[i]
		for j := range device.Taints {
			if t := &device.Taints[j]; t.TimeAdded == nil {
				t.TimeAdded = strategy.WholeSecond(new(metav1.NewTime(c.Now())))
			}
		}
	}
}

// dropDisabled drops fields that are behind gates that are off (API-584), and reports whether there were any.
func dropDisabled(slice *resourcev1.ResourceSlice) (dropped bool) {
	for i := range slice.Spec.Devices {
		device := &slice.Spec.Devices[i]
		dropped = dropped || len(device.NodeAllocatableResourceMappings) > 0
		device.NodeAllocatableResourceMappings = nil
		for name, a := range device.Attributes {
			dropped = dropped || a.IntValues != nil || a.BoolValues != nil || a.StringValues != nil || a.VersionValues != nil
			a.IntValues, a.BoolValues, a.StringValues, a.VersionValues = nil, nil, nil, nil
			device.Attributes[name] = a
		}
	}
	return dropped
}

// sliceCheck validates the spec of a slice.
type sliceCheck struct {
	spec, old *resourcev1.ResourceSliceSpec
	path      *field.Path
}

func (s sliceCheck) check() field.ErrorList {
	spec, path := s.spec, s.path
	errs := append(strategy.DriverName(spec.Driver, path.Child("driver")), checkPool(&spec.Pool, path.Child("pool"))...)
	if old := s.old; old != nil {
		// API-582: a slice stays with its driver, its pool and its node.
		errs = append(errs, fixed(&spec.Pool.Name, &old.Pool.Name, path.Child("pool", "name"))...)
		errs = append(errs, fixed(&spec.Driver, &old.Driver, path.Child("driver"))...)
		errs = append(errs, fixed(&spec.NodeName, &old.NodeName, path.Child("nodeName"))...)
	}
	errs = append(errs, s.checkNodes()...)
	if spec.SharedCounters != nil && spec.Devices != nil {
		errs = append(errs, field.Invalid(path, "", "only one of `sharedCounters` or `devices` is allowed"))
	}
	limit := resourcev1.ResourceSliceMaxDevices
	if slices.ContainsFunc(spec.Devices, func(d resourcev1.Device) bool { return len(d.Taints) > 0 || len(d.ConsumesCounters) > 0 }) {
		limit = resourcev1.ResourceSliceMaxDevicesWithAdvancedFeatures
	}
	errs = append(errs, eachDistinct(spec.Devices, limit, path.Child("devices"), func(d *resourcev1.Device) string { return d.Name }, s.checkDevice)...)
	return append(errs, eachDistinct(spec.SharedCounters, resourcev1.ResourceSliceMaxCounterSets, path.Child("sharedCounters"),
		func(set *resourcev1.CounterSet) string { return set.Name },
		func(set *resourcev1.CounterSet, path *field.Path) field.ErrorList {
			return checkCounters("name", set.Name, set.Counters, path)
		})...)
}

func checkPool(pool *resourcev1.ResourcePool, path *field.Path) field.ErrorList {
	errs := checkPoolName(pool.Name, path.Child("name"))
	if n := pool.ResourceSliceCount; n <= 0 {
		errs = append(errs, field.Invalid(path.Child("resourceSliceCount"), n, "must be greater than zero"))
	}
	if n := pool.Generation; n < 0 {
		errs = append(errs, field.Invalid(path.Child("generation"), n, "must be greater than or equal to zero"))
	}
	return errs
}

// nodeChoice collects the fields of which exactly one says from which nodes devices can be reached.
type nodeChoice struct {
	path *field.Path
	set  []string
	errs field.ErrorList
}

func (c *nodeChoice) name(name *string, empty string) {
	at := c.path.Child("nodeName")
	switch {
	case name == nil:
	case *name == "":
		c.errs = append(c.errs, field.Invalid(at, *name, empty))
	default:
		c.set = append(c.set, "`nodeName`")
		c.errs = strategy.AppendInvalid(c.errs, at, *name, utilvalidation.IsDNS1123Subdomain(*name))
	}
}

func (c *nodeChoice) selector(selector *corev1.NodeSelector) {
	if selector != nil {
		c.set = append(c.set, "`nodeSelector`")
		c.errs = append(c.errs, strategy.NodeSelector(selector, c.path.Child("nodeSelector"))...)
	}
}

func (c *nodeChoice) flag(name string, flag *bool) {
	switch {
	case flag == nil:
	case *flag:
		c.set = append(c.set, "`"+name+"`")
	default:
		c.errs = append(c.errs, field.Invalid(c.path.Child(name), false, "must be either unset or set to true"))
	}
}

// end adds what is wrong with the number of fields. ask says which one is required.
func (c *nodeChoice) end(ask, more string) field.ErrorList {
	switch len(c.set) {
	case 0:
		c.errs = append(c.errs, field.Required(c.path, ask))
	case 1:
	default:
		c.errs = append(c.errs, field.Invalid(c.path, "{"+strings.Join(c.set, ", ")+"}", more))
	}
	return c.errs
}

func (s sliceCheck) checkNodes() field.ErrorList {
	c := nodeChoice{path: s.path}
	c.name(s.spec.NodeName, "must be either unset or set to a non-empty string")
	c.selector(s.spec.NodeSelector)
	if selector := s.spec.NodeSelector; selector != nil && len(selector.NodeSelectorTerms) != 1 {
		c.errs = append(c.errs, field.Invalid(s.path.Child("nodeSelector", "nodeSelectorTerms"), strategy.InternalForm(selector.NodeSelectorTerms), "must have exactly one node selector term"))
	}
	c.flag("allNodes", s.spec.AllNodes)
	c.flag("perDeviceNodeSelection", s.spec.PerDeviceNodeSelection)
	const ask = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
	return c.end(ask, ask+", but multiple fields are set")
}

// checkDeviceNodes validates from which nodes one device can be reached.
func (s sliceCheck) checkDeviceNodes(d *resourcev1.Device, path *field.Path) field.ErrorList {
	if own := s.spec.PerDeviceNodeSelection; own == nil || !*own {
		if d.NodeName == nil && d.NodeSelector == nil && d.AllNodes == nil {
			return nil
		}
		return field.ErrorList{field.Invalid(path, nil, "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec")}
	}
	c := nodeChoice{path: path}
	c.name(d.NodeName, "must not be empty")
	c.selector(d.NodeSelector)
	c.flag("allNodes", d.AllNodes)
	const ask = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
	return c.end(ask, ask)
}

func (s sliceCheck) checkDevice(d *resourcev1.Device, path *field.Path) field.ErrorList {
	errs := checkLabel(d.Name, path.Child("name"))
	for _, count := range []struct {
		of       string
		n, limit int
	}{
		{"attributes and capacities", len(d.Attributes) + len(d.Capacity), resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice},
		{"attribute values", len(d.Attributes), resourcev1.ResourceSliceMaxAttributeValuesPerDevice},
	} {
		if count.n > count.limit {
			errs = append(errs, field.Invalid(path, count.n, fmt.Sprintf("the total number of %s must not exceed %d", count.of, count.limit)))
		}
	}
	errs = append(errs, eachNamed(d.Attributes, path.Child("attributes"), checkAttribute)...)
	shared := d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations
	errs = append(errs, eachNamed(d.Capacity, path.Child("capacity"), func(capacity *resourcev1.DeviceCapacity, path *field.Path) field.ErrorList {
		path = path.Child("requestPolicy")
		switch {
		case capacity.RequestPolicy == nil:
			return nil
		case !shared:
			return field.ErrorList{field.Forbidden(path, "allowMultipleAllocations must be true")}
		}
		return checkRequestPolicy(capacity.RequestPolicy, &capacity.Value, path)
	})...)
	if !s.sameTaints(d) {
		errs = append(errs, eachOf(d.Taints, resourcev1.DeviceTaintsMaxLength, path.Child("taints"), checkDeviceTaint)...)
	}
	errs = append(errs, eachDistinct(d.ConsumesCounters, resourcev1.ResourceSliceMaxDeviceCounterConsumptionsPerDevice, path.Child("consumesCounters"),
		func(c *resourcev1.DeviceCounterConsumption) string { return c.CounterSet },
		func(c *resourcev1.DeviceCounterConsumption, path *field.Path) field.ErrorList {
			return checkCounters("counterSet", c.CounterSet, c.Counters, path)
		})...)
	errs = append(errs, s.checkDeviceNodes(d, path)...)
	return append(errs, checkBindingConditions(d.BindingConditions, d.BindingFailureConditions, path)...)
}

// sameTaints reports whether a device had these taints before.
func (s sliceCheck) sameTaints(d *resourcev1.Device) bool {
	if s.old == nil {
		return false
	}
	i := slices.IndexFunc(s.old.Devices, func(o resourcev1.Device) bool { return o.Name == d.Name })
	return i >= 0 && apiequality.Semantic.DeepEqual(s.old.Devices[i].Taints, d.Taints)
}

func checkDeviceTaint(t *resourcev1.DeviceTaint, path *field.Path) field.ErrorList {
	errs := strategy.LabelKey(t.Key, path, "key")
	errs = strategy.AppendInvalid(errs, path.Child("value"), t.Value, utilvalidation.IsValidLabelValue(t.Value))
	return append(errs, strategy.RequiredAt(t.Effect, path.Child("effect"), deviceEffects)...)
}

// eachNamed checks the attributes or the capacities of a device. Long names are shown in part.
func eachNamed[T any](values map[resourcev1.QualifiedName]T, path *field.Path, check func(*T, *field.Path) field.ErrorList) field.ErrorList {
	const limit = resourcev1.DeviceMaxDomainLength + 1 + resourcev1.DeviceMaxIDLength
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name, value := string(key), values[key]
		errs = append(errs, checkDeviceName(name, path)...)
		if len(name) > limit {
			const dots = "..."
			rest := limit - len(dots)
			name = name[:(rest+1)/2] + dots + name[len(name)-rest/2:]
		}
		errs = append(errs, check(&value, path.Key(name))...)
	}
	return errs
}

// checkCounters validates the name of a set, and the names of its counters.
func checkCounters(child, set string, counters map[string]resourcev1.Counter, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if at := path.Child(child); set == "" {
		errs = append(errs, field.Required(at, ""))
	} else {
		errs = append(errs, checkLabel(set, at)...)
	}
	at := path.Child("counters")
	switch n, limit := len(counters), resourcev1.ResourceSliceMaxCountersPerCounterSet; {
	case n == 0:
		return append(errs, field.Required(at, ""))
	case n > limit:
		return append(errs, field.TooMany(at, n, limit))
	}
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		errs = append(errs, checkLabel(name, at)...)
	}
	return errs
}
