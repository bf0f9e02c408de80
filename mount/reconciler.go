package mount

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/plugin"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// reconciler compares the desired with the actual state and starts operations. Nothing else starts operations (MNT-013).
type reconciler struct {
	k      *kubelet
	ticker *engine.Ticker
	// unverified are reconstructed volumes that have not been compared with the node's status yet (MNT-457).
	unverified []corev1.UniqueVolumeName
	// unreconstructed are directories of volumes that could not be reconstructed (MNT-451).
	unreconstructed []plugin.VolumeDir
	// statesSynced says that all reconstructed volumes were compared with the node's status (MNT-137).
	statesSynced bool
	// diskBlocked says that a volume cannot be unmounted until the disk changes.
	diskBlocked bool
}

// pass starts the operations that bring the actual state closer to the desired one. For each volume, the plan functions of package volumes
// decide; each decision sees what earlier ones of the pass have started, and as running what ends at this instant (MNT-014).
func (rc *reconciler) pass(p *engine.Process) {
	k := rc.k
	k.expansion.countSkippedDeferrals()
	// MNT-131, MNT-454, MNT-459, MNT-927: nothing is unmounted until the desired state is complete and reconstructed volumes are verified.
	mayUnmount := k.populator.hasAddedPods && len(rc.unverified) == 0
	if mayUnmount {
		// MNT-132, MNT-138: unmounts come first, so that a volume can move to another pod in the same pass.
		rc.unmountVolumes(p)
	}
	// MNT-133, MNT-455: mounting does not wait for that.
	pairs := k.desired.PodVolumes()
	rc.mountVolumes(p, pairs)
	rc.expandVolumes(pairs)
	if mayUnmount {
		// MNT-135: devices come after the pods' mounts.
		rc.unmountDevices(p)
		// MNT-136, MNT-461: directories that could not be reconstructed are cleaned up once.
		rc.cleanUpUnreconstructed(p)
	}
	// MNT-137: reconstructed volumes are verified at the end of the pass.
	if len(rc.unverified) > 0 {
		rc.correctReconstructed(p)
	}
	// A resumed kubelet waits for its pods, so that it does not report their volumes as unused.
	if len(rc.unverified) == 0 && !rc.statesSynced && (k.populator.hasAddedPods || !k.resumed) {
		rc.statesSynced = true
		rc.ticker.Arm()
	}
	k.status.reportIfChanged()
}

// fullPass is a pass that also repeats attempts to expand volumes that would fail as before (MNT-406, MNT-925).
func (rc *reconciler) fullPass(p *engine.Process) {
	rc.k.expansion.recheck = true
	rc.pass(p)
	rc.k.expansion.recheck = false
}

// unmountVolumes starts to unmount what pods no longer want.
func (rc *reconciler) unmountVolumes(p *engine.Process) {
	op := rc.k.operations
	for _, pr := range rc.k.actual.PodVolumes() {
		key, desired := podKey(pr.Volume.Name, pr.Pod.UID), rc.k.desired.WantsMount(pr.Volume, pr.Pod.UID)
		switch step := volumes.PlanUnmount(volumes.PodVolume{
			Desired: desired, Attached: true, State: pr.Pod.State,
			Block: pr.Pod.Spec.Block(), Busy: !desired && op.pending.RunningAtTick(key),
		}); step {
		case volumes.Wait:
			op.noteBlocked(key)
		case volumes.UnmapFromPod:
			op.unmapVolume(p, pr.Volume, pr.Pod)
		case volumes.UnmountFromPod:
			op.unmountVolume(p, pr.Volume, pr.Pod)
		}
	}
}

// mountVolumes starts the next step towards mounting each desired pair.
func (rc *reconciler) mountVolumes(p *engine.Process, pairs []volumes.DesiredPair) {
	op := rc.k.operations
	for _, pr := range pairs {
		key := volumeKey(pr.Volume.Name)
		v := rc.k.actual.Describe(pr.Volume.Name, pr.Pod.Pod.UID)
		v.Desired, v.Block, v.OtherLabel = true, pr.Pod.Spec.Block(), rc.otherLabel(pr.Volume)
		v.Busy = v.Gap() != volumes.NoGap && op.pending.RunningAtTick(key)
		if v.OtherLabel && !v.Busy {
			rc.waitForLabel(pr)
		}
		switch step := volumes.PlanMount(v); step {
		case volumes.Wait:
			op.noteBlocked(key)
		case volumes.VerifyAttached:
			op.verifyVolume(p, pr)
		case volumes.MapForPod:
			op.mapVolume(p, pr)
		case volumes.MountForPod:
			op.mountVolume(p, pr)
		}
	}
}

// expandVolumes starts to expand mounted volumes that are larger than the node knows (MNT-108, MNT-133, MNT-134).
func (rc *reconciler) expandVolumes(pairs []volumes.DesiredPair) {
	// MNT-014: expansions come after mounts, which they could otherwise block.
	for _, pr := range pairs {
		if !rc.otherLabel(pr.Volume) && rc.k.actual.Missing(pr.Volume.Name, pr.Pod.Pod.UID) == volumes.NoGap && rc.k.expansion.needsExpansion(pr.Volume, pr.Pod.Spec) {
			rc.k.expansion.expandInUse(rc.k.expansion.writablePair(pr))
		}
	}
}

// unmountDevices starts to remove volumes that no pod has from the node.
func (rc *reconciler) unmountDevices(p *engine.Process) {
	k, op := rc.k, rc.k.operations
	for _, v := range k.actual.Volumes() {
		desired := k.desired.WantsDevice(v)
		key := volumeKey(v.Name)
		// MNT-135: Busy is determined for each volume, because an operation may just have started.
		switch step := volumes.PlanDevice(volumes.Device{
			Desired: desired, Pods: v.Pods.Len(), State: v.Device, Block: v.Spec.Block(), Busy: !desired && op.pending.RunningAtTick(key),
		}); step {
		case volumes.Wait:
			op.noteBlocked(key)
		case volumes.Forget:
			// MNT-139, MNT-287, MNT-932: from now on the node does not report the volume in use.
			if k.actual.Forget(v.Name) {
				p.Decide("MNT-135", k.nodeRef(), "forgets volume %s", v.Name)
				k.log.forgotten(v, k.node.name)
			}
		case volumes.UnmapDevice:
			op.unmapDevice(p, v)
		case volumes.UnmountDevice:
			op.unmountDevice(p, v)
		}
	}
}

// nodeRef returns the Node for decisions about it.
func (k *kubelet) nodeRef() *corev1.Node {
	if k.object != nil {
		return k.object
	}
	node := &corev1.Node{}
	node.Name = k.node.name
	return node
}
