package mount

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// deviceUnmounting is an operation that unmounts a device from the node.
type deviceUnmounting struct {
	op        *operations
	v         *volumes.ActualVolume
	spec      *volumes.Spec // of v at the start of the operation
	mountPath string
}

// unmountDevice starts to unmount a device from the node.
func (op *operations) unmountDevice(p *engine.Process, v *volumes.ActualVolume) {
	d := &deviceUnmounting{op: op, v: v}
	// MNT-153: the operation is on the volume as a whole.
	op.start(volumeKey(v.Name), opUnmountDevice, op.k.nodeRef(), func(p *engine.Process) error {
		op.k.log.unmountDeviceStarted(v, op.k.node.name)
		return d.unmount(p)
	})
}

// unmount runs the operation.
func (d *deviceUnmounting) unmount(p *engine.Process) (err error) {
	d.spec = d.v.Spec
	op, spec := d.op, d.spec
	volumePlugin := op.k.plugins.For(spec.Plugin.Name)
	// MNT-280: step 1: the path follows from the spec.
	if d.mountPath, err = volumePlugin.DeviceMountPath(spec); err != nil {
		return fmt.Errorf("GetDeviceMountPath failed for volume %q : %w", spec.Name(), err)
	}
	// MNT-281: step 2: a device that other mounts come from stays mounted.
	if refs := op.otherRefs(d.mountPath); len(refs) > 0 {
		return fmt.Errorf("UnmountDevice failed for volume %q : the device mount path %q is still mounted by other references %v", spec.Name(),
			d.mountPath, refs)
	}
	return p.Then(volumePlugin.UnmountDevice(p, spec, d.mountPath), d.unmounted)
}

// unmounted is the rest of the operation.
func (d *deviceUnmounting) unmounted(p *engine.Process, err error) error {
	op, v, spec := d.op, d.v, d.spec
	if err != nil {
		// MNT-282, MNT-916: step 3: after an error the state is uncertain, so that a new pod stages the volume again.
		v.SetDevice(volumes.DeviceUncertain, "", d.mountPath)
		return fmt.Errorf("UnmountDevice failed for volume %q : %w", spec.Name(), err)
	}
	// MNT-283, MNT-288: step 4: a device that is still open makes the operation fail.
	if err := op.checkOpened(v.DevicePath); err != nil {
		v.SetDevice(volumes.DeviceUncertain, "", d.mountPath)
		return fmt.Errorf("UnmountDevice failed for volume %q : %w", spec.Name(), err)
	}
	op.k.log.deviceUnmounted(v, op.k.node.name)
	// MNT-284, MNT-289: the device path stays recorded.
	v.SetDevice(volumes.DeviceNotMounted, "", "")
	if p.Tracing() && !op.k.plugins.Silent {
		p.Decide("MNT-284", op.k.nodeRef(), "volume %s is no longer mounted on the node", v.Name)
	}
	return nil
}

// otherRefs lists the mounts made from a device mount, except mounts of devices.
func (op *operations) otherRefs(mountPath string) []string {
	return slices.DeleteFunc(op.k.node.disk.MountsFrom(mountPath), func(path string) bool {
		// MNT-281: mounts below the directory of a plugin do not count.
		return path == mountPath || strings.Contains(path, "/plugins/kubernetes.io/")
	})
}

// checkOpened returns an error if the device is still open, or if that cannot be found out.
func (op *operations) checkOpened(devicePath string) error {
	// MNT-283, MNT-288: a loop device keeps it open; a broken disk cannot be read.
	if err := op.k.node.disk.Err(devicePath); devicePath != "" && err != nil {
		return err
	}
	if op.k.node.disk.Locked(devicePath) {
		return fmt.Errorf("the device %s is in use when it was no longer expected to be in use", devicePath)
	}
	return nil
}

// unmapDevice starts to unmap a block device from the node.
func (op *operations) unmapDevice(p *engine.Process, v *volumes.ActualVolume) {
	// MNT-153: the operation is on the volume as a whole.
	op.start(volumeKey(v.Name), opUnmapDevice, op.k.nodeRef(), func(p *engine.Process) error {
		err := op.unmapDeviceFromNode(p, v)
		if err == nil {
			p.Decide("MNT-286", op.k.nodeRef(), "volume %s is no longer mapped on the node", v.Name)
		}
		return err
	})
}

// unmapDeviceFromNode runs the operation.
func (op *operations) unmapDeviceFromNode(p *engine.Process, v *volumes.ActualVolume) error {
	spec, volumePlugin := v.Spec, op.k.plugins.For(v.Spec.Plugin.Name)
	mapPath, fs := v.DeviceMountPath, op.k.node.disk
	if mapPath == "" {
		mapPath = volumePlugin.GlobalMapPath(spec)
	}
	// MNT-286: the directory has one entry for each pod with the device.
	if refs := fs.Children(mapPath); len(refs) > 0 {
		return fmt.Errorf("UnmapDevice failed for volume %q : the device %q is still referenced from other Pods %v", spec.Name(), mapPath, refs)
	}
	// MNT-286: from here on the state is uncertain.
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
