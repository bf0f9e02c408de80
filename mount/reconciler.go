package mount

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// The names of operations (MNT-150 to MNT-153).
const (
	opVerify        = "verify_controller_attached_volume"
	opMount         = "volume_mount"
	opMap           = "map_volume"
	opUnmount       = "volume_unmount"
	opUnmap         = "unmap_volume"
	opUnmountDevice = "unmount_device"
	opUnmapDevice   = "unmap_device"
	opExpand        = "volume_fs_resize"
)

// volumeKey is the key of what concerns a volume as a whole, podKey that of what concerns one pod's mount of it.
func volumeKey(name corev1.UniqueVolumeName) engine.OperationKey {
	return engine.OperationKey{Volume: string(name)}
}

func podKey(name corev1.UniqueVolumeName, uid types.UID) engine.OperationKey {
	return engine.OperationKey{Volume: string(name), Pod: string(uid)}
}

// mountKey is the key of a mount (MNT-151).
func mountKey(v *volumes.DesiredVolume, uid types.UID) engine.OperationKey {
	if v.Attachable || v.DeviceMountable {
		// MNT-151, MNT-157: one at a time for all pods of the node, and one backoff.
		return volumeKey(v.Name)
	}
	// MNT-151
	return podKey(v.Name, uid)
}

// reconcile is a pass of the reconciler, the only one to start operations (MNT-013).
func (k *kubelet) reconcile(p *engine.Proc) {
	k.countRefusals()
	// MNT-131, MNT-454, MNT-459, MNT-927: until it is known what is wanted, and what is there, nothing is taken away.
	allowed := k.hasAddedPods && len(k.awaiting) == 0
	if allowed {
		// MNT-132, MNT-138: first, so that a volume that changes pods is free.
		k.unmountVolumes(p)
	}
	// MNT-133, MNT-455: mounting is never held back.
	k.mountVolumes(p)
	if allowed {
		// MNT-135
		k.unmountDevices(p)
		// MNT-136, MNT-461
		k.cleanUpFailed(p)
	}
	// MNT-137
	if len(k.awaiting) > 0 {
		k.correct(p)
	}
	// One that resumes does not take the volumes of pods it has not looked at for unused.
	if len(k.awaiting) == 0 && !k.statesSynced && (k.hasAddedPods || !k.resumed) {
		k.statesSynced = true
		k.reconciler.Arm()
	}
	k.watchInUse()
}

// unmountVolumes starts to unmount what pods no longer want.
func (k *kubelet) unmountVolumes(p *engine.Proc) {
	for _, pr := range k.actual.PodVolumes() {
		// MNT-132, MNT-045: SELinux labels are all empty here.
		if k.desired.HasPodVolume(pr.Volume.Name, pr.Pod.UID) || k.hinders(podKey(pr.Volume.Name, pr.Pod.UID)) {
			continue
		}
		if pr.Pod.Spec.Block() {
			k.unmapVolume(p, pr.Volume, pr.Pod)
		} else {
			k.unmountVolume(p, pr.Volume, pr.Pod)
		}
	}
}

// mountVolumes starts whatever brings desired pairs nearer to being mounted.
func (k *kubelet) mountVolumes(p *engine.Proc) {
	pairs := k.desired.PodVolumes()
	for _, pr := range pairs {
		answer := k.actual.Missing(pr.Volume.Name, pr.Pod.Pod.UID)
		// MNT-133: an operation for any pod of the volume is in the way.
		if answer == volumes.NoGap || k.hinders(volumeKey(pr.Volume.Name)) {
			continue
		}
		// MNT-134
		switch {
		case answer == volumes.GapNotAttached:
			k.verify(p, pr)
		case pr.Pod.Spec.Block():
			k.mapVolume(p, pr)
		default:
			k.mountVolume(p, pr)
		}
	}
	// MNT-014: who has the volume comes after those who do not, whom what follows might keep from it.
	for _, pr := range pairs {
		// MNT-108, MNT-133, MNT-134
		if !k.ops.Running(volumeKey(pr.Volume.Name)) && k.actual.Missing(pr.Volume.Name, pr.Pod.Pod.UID) == volumes.NoGap && k.needsExpansion(pr.Volume, pr.Pod.Spec) {
			k.expandInUse(k.writer(pr))
		}
	}
}

// hinders reports whether an operation with such a key is in the way of another.
func (k *kubelet) hinders(key engine.OperationKey) bool {
	if !k.ops.Running(key) {
		return false
	}
	k.hindered[corev1.UniqueVolumeName(key.Volume)] = true
	return true
}

// unmountDevices takes apart volumes that no pod has any more.
func (k *kubelet) unmountDevices(p *engine.Proc) {
	for _, v := range k.actual.Volumes() {
		_, desired := k.desired.Volume(v.Name)
		// MNT-135: asked anew for each volume, for an operation may just have begun.
		if desired || v.Pods.Len() > 0 || k.hinders(volumeKey(v.Name)) {
			continue
		}
		switch {
		case v.Device == volumes.DeviceNotMounted:
			// MNT-135, MNT-139, MNT-287, MNT-932: the last step; from now on the node does not have it in use.
			if k.actual.Forget(v.Name) {
				p.Decide("MNT-135", k.nodeRef(), "forgets volume %s", v.Name)
			}
		case v.Spec.Block():
			k.unmapDevice(p, v)
		default:
			k.unmountDevice(p, v)
		}
	}
}

// start asks for an operation. A refusal is silent (MNT-140): the pass comes back when it could be otherwise.
func (k *kubelet) start(key engine.OperationKey, name string, fn func(p *engine.Proc) error) {
	// MNT-014, MNT-160: what comes next is decided by a pass to come.
	k.startBefore(key, name, k.reconciler.Next, fn)
}

// startBefore is start with what is to be done after the operation.
func (k *kubelet) startBefore(key engine.OperationKey, name string, then func(), fn func(p *engine.Proc) error) {
	err := k.ops.Run(key, name, func(p *engine.Proc) error {
		err := fn(p)
		then()
		delete(k.hindered, corev1.UniqueVolumeName(key.Volume))
		return err
	})
	if errors.Is(err, engine.ErrBackoff) {
		// MNT-005, MNT-158, MNT-907, MNT-933: the window is that of the key, so perhaps another pod's; its end itself is too early.
		left, _ := k.ops.RetryAfter(key, name)
		over := k.actor.Engine().Now().Add(left + 1)
		if k.node.partitioned {
			k.reconciler.RestAt(over)
		} else {
			k.reconciler.ArmAt(over)
		}
	}
}

// nodeRef is the Node as an object that decisions are about.
func (k *kubelet) nodeRef() *corev1.Node {
	if k.object != nil {
		return k.object
	}
	node := &corev1.Node{}
	node.Name = k.node.name
	return node
}
