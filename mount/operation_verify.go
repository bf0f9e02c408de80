package mount

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// verify starts to find out whether a volume that is new here is attached (MNT-174).
func (op *operations) verifyVolume(p *engine.Process, pr volumes.DesiredPair) {
	name := pr.Volume.Name
	if pr.Volume.Attachable {
		if !pr.Volume.ReportedInUse {
			// MNT-173, MNT-174, MNT-909: the node says that it will use the volume before it looks for it.
			return
		}
		if op.k.object != nil && !attachedTo(op.k.object, name) {
			// MNT-174, MNT-909: the watch of the node brings the next look.
			return
		}
	}
	snapshot := *pr.Volume
	spec, pod := pr.Pod.Spec, pr.Pod.Pod
	p.Decide("MNT-174", pod, "looks whether volume %s is attached", name)
	// MNT-150, MNT-159
	op.start(volumeKey(name), opVerify, func(p *engine.Process) error { return op.verifyAttached(p, snapshot, spec, pod) })
}

// verifyAttached is the operation (MNT-175). Its errors have no event (MNT-176).
func (op *operations) verifyAttached(p *engine.Process, v volumes.DesiredVolume, spec *volumes.Spec, pod *corev1.Pod) error {
	size := int64(0)
	if av, ok := op.k.actual.Volume(v.Name); spec.PV != nil && spec.PV.Spec.ClaimRef != nil && (!ok || av.Size == 0) {
		// MNT-175: how large the claim is, from the claim that the volume names.
		claim, err := op.k.getClaim(p, api.Key(spec.PV.Spec.ClaimRef.Namespace, spec.PV.Spec.ClaimRef.Name))
		if err != nil {
			return fmt.Errorf("VerifyControllerAttachedVolume.FetchPVC failed for volume %q : %v", spec.Name(), err)
		}
		size = claimSize(claim)
	}
	if !v.Attachable {
		// MNT-175
		op.recordAttached(v, spec, "", size)
		return nil
	}
	if !v.ReportedInUse {
		// MNT-175: as it was when the operation began.
		return fmt.Errorf("VerifyControllerAttachedVolume failed for volume %q : Volume has not been added to the list of VolumesInUse in the node's volume status", spec.Name())
	}
	node, err := op.k.getNode(p)
	if err != nil {
		return fmt.Errorf("VerifyControllerAttachedVolume failed fetching node from API server for volume %q : %v", spec.Name(), err)
	}
	at := slices.IndexFunc(node.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == v.Name })
	if at < 0 {
		// MNT-175, MNT-909: the watch said otherwise, and was late.
		return fmt.Errorf("VerifyControllerAttachedVolume failed for volume %q : %w", spec.Name(), errNotInStatus)
	}
	op.recordAttached(v, spec, node.Status.VolumesAttached[at].DevicePath, size)
	p.Decide("MNT-175", pod, "volume %s is attached", v.Name)
	return nil
}

// attached makes the record of a volume (MNT-103).
func (op *operations) recordAttached(v volumes.DesiredVolume, spec *volumes.Spec, devicePath string, size int64) {
	attachable := volumes.NotAttachable
	if op.stillAttachable(spec) {
		// MNT-103: as the plugin says now.
		attachable = volumes.Attachable
	}
	// MNT-177, MNT-178: nothing ever asks the node's status about it again; the next pass mounts.
	av := op.k.actual.MarkAttached(v.Name, spec, attachable, devicePath)
	if av.Size == 0 {
		av.Size = size
	}
}

// attachedTo reports whether the status of the node has the volume attached.
func attachedTo(node *corev1.Node, name corev1.UniqueVolumeName) bool {
	return slices.ContainsFunc(node.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == name })
}
