package strategy

import (
	"fmt"
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxNodeIDBytes is the maximum length of the name that a driver gives a node (API-187).
const maxNodeIDBytes = 256

// CSINode is the strategy for CSINodes.
var CSINode = Of[*csiNode]{
	Shallow: func(node *csiNode) *csiNode {
		c := *node
		return &c
	},
	Encode: func(node *csiNode) {
		// API-547: empty lists are stored as null.
		if len(node.Spec.Drivers) == 0 {
			node.Spec.Drivers = nil
		}
		for i := range node.Spec.Drivers {
			if keys := node.Spec.Drivers[i].TopologyKeys; keys != nil && len(keys) == 0 {
				node.Spec.Drivers = slices.Clone(node.Spec.Drivers)
				node.Spec.Drivers[i].TopologyKeys = nil
			}
		}
	},
	ValidateCreate: func(node *csiNode) field.ErrorList {
		return validateNodeDrivers(node.Spec.Drivers, field.NewPath("spec", "drivers"))
	},
	ValidateUpdate: validateCSINodeUpdate,
	Equal: func(a, b *csiNode) bool {
		return slices.EqualFunc(a.Spec.Drivers, b.Spec.Drivers, sameNodeDriver)
	},
}

func validateNodeDrivers(drivers []storagev1.CSINodeDriver, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range drivers {
		driver, at := &drivers[i], path.Index(i)
		// API-186: the name of a driver has the syntax that volumes use.
		errs = append(errs, validateDriverName(driver.Name, at, "name")...)
		// API-187: the driver must have a name for the node.
		if driver.NodeID == "" {
			errs = append(errs, field.Required(at.Child("nodeID"), ""))
		}
		if len(driver.NodeID) > maxNodeIDBytes {
			errs = append(errs, field.Invalid(at.Child("nodeID"), driver.NodeID, fmt.Sprintf("must be %d characters or less", maxNodeIDBytes)))
		}
		// API-188: no count means no limit; zero is a limit.
		if limit := driver.Allocatable; limit != nil && limit.Count != nil && *limit.Count < 0 {
			errs = append(errs, field.Invalid(at.Child("allocatable", "count"), *limit.Count, "must be greater than or equal to 0"))
		}
		// API-186: each driver is listed once.
		if slices.ContainsFunc(drivers[:i], func(d storagev1.CSINodeDriver) bool { return d.Name == driver.Name }) {
			errs = append(errs, field.Duplicate(at.Child("name"), driver.Name))
		}
		errs = append(errs, validateTopologyKeys(driver.TopologyKeys, at)...)
	}
	return errs
}

// validateTopologyKeys validates the topology keys of a driver (API-189). All errors have the path of the driver.
func validateTopologyKeys(keys []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, key := range keys {
		if key == "" {
			errs = append(errs, field.Required(path, ""))
		}
		if slices.Contains(keys[:i], key) {
			errs = append(errs, field.Duplicate(path, key))
		}
		if !IsQualifiedName(key) {
			errs = AppendInvalid(errs, path, key, validation.IsQualifiedName(key))
		}
	}
	return errs
}

func validateCSINodeUpdate(node, old *csiNode) field.ErrorList {
	path := field.NewPath("spec", "drivers")
	errs := append(ValidateGenerateName(&node.ObjectMeta), validateNodeDrivers(node.Spec.Drivers, path)...)
	for i := range old.Spec.Drivers {
		for j := range node.Spec.Drivers {
			before, after := &old.Spec.Drivers[i], &node.Spec.Drivers[j]
			// API-234: of a driver that stays in the list, only the limit may change.
			if before.Name == after.Name && !(before.NodeID == after.NodeID && slices.Equal(before.TopologyKeys, after.TopologyKeys)) {
				shown := *after
				shown.Allocatable = nil // it may change
				errs = append(errs, field.Invalid(path, internalForm{shown}, Immutable))
			}
		}
	}
	return errs
}

func sameNodeDriver(a, b storagev1.CSINodeDriver) bool {
	if a.Name != b.Name || a.NodeID != b.NodeID || !slices.Equal(a.TopologyKeys, b.TopologyKeys) {
		return false
	}
	x, y := a.Allocatable, b.Allocatable
	return x == y || x != nil && y != nil && EqualPointers(x.Count, y.Count)
}
