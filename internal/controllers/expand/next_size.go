package expand

import (
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/internal/core/objects"
)

// Step is the next step for a claim whose request is larger than its capacity (EXP-030).
type Step struct {
	// Size is the size to expand the volume to.
	Size apiresource.Quantity
	// Stop: there is nothing to do now.
	Stop bool
	// NodeOnly: only the node has to try again, without a call to the plugin (EXP-023).
	NodeOnly bool
}

// InTreeSize returns the next step of the expand controller for a volume of an in-tree plugin (EXP-030). It reads its arguments only.
func InTreeSize(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) Step {
	s := sizesOf(claim, pv)
	// EXP-030: the column of in-tree plugins.
	switch objects.ResizeStatus(claim) {
	case corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress:
		return Step{Size: s.allocated, Stop: !s.smaller}
	case corev1.PersistentVolumeClaimNodeResizeInfeasible:
		return Step{Size: s.allocated, NodeOnly: !s.smaller}
	case corev1.PersistentVolumeClaimControllerResizeInProgress:
		return Step{Size: s.allocated}
	}
	if s.smaller {
		return Step{Size: s.request}
	}
	return Step{Size: s.allocated}
}

// ResizerSize returns the next step of the external-resizer (EXP-030). failed: the last call to the driver had a final error; canExpand:
// the driver expands in the controller, not only on nodes. It reads its arguments only.
func ResizerSize(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume, failed, canExpand bool) Step {
	s := sizesOf(claim, pv)
	if s.smaller {
		return s.smallerStep(objects.ResizeStatus(claim), failed)
	}
	// EXP-030: the column of CSI drivers, where the volume is large enough.
	switch objects.ResizeStatus(claim) {
	case corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress:
		return Step{Stop: true}
	case corev1.PersistentVolumeClaimNodeResizeInfeasible:
		if !canExpand {
			return Step{Size: s.request}
		}
		return Step{Size: s.allocated}
	case "":
		if !s.isAllocated && objects.HasCondition(claim, corev1.PersistentVolumeClaimFileSystemResizePending) {
			return Step{Stop: true}
		}
	}
	return Step{Size: s.allocated}
}

// smallerStep returns the step for a volume that is smaller than the request (EXP-030, column of CSI drivers).
func (s sizes) smallerStep(status corev1.ClaimResourceStatus, failed bool) Step {
	// EXP-030: the status decides.
	switch status {
	case corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress:
		// The node finishes the current expansion before a larger one begins.
		return Step{Size: s.allocated, Stop: s.volume.Cmp(s.allocated) >= 0}
	case corev1.PersistentVolumeClaimNodeResizeInfeasible:
		return Step{Size: s.allocated}
	case corev1.PersistentVolumeClaimControllerResizeInProgress:
		// The driver may still be working on it, unless it has reported a final error.
		if !failed {
			return Step{Size: s.allocated}
		}
	}
	return Step{Size: s.request}
}

// sizes are the sizes that EXP-030 compares.
type sizes struct {
	request, volume apiresource.Quantity
	allocated       apiresource.Quantity // the request if there is none
	isAllocated     bool
	smaller         bool // the volume than the request
}

func sizesOf(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) sizes {
	s := sizes{request: requestOf(claim), volume: pv.Spec.Capacity[corev1.ResourceStorage]}
	s.allocated, s.isAllocated = objects.Allocated(claim)
	if !s.isAllocated {
		s.allocated = s.request
	}
	s.smaller = s.volume.Cmp(s.request) < 0
	return s
}

func requestOf(claim *corev1.PersistentVolumeClaim) apiresource.Quantity {
	return claim.Spec.Resources.Requests[corev1.ResourceStorage]
}

func capacityOf(claim *corev1.PersistentVolumeClaim) apiresource.Quantity {
	return claim.Status.Capacity[corev1.ResourceStorage]
}

// wantsMore reports whether the claim asks for more than it has.
func wantsMore(claim *corev1.PersistentVolumeClaim) bool {
	request := requestOf(claim)
	return request.Cmp(capacityOf(claim)) > 0
}

// hasAll reports whether the capacity of the claim is that of the volume.
func hasAll(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) bool {
	capacity := capacityOf(claim)
	return capacity.Cmp(pv.Spec.Capacity[corev1.ResourceStorage]) >= 0
}

// isBoundTo reports whether the volume is bound to this claim. Namespace and uid count, the name does not.
func isBoundTo(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) bool {
	ref := pv.Spec.ClaimRef
	return ref != nil && ref.Namespace == claim.Namespace && ref.UID == claim.UID
}

// hasPreResize reports whether the volume has the annotation with its capacity before an expansion.
func hasPreResize(pv *corev1.PersistentVolume) bool {
	_, ok := pv.Annotations[objects.AnnPreResizeCapacity]
	return ok
}
