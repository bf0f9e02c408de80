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

// noProvisioner is the provisioner of classes whose volumes are made by hand (SCHED-004).
const noProvisioner = "kubernetes.io/no-provisioner"

// provisionable reports why volumes for the claims cannot be provisioned on the node, "" if they can. The first claim for which it
// is so decides (SCHED-100 to SCHED-107).
func (c *cycle) provisionable(claims []*corev1.PersistentVolumeClaim, node *corev1.Node) (why string, err error) {
	// SCHED-107: claim by claim, each as if it were alone.
	for _, claim := range claims {
		name := objects.ClassOf(claim)
		if name == "" {
			// SCHED-101
			return "", fmt.Errorf("no class for claim %q", api.KeyOf(claim))
		}
		class, ok := c.look.class(name)
		if !ok {
			// SCHED-101
			return "", fmt.Errorf("failed to find storage class %q", name)
		}
		switch {
		case class.Provisioner == "", class.Provisioner == noProvisioner:
			// SCHED-102, SCHED-004
			return reasonBindConflict, nil
		case !topologyAllows(class, node):
			// SCHED-103
			return reasonBindConflict, nil
		case !c.hasSpace(class, claim, node):
			// SCHED-106
			return reasonSpace, nil
		}
	}
	return "", nil
}

// topologyAllows reports whether a class may provision for a node (SCHED-103).
func topologyAllows(class *storagev1.StorageClass, node *corev1.Node) bool {
	// SCHED-103: no list allows all nodes, but a term without expressions none.
	return len(class.AllowedTopologies) == 0 || slices.ContainsFunc(class.AllowedTopologies, func(term corev1.TopologySelectorTerm) bool {
		return len(term.MatchLabelExpressions) > 0 && !slices.ContainsFunc(term.MatchLabelExpressions, func(r corev1.TopologySelectorLabelRequirement) bool {
			value, ok := node.Labels[r.Key]
			return !ok || !slices.Contains(r.Values, value)
		})
	})
}

// hasSpace reports whether the driver says that it has room for the claim where the node can reach it (SCHED-104, SCHED-105).
func (c *cycle) hasSpace(class *storagev1.StorageClass, claim *corev1.PersistentVolumeClaim, node *corev1.Node) bool {
	request, asked := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	driver, ok := c.look.driver(class.Provisioner)
	// SCHED-104: only drivers that say so report their capacity.
	if !asked || !ok || driver.Spec.StorageCapacity == nil || !*driver.Spec.StorageCapacity {
		return true
	}
	// SCHED-105: in any namespace.
	return slices.ContainsFunc(c.look.capacities(class.Name), func(capacity *storagev1.CSIStorageCapacity) bool {
		limit := limitOf(capacity)
		return limit != nil && limit.Value() >= request.Value() && reaches(capacity, node)
	})
}

// limitOf is the size up to which volumes fit into the capacity, nil if it does not say (SCHED-105).
func limitOf(capacity *storagev1.CSIStorageCapacity) *resource.Quantity {
	// SCHED-105
	if capacity.MaximumVolumeSize != nil {
		return capacity.MaximumVolumeSize
	}
	return capacity.Capacity
}

// reaches reports whether the capacity is there for the node (SCHED-105).
func reaches(capacity *storagev1.CSIStorageCapacity, node *corev1.Node) bool {
	// SCHED-105: no topology is nowhere, an empty one is everywhere.
	selector, err := metav1.LabelSelectorAsSelector(capacity.NodeTopology)
	return err == nil && selector.Matches(labels.Set(node.Labels))
}
