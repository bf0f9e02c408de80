package mount

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// unmounting is an operation that unmounts a file system from a pod.
type unmounting struct {
	op       *operations
	name     corev1.UniqueVolumeName
	uid      types.UID
	spec     *volumes.Spec
	tearDown func(*engine.Process) error
}

// unmountVolume starts to unmount a file system from a pod. It emits no Events (MNT-264, MNT-398).
func (op *operations) unmountVolume(p *engine.Process, v *volumes.ActualVolume, ap *volumes.ActualPod) {
	u := &unmounting{op: op, name: v.Name, uid: ap.UID, spec: ap.Spec}
	var err error
	if u.tearDown, err = op.k.plugins.For(u.spec.Plugin.Name).NewUnmounter(u.uid, u.spec.Name()); err != nil {
		// MNT-260, MNT-140, MNT-921: the next pass fails in the same way, until the disk changes.
		p.Decide("MNT-260", op.k.podRef(u.uid), "cannot unmount %s: %v", u.name, err)
		op.k.reconciler.diskBlocked = true
		return
	}
	// MNT-152, MNT-154, MNT-908: unmounts of different pods run in parallel, and do not wait for the backoff of a mount.
	op.start(podKey(u.name, u.uid), opUnmount, op.k.podRef(u.uid), func(p *engine.Process) error {
		op.k.log.unmountStarted(u.name, u.uid)
		return u.unmount(p)
	})
}

// unmount runs the operation.
func (u *unmounting) unmount(p *engine.Process) error {
	// MNT-261, MNT-915: step 1: subPath mounts are removed first; an error there changes no state.
	if err := u.op.removeSubpaths(u.uid, u.spec.Name()); err != nil {
		return fmt.Errorf("error cleaning subPath mounts for volume %q : %w", u.spec.Name(), err)
	}
	return p.Then(u.tearDown(p), u.tornDown)
}

// tornDown is the rest of the operation.
func (u *unmounting) tornDown(p *engine.Process, err error) error {
	k := u.op.k
	if err != nil {
		// MNT-262, MNT-264, MNT-915: step 2: after any error, the mount may be partly gone.
		u.op.setPodState(u.name, u.uid, u.spec, volumes.MountUncertain)
		return fmt.Errorf("UnmountVolume.TearDown failed for volume %q : %w", u.spec.Name(), err)
	}
	k.log.unmounted(u.name, u.spec, u.uid)
	// MNT-263: step 3: the pod no longer has the volume.
	k.actual.RemovePodVolume(u.name, u.uid)
	k.podVolumesChanged(u.uid)
	if p.Tracing() && !k.plugins.Silent {
		p.Decide("MNT-263", k.podRef(u.uid), "volume %s is unmounted", u.name)
	}
	return nil
}

// unmapVolume starts to unmap a block device from a pod.
func (op *operations) unmapVolume(p *engine.Process, v *volumes.ActualVolume, ap *volumes.ActualPod) {
	name, uid, spec, mapPath := v.Name, ap.UID, ap.Spec, v.DeviceMountPath
	unmap, err := op.k.plugins.For(spec.Plugin.Name).NewUnmapper(uid, spec.Name())
	if err != nil {
		// MNT-270, MNT-140: the next pass fails in the same way, until the disk changes.
		p.Decide("MNT-270", op.k.podRef(uid), "cannot unmap %s: %v", name, err)
		op.k.reconciler.diskBlocked = true
		return
	}
	// MNT-152: each pod has a key of its own.
	op.start(podKey(name, uid), opUnmap, op.k.podRef(uid), func(p *engine.Process) error {
		err := op.unmapFrom(p, name, uid, spec, mapPath, unmap)
		if err == nil {
			p.Decide("MNT-270", op.k.podRef(uid), "volume %s is unmapped", name)
		}
		return err
	})
}

// unmapFrom runs the operation.
func (op *operations) unmapFrom(p *engine.Process, name corev1.UniqueVolumeName, uid types.UID, spec *volumes.Spec, mapPath string,
	unmap func(*engine.Process) error) error {
	// MNT-270, MNT-918: the state becomes uncertain first. Each step succeeds if its work was done before.
	op.setPodState(name, uid, spec, volumes.MountUncertain)
	fs, bind := op.k.node.disk, mapPath+"/"+string(uid)
	if mapPath == "" {
		bind = op.k.plugins.For(spec.Plugin.Name).GlobalMapPath(spec) + "/" + string(uid)
	}
	fs.Lock(bind, false)
	if err := fs.RemoveIfExists(op.k.layout.PodDevice(uid, spec.Plugin.Name, spec.Name())); err != nil {
		return fmt.Errorf("UnmapVolume.UnmapBlockVolume failed for volume %q : %w", spec.Name(), err)
	}
	if err := fs.Unmount(bind); err != nil {
		return fmt.Errorf("UnmapVolume.UnmapBlockVolume failed for volume %q : %w", spec.Name(), err)
	}
	if err := fs.RemoveIfExists(bind); err != nil {
		return fmt.Errorf("UnmapVolume.UnmapBlockVolume failed for volume %q : %w", spec.Name(), err)
	}
	if err := unmap(p); err != nil {
		return fmt.Errorf("UnmapVolume.UnmapPodDevice failed for volume %q : %w", spec.Name(), err)
	}
	op.k.actual.RemovePodVolume(name, uid)
	op.k.podVolumesChanged(uid)
	return nil
}

// removeSubpaths unmounts the parts of a volume that containers use by subPath.
func (op *operations) removeSubpaths(uid types.UID, spec string) error {
	fs, dir := op.k.node.disk, op.k.layout.SubpathsOf(uid, spec)
	for _, m := range fs.MountsUnder(dir) {
		if err := fs.Unmount(m.Path); err != nil {
			return err
		}
	}
	if !fs.Exists(dir) {
		return nil
	}
	if err := fs.RemoveAll(dir); err != nil {
		return err
	}
	// MNT-261: the last volume removes the parent directory.
	if err := fs.Remove(op.k.layout.Subpaths(uid)); err != nil && !errors.Is(err, disk.ErrNotEmpty) {
		return err
	}
	return nil
}

// podRef returns the pod for decisions about it. For a pod that is gone, it has the uid as its name.
func (k *kubelet) podRef(uid types.UID) *corev1.Pod {
	if w, ok := k.workers[uid]; ok {
		return w.pod
	}
	pod := &corev1.Pod{}
	pod.Name = string(uid)
	return pod
}
