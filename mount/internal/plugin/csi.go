package plugin

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// csiPlugin calls CSI drivers (MNT-300 to MNT-309).
type csiPlugin struct{ h *Host }

// What the methods of the plugin call the lookup of a driver in their errors.
const (
	getClient    = "failed to get CSI client"
	createClient = "failed to create newCsiDriverClient"
)

// client returns a driver that is registered with the kubelet. who and does begin the error of the method that asks.
func (c csiPlugin) client(driver, who, does string) (storage.Backend, error) {
	b, ok := c.h.Backends.Driver(driver)
	if !ok || !c.h.registered(driver) {
		// MNT-241, MNT-913: a missing driver may be restarting; the error reveals nothing about the volume.
		return nil,
			volumes.TransientError{Err: fmt.Errorf("kubernetes.io/csi: %s %s: driver name %s not found in the list of registered CSI drivers", who, does, driver)}
	}
	return b, nil
}

// registered reports whether the driver is registered with the kubelet.
func (h *Host) registered(driver string) bool { return !h.Unregistered[driver] && !h.Failed[driver] }

// MountsWithLabel reports whether the driver can mount volumes with an SELinux label (MNT-335).
func (h *Host) MountsWithLabel(driver string) bool {
	object := h.API.CSIDriver(driver)
	return object != nil && object.Spec.SELinuxMount != nil && *object.Spec.SELinuxMount
}

// label returns the SELinux label to mount the volume with, "" for none.
func (c csiPlugin) label(spec *volumes.Spec) string {
	// MNT-340: the driver is asked again, because its CSIDriver may have changed.
	if spec.Label == "" || !c.h.MountsWithLabel(spec.Plugin.Driver) {
		return ""
	}
	return spec.Label
}

// AttachRequired reports whether volumes of the driver must be attached before they are used.
func (h *Host) AttachRequired(driver string) bool {
	object := h.API.CSIDriver(driver)
	return object == nil || object.Spec.AttachRequired == nil || *object.Spec.AttachRequired
}

func (c csiPlugin) WaitForAttach(p *engine.Process, spec *volumes.Spec, _ string) (string, error) {
	source := spec.CSI()
	name := spec.AttachmentName(c.h.Node)
	va, err := c.h.API.GetAttachment(p, name)
	// MNT-300, MNT-004: one read, without waiting; the operation is repeated.
	switch {
	case err != nil:
		return "", fmt.Errorf("volume %v has GET error for volume attachment %v: %v", source.VolumeHandle, name, err)
	case va.DeletionTimestamp != nil:
		return "", fmt.Errorf("volume attachment is being deleted")
	case va.Status.Attached:
		return va.Name, nil
	case va.Status.AttachError != nil:
		return "", fmt.Errorf("%s", va.Status.AttachError.Message)
	}
	return "", fmt.Errorf("volume %v is not attached for volume attachment %v", source.VolumeHandle, name)
}

// publishContext returns what the driver returned when it attached the volume.
func (c csiPlugin) publishContext(p *engine.Process, spec *volumes.Spec) (map[string]string, error) {
	source := spec.CSI()
	if !c.h.AttachRequired(source.Driver) {
		return nil, nil
	}
	va, err := c.h.API.GetAttachment(p, spec.AttachmentName(c.h.Node))
	if c.h.Silent && apierrors.IsNotFound(err) {
		// An adopted pod runs already; its attachment may be gone.
		return nil, nil
	}
	if err != nil {
		// MNT-241: a failed read reveals nothing about the volume.
		return nil, volumes.TransientError{Err: err}
	}
	return va.Status.AttachmentMetadata, nil
}

func (c csiPlugin) DeviceMountPath(spec *volumes.Spec) (string, error) {
	if spec.CSI() == nil {
		return "", fmt.Errorf("kubernetes.io/csi: volume %s has no CSI source of a PersistentVolume", spec.Name())
	}
	return spec.GlobalMount(c.h.Layout), nil
}

func (c csiPlugin) MountDevice(p *engine.Process, spec *volumes.Spec, pod *corev1.Pod, mountPath string) error {
	source, fs, begun := spec.CSI(), c.h.Disk, p.Now()
	// MNT-301: the driver must be registered.
	driver, err := c.client(source.Driver, "attacher.MountDevice", createClient)
	if err != nil {
		return err
	}
	attachContext, err := c.publishContext(p, spec)
	if err != nil {
		return err
	}
	var secrets map[string]string
	if backends.Can(driver, storage.Stage) {
		// MNT-314: the Secret is read only if the driver stages. A failed read reveals nothing about the volume.
		if secrets, err = c.secret(p, source.NodeStageSecretRef); err != nil {
			return volumes.TransientError{Err: fmt.Errorf("fetching NodeStageSecretRef %s/%s failed: %w", source.NodeStageSecretRef.Namespace,
				source.NodeStageSecretRef.Name, err)}
		}
	}
	if err := fs.Mkdir(mountPath); err != nil {
		return err
	}
	if !backends.Can(driver, storage.Stage) {
		// MNT-301, MNT-920: without staging, only an empty directory is left, and no metadata.
		return nil
	}
	if timeLeft(p, begun) <= 0 {
		return mountGroupUnknown("attacher.MountDevice")
	}
	label := c.label(spec)
	if err := fs.WriteMetadata(disk.Parent(mountPath)+"/"+disk.MetadataFile,
		disk.Metadata{Driver: source.Driver, Handle: source.VolumeHandle, Label: label}); err != nil {
		_ = c.h.removeMountDir(mountPath)
		return err
	}
	// MNT-334: staging does not depend on read-only.
	req := storage.NodeRequest{
		ID: source.VolumeHandle, Node: c.h.Node, StagingPath: mountPath, Mode: spec.AccessMode(), FSType: source.FSType,
		MountOptions: volumes.LabelOption(spec.PV.Spec.MountOptions, label), AttachContext: attachContext, Context: source.VolumeAttributes, Group: mountGroup(driver, pod),
		Secrets: secrets,
	}
	err = c.h.lastCall(p, backendCall{begun: begun, backend: driver, op: storage.Stage, id: req.ID},
		func() error { return driver.(storage.Stager).Stage(backends.OwnNode(req)) },
		func() error {
			return c.h.MountFiles(disk.Mount{Path: mountPath, Plugin: source.Driver, Volume: req.ID, Label: label})
		})
	err = volumes.ClassifyRPC(storage.Stage, err)
	if err != nil && volumes.ClassOf(err) == volumes.Final {
		// MNT-301: nothing is mounted, so the directory is removed.
		_ = c.h.removeMountDir(mountPath)
	}
	return err
}

// mountGroupUnknown is the error of a method whose time was over when it asked the driver for VOLUME_MOUNT_GROUP (MNT-006).
func mountGroupUnknown(method string) error {
	return volumes.TransientError{Err: fmt.Errorf("kubernetes.io/csi: %s failed to determine if the node service has VOLUME_MOUNT_GROUP capability: %w",
		method, errLate)}
}

func (c csiPlugin) UnmountDevice(p *engine.Process, _ *volumes.Spec, mountPath string) error {
	fs := c.h.Disk
	file := disk.Parent(mountPath) + "/" + disk.MetadataFile
	if !fs.Exists(file) {
		// MNT-306: nothing is staged.
		return nil
	}
	data, err := fs.ReadMetadata(file)
	if err != nil {
		return err
	}
	driver, err := c.client(data.Driver, "attacher.UnmountDevice", createClient)
	if err != nil {
		return err
	}
	if !backends.Can(driver, storage.Stage) {
		// MNT-306: a driver that does not stage is not called.
		return c.h.removeMountDir(mountPath)
	}
	req := storage.NodeRequest{ID: data.Handle, Node: c.h.Node, StagingPath: mountPath}
	err = c.h.lastCall(p, backendCall{backend: driver, op: storage.Unstage, id: data.Handle},
		func() error { return driver.(storage.Stager).Unstage(req) },
		func() error { return fs.Unmount(mountPath) })
	if err != nil {
		return fmt.Errorf("kubernetes.io/csi: attacher.UnmountDevice failed: %w", err)
	}
	return c.h.removeMountDir(mountPath)
}
