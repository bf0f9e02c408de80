package mount

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// errNotInStatus is the error of a verification when the node's status does not list the volume (MNT-175).
var errNotInStatus = errors.New("Volume not attached according to node status")

// verifyVolume starts to verify that a volume which is new on the node is attached (MNT-174).
func (op *operations) verifyVolume(p *engine.Process, pr volumes.DesiredPair) {
	name := pr.Volume.Name
	if pr.Volume.Attachable {
		if !pr.Volume.ReportedInUse {
			// MNT-173, MNT-174, MNT-909: the node reports the volume in use before it verifies that it is attached.
			return
		}
		if op.k.object != nil && !attachedTo(op.k.object, name) {
			// MNT-174, MNT-909: a change of the Node requests the next pass.
			return
		}
	}
	snapshot := *pr.Volume
	spec, pod := pr.Pod.Spec, pr.Pod.Pod
	if p.Tracing() {
		p.Decide("MNT-174", pod, "verifies that volume %s is attached", name)
	}
	// MNT-150, MNT-159: the operation is on the volume as a whole, and uses the desired state as it is now.
	op.start(volumeKey(name), opVerify, pod, func(p *engine.Process) error {
		op.k.log.verifyStarted(name, spec, pod)
		return op.verifyAttached(p, snapshot, spec, pod)
	})
}

// verifyAttached runs the operation (MNT-175). Its errors emit no Events (MNT-176).
func (op *operations) verifyAttached(p *engine.Process, v volumes.DesiredVolume, spec *volumes.Spec, pod *corev1.Pod) error {
	size := int64(0)
	if av, ok := op.k.actual.Volume(v.Name); spec.PV != nil && spec.PV.Spec.ClaimRef != nil && (!ok || av.Size == 0) {
		// MNT-175: the size of the claim is read live.
		claim, err := op.k.getClaim(p, api.Key(spec.PV.Spec.ClaimRef.Namespace, spec.PV.Spec.ClaimRef.Name))
		if err != nil {
			return fmt.Errorf("VerifyControllerAttachedVolume.FetchPVC failed for volume %q : %v", spec.Name(), err)
		}
		size = claimSize(claim)
	}
	if !v.Attachable {
		// MNT-175: a volume that is not attachable counts as attached.
		op.recordAttached(v, spec, "", size)
		return nil
	}
	if !v.ReportedInUse {
		// MNT-175: the value at the start of the operation counts.
		return fmt.Errorf("VerifyControllerAttachedVolume failed for volume %q : Volume has not been added to the list of VolumesInUse in the node's volume status", spec.Name())
	}
	node, err := op.k.getNode(p)
	if err != nil {
		return fmt.Errorf("VerifyControllerAttachedVolume failed fetching node from API server for volume %q : %v", spec.Name(), err)
	}
	at := slices.IndexFunc(node.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == v.Name })
	if at < 0 {
		// MNT-175, MNT-909: the watched Node was out of date.
		return fmt.Errorf("VerifyControllerAttachedVolume failed for volume %q : %w", spec.Name(), errNotInStatus)
	}
	op.recordAttached(v, spec, node.Status.VolumesAttached[at].DevicePath, size)
	op.k.log.attached(v.Name, spec, pod, node.Status.VolumesAttached[at].DevicePath)
	if p.Tracing() {
		p.Decide("MNT-175", pod, "volume %s is attached", v.Name)
	}
	return nil
}

// recordAttached adds the record of a volume (MNT-103).
func (op *operations) recordAttached(v volumes.DesiredVolume, spec *volumes.Spec, devicePath string, size int64) {
	attachable := volumes.NotAttachable
	if op.stillAttachable(spec) {
		// MNT-103: whether it is attachable is asked again.
		attachable = volumes.Attachable
	}
	// MNT-177, MNT-178: a recorded volume is never verified again; the next pass mounts it.
	av := op.k.actual.MarkAttached(v.Name, spec, attachable, devicePath)
	if av.Size == 0 {
		av.Size = size
	}
}

// attachedTo reports whether the status of the node lists the volume as attached.
func attachedTo(node *corev1.Node, name corev1.UniqueVolumeName) bool {
	return slices.ContainsFunc(node.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == name })
}
