package mount

import (
	"fmt"
	"strings"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// unmountDevice starts to take a device's mount off the node.
func (op *operations) unmountDevice(p *engine.Process, v *volumes.ActualVolume) {
	// MNT-153
	op.start(volumeKey(v.Name), opUnmountDevice, func(p *engine.Process) error {
		err := op.unmountDeviceFromNode(p, v)
		if err == nil {
			p.Decide("MNT-284", op.k.nodeRef(), "volume %s is no longer mounted on the node", v.Name)
		}
		return err
	})
}

// takeDeviceMount is the operation.
func (op *operations) unmountDeviceFromNode(p *engine.Process, v *volumes.ActualVolume) error {
	spec, volumePlugin := v.Spec, op.k.plugins.For(v.Spec.Plugin.Name)
	// MNT-280
	mountPath, err := volumePlugin.DeviceMountPath(spec)
	if err != nil {
		return fmt.Errorf("GetDeviceMountPath failed for volume %q : %w", spec.Name(), err)
	}
	// MNT-281
	if refs := op.otherRefs(mountPath); len(refs) > 0 {
		return fmt.Errorf("UnmountDevice failed for volume %q : the device mount path %q is still mounted by other references %v", spec.Name(), mountPath, refs)
	}
	if err := volumePlugin.UnmountDevice(p, spec, mountPath); err != nil {
		// MNT-282, MNT-916
		v.SetDevice(volumes.DeviceUncertain, "", mountPath)
		return fmt.Errorf("UnmountDevice failed for volume %q : %w", spec.Name(), err)
	}
	// MNT-283, MNT-288
	if err := op.checkOpened(v.DevicePath); err != nil {
		v.SetDevice(volumes.DeviceUncertain, "", mountPath)
		return fmt.Errorf("UnmountDevice failed for volume %q : %w", spec.Name(), err)
	}
	// MNT-284, MNT-289: the device path is kept.
	v.SetDevice(volumes.DeviceNotMounted, "", "")
	return nil
}

// otherRefs are the mounts made from a device mount, but for those among the mounts of devices themselves.
func (op *operations) otherRefs(mountPath string) []string {
	var refs []string
	for _, m := range op.k.node.disk.Mounts() {
		// MNT-281
		if m.Source == mountPath && m.Path != mountPath && !strings.Contains(m.Path, "/plugins/kubernetes.io/") {
			refs = append(refs, m.Path)
		}
	}
	return refs
}

// checkOpened is an error if somebody still has the device open, or if that cannot be found out.
func (op *operations) checkOpened(devicePath string) error {
	// MNT-283, MNT-288: a loop device holds it open; a bad disk does not tell.
	if err := op.k.node.disk.Err(devicePath); devicePath != "" && err != nil {
		return err
	}
	if op.k.node.disk.Locked(devicePath) {
		return fmt.Errorf("the device %s is in use when it was no longer expected to be in use", devicePath)
	}
	return nil
}

// unmapDevice starts to take a block device off the node.
func (op *operations) unmapDevice(p *engine.Process, v *volumes.ActualVolume) {
	// MNT-153
	op.start(volumeKey(v.Name), opUnmapDevice, func(p *engine.Process) error {
		err := op.unmapDeviceFromNode(p, v)
		if err == nil {
			p.Decide("MNT-286", op.k.nodeRef(), "volume %s is no longer mapped on the node", v.Name)
		}
		return err
	})
}

// takeDeviceMap is the operation.
func (op *operations) unmapDeviceFromNode(p *engine.Process, v *volumes.ActualVolume) error {
	spec, volumePlugin := v.Spec, op.k.plugins.For(v.Spec.Plugin.Name)
	mapPath, fs := v.DeviceMountPath, op.k.node.disk
	if mapPath == "" {
		mapPath = volumePlugin.GlobalMapPath(spec)
	}
	// MNT-286: each pod that has the device has an entry here.
	if refs := fs.Children(mapPath); len(refs) > 0 {
		return fmt.Errorf("UnmapDevice failed for volume %q : the device %q is still referenced from other Pods %v", spec.Name(), mapPath, refs)
	}
	// MNT-286: from here on it may be half gone.
	v.SetDevice(volumes.DeviceUncertain, "", mapPath)
	if err := volumePlugin.TearDownDevice(p, spec); err != nil {
		return fmt.Errorf("UnmapDevice.TearDownDevice failed for volume %q : %w", spec.Name(), err)
	}
	if err := fs.RemoveAll(mapPath); err != nil {
		return fmt.Errorf("UnmapDevice.RemoveMapPath failed for volume %q : %w", spec.Name(), err)
	}
	if err := op.checkOpened(v.DevicePath); err != nil {
		return fmt.Errorf("UnmapDevice failed for volume %q : %w", spec.Name(), err)
	}
	v.SetDevice(volumes.DeviceNotMounted, "", "")
	return nil
}
