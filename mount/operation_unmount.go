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

// unmountVolume starts to take a file system from a pod. No Event tells of it (MNT-264, MNT-398).
func (op *operations) unmountVolume(p *engine.Process, v *volumes.ActualVolume, ap *volumes.ActualPod) {
	name, uid, spec := v.Name, ap.UID, ap.Spec
	tearDown, err := op.k.plugins.For(spec.Plugin.Name).NewUnmounter(uid, spec.Name())
	if err != nil {
		// MNT-260, MNT-140, MNT-921: the next pass finds the same, as long as the disk is as it is.
		p.Decide("MNT-260", op.k.podRef(uid), "cannot unmount %s: %v", name, err)
		op.k.reconciler.diskBlocked = true
		return
	}
	// MNT-152, MNT-154, MNT-908: beside the unmounts of other pods, and at once even if mounting just failed.
	op.start(podKey(name, uid), opUnmount, func(p *engine.Process) error {
		err := op.unmountFrom(p, v.Name, uid, spec, tearDown)
		if err == nil {
			p.Decide("MNT-263", op.k.podRef(uid), "volume %s is unmounted", name)
		}
		return err
	})
}

// unmountFrom is the operation.
func (op *operations) unmountFrom(p *engine.Process, name corev1.UniqueVolumeName, uid types.UID, spec *volumes.Spec, tearDown func(*engine.Process) error) error {
	// MNT-261, MNT-915: subPath mounts come first, and their failure changes nothing.
	if err := op.removeSubpaths(uid, spec.Name()); err != nil {
		return fmt.Errorf("error cleaning subPath mounts for volume %q : %w", spec.Name(), err)
	}
	if err := tearDown(p); err != nil {
		// MNT-262, MNT-264, MNT-915: whatever the error, it may be half gone.
		op.setPodState(name, uid, spec, volumes.MountUncertain)
		return fmt.Errorf("UnmountVolume.TearDown failed for volume %q : %w", spec.Name(), err)
	}
	// MNT-263
	op.k.actual.RemovePodVolume(name, uid)
	op.k.podVolumesChanged(uid)
	return nil
}

// unmapVolume starts to take a block device from a pod.
func (op *operations) unmapVolume(p *engine.Process, v *volumes.ActualVolume, ap *volumes.ActualPod) {
	name, uid, spec, mapPath := v.Name, ap.UID, ap.Spec, v.DeviceMountPath
	unmap, err := op.k.plugins.For(spec.Plugin.Name).NewUnmapper(uid, spec.Name())
	if err != nil {
		// MNT-270, MNT-140
		p.Decide("MNT-270", op.k.podRef(uid), "cannot unmap %s: %v", name, err)
		op.k.reconciler.diskBlocked = true
		return
	}
	// MNT-152
	op.start(podKey(name, uid), opUnmap, func(p *engine.Process) error {
		err := op.unmapFrom(p, name, uid, spec, mapPath, unmap)
		if err == nil {
			p.Decide("MNT-270", op.k.podRef(uid), "volume %s is unmapped", name)
		}
		return err
	})
}

// unmapFrom is the operation.
func (op *operations) unmapFrom(p *engine.Process, name corev1.UniqueVolumeName, uid types.UID, spec *volumes.Spec, mapPath string, unmap func(*engine.Process) error) error {
	// MNT-270, MNT-918: before anything is touched. Each step may find its work done.
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

// removeSubpaths unmounts what containers have of a volume by subPath.
func (op *operations) removeSubpaths(uid types.UID, spec string) error {
	fs, dir := op.k.node.disk, op.k.layout.Subpaths(uid)+"/"+spec
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
	// MNT-261: the last one takes away the directory of all.
	if err := fs.Remove(op.k.layout.Subpaths(uid)); err != nil && !errors.Is(err, disk.ErrNotEmpty) {
		return err
	}
	return nil
}

// podRef is a pod as an object that decisions are about; one that is gone is known by its uid alone.
func (k *kubelet) podRef(uid types.UID) *corev1.Pod {
	if w, ok := k.workers[uid]; ok {
		return w.pod
	}
	pod := &corev1.Pod{}
	pod.Name = string(uid)
	return pod
}
