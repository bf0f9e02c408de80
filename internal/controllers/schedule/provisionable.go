package schedule

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// noProvisioner is the provisioner of classes whose volumes an administrator creates (SCHED-004).
const noProvisioner = "kubernetes.io/no-provisioner"

// provisionable returns why volumes for the claims cannot be provisioned for the node, "" if they can. The first claim that cannot decides
// (SCHED-100 to SCHED-107).
func (c *cycle) provisionable(claims []*corev1.PersistentVolumeClaim, node *corev1.Node) (why string, err error) {
	// SCHED-107: each claim is checked alone, even if all together need more space.
	for _, claim := range claims {
		name := objects.ClassOf(claim)
		if name == "" {
			// SCHED-101: without a class there is no provisioner.
			return "", fmt.Errorf("no class for claim %q", api.KeyOf(claim))
		}
		class, ok := c.look.class(name)
		if !ok {
			// SCHED-101: the class does not exist.
			return "", fmt.Errorf("failed to find storage class %q", name)
		}
		switch {
		case class.Provisioner == "", class.Provisioner == noProvisioner:
			// SCHED-102, SCHED-004: the class provisions no volumes.
			return reasonBindConflict, nil
		case !TopologyAllows(class, node):
			// SCHED-103: the class does not allow the topology of the node.
			return reasonBindConflict, nil
		case !c.hasSpace(class, claim, node):
			// SCHED-106: the driver reports no capacity that is large enough.
			return reasonSpace, nil
		}
	}
	return "", nil
}

// TopologyAllows reports whether a class may provision for a node (SCHED-103).
func TopologyAllows(class *storagev1.StorageClass, node *corev1.Node) bool {
	// SCHED-103: an empty list allows all nodes, a term without expressions none.
	return len(class.AllowedTopologies) == 0 || slices.ContainsFunc(class.AllowedTopologies, func(term corev1.TopologySelectorTerm) bool {
		return len(term.MatchLabelExpressions) > 0 &&
			!slices.ContainsFunc(term.MatchLabelExpressions, func(r corev1.TopologySelectorLabelRequirement) bool {
				value, ok := node.Labels[r.Key]
				return !ok || !slices.Contains(r.Values, value)
			})
	})
}

// hasSpace reports whether the driver reports enough capacity for the claim in a topology of the node (SCHED-104, SCHED-105).
func (c *cycle) hasSpace(class *storagev1.StorageClass, claim *corev1.PersistentVolumeClaim, node *corev1.Node) bool {
	request, asked := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	driver, ok := c.look.driver(class.Provisioner)
	// SCHED-104: drivers without spec.storageCapacity do not report capacity.
	if !asked || !ok || driver.Spec.StorageCapacity == nil || !*driver.Spec.StorageCapacity {
		return true
	}
	// SCHED-105: the namespace of a CSIStorageCapacity does not matter.
	return slices.ContainsFunc(c.look.capacities(class.Name), func(capacity *storagev1.CSIStorageCapacity) bool {
		limit := limitOf(capacity)
		return limit != nil && limit.Value() >= request.Value() && reaches(capacity, node)
	})
}

// limitOf returns the size up to which volumes fit into the capacity, nil if it has none (SCHED-105).
func limitOf(capacity *storagev1.CSIStorageCapacity) *resource.Quantity {
	// SCHED-105: maximumVolumeSize precedes capacity.
	if capacity.MaximumVolumeSize != nil {
		return capacity.MaximumVolumeSize
	}
	return capacity.Capacity
}

// reaches reports whether the capacity is available to the node (SCHED-105).
func reaches(capacity *storagev1.CSIStorageCapacity, node *corev1.Node) bool {
	// SCHED-105: without a topology no node matches, with an empty one every node does.
	selector, err := metav1.LabelSelectorAsSelector(capacity.NodeTopology)
	return err == nil && selector.Matches(labels.Set(node.Labels))
}
