package mount

import (
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// csiPlugin speaks to CSI drivers (MNT-300 to MNT-309).
type csiPlugin struct{ k *kubelet }

// client finds a driver that is registered at the node.
func (c csiPlugin) client(driver, who string) (storage.Backend, error) {
	b, ok := c.k.cfg.Backends.Driver(driver)
	if !ok || c.k.node.unregistered[driver] {
		// MNT-241, MNT-913: a driver that is not there may be restarting, and says nothing about the volume.
		return nil, volumes.TransientError{Err: fmt.Errorf("kubernetes.io/csi: %s failed to get CSI client: driver name %s not found in the list of registered CSI drivers", who, driver)}
	}
	return b, nil
}

// attachRequired reports whether volumes of the driver are attached before they are used.
func (c csiPlugin) attachRequired(driver string) bool {
	object := c.k.driver(driver)
	return object == nil || object.Spec.AttachRequired == nil || *object.Spec.AttachRequired
}

func (c csiPlugin) waitForAttach(p *engine.Proc, spec *volumes.Spec, _ string) (string, error) {
	source := spec.CSI()
	name := objects.AttachmentName(source.VolumeHandle, source.Driver, c.k.node.name)
	va, err := c.k.getAttachment(p, name)
	// MNT-300, MNT-004: one look, whatever budget there is; whoever wants to wait comes again.
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

// publishContext is what attaching told about the volume.
func (c csiPlugin) publishContext(p *engine.Proc, spec *volumes.Spec) (map[string]string, error) {
	source := spec.CSI()
	if !c.attachRequired(source.Driver) {
		return nil, nil
	}
	va, err := c.k.getAttachment(p, objects.AttachmentName(source.VolumeHandle, source.Driver, c.k.node.name))
	if c.k.adopting && apierrors.IsNotFound(err) {
		// It was read when it was there.
		return nil, nil
	}
	if err != nil {
		// MNT-241: that it cannot be read says nothing about the volume.
		return nil, volumes.TransientError{Err: err}
	}
	return va.Status.AttachmentMetadata, nil
}

func (c csiPlugin) deviceMountPath(spec *volumes.Spec) (string, error) {
	source := spec.CSI()
	if source == nil {
		return "", fmt.Errorf("kubernetes.io/csi: volume %s has no CSI source of a PersistentVolume", spec.Name())
	}
	return c.k.layout.CSIGlobalMount(source.Driver, source.VolumeHandle), nil
}

func (c csiPlugin) mountDevice(p *engine.Proc, spec *volumes.Spec, pod *corev1.Pod, mountPath string) error {
	source, fs := spec.CSI(), c.k.node.disk
	// MNT-301
	driver, err := c.client(source.Driver, "attacher.MountDevice")
	if err != nil {
		return err
	}
	attachContext, err := c.publishContext(p, spec)
	if err != nil {
		return err
	}
	if err := fs.Mkdir(mountPath); err != nil {
		return err
	}
	if !backends.Can(driver, storage.Stage) {
		// MNT-301, MNT-920: a driver that does not stage leaves an empty directory, and no metadata.
		return nil
	}
	if err := fs.WriteMetadata(path.Dir(mountPath)+"/"+disk.MetadataFile, disk.Metadata{Driver: source.Driver, Handle: source.VolumeHandle}); err != nil {
		_ = c.k.removeMountDir(mountPath)
		return err
	}
	// MNT-334: that the volume is read only is not told here.
	req := storage.StageRequest{
		ID: source.VolumeHandle, Node: c.k.node.name, Path: mountPath, Mode: spec.AccessMode(), FSType: source.FSType,
		MountOptions: spec.PV.Spec.MountOptions, AttachContext: attachContext, Context: source.VolumeAttributes, Group: mountGroup(driver, pod),
	}
	err = c.k.ask(p, driver, storage.Stage, req.ID, func() error { return driver.(storage.Stager).Stage(req) }, func() error {
		return c.k.mountFiles(disk.Mount{Path: mountPath, Plugin: source.Driver, Volume: req.ID})
	})
	err = volumes.ClassifyRPC(storage.Stage, err)
	if err != nil && volumes.ClassOf(err) == volumes.Final {
		// MNT-301: nothing is mounted, so nothing of it is kept.
		_ = c.k.removeMountDir(mountPath)
	}
	return err
}

func (c csiPlugin) unmountDevice(p *engine.Proc, _ *volumes.Spec, mountPath string) error {
	fs := c.k.node.disk
	if !fs.Exists(path.Dir(mountPath) + "/" + disk.MetadataFile) {
		// MNT-306: nothing was staged, or no longer is.
		return nil
	}
	data, err := fs.ReadMetadata(path.Dir(mountPath) + "/" + disk.MetadataFile)
	if err != nil {
		return err
	}
	driver, err := c.client(data.Driver, "attacher.UnmountDevice")
	if err != nil {
		return err
	}
	if !backends.Can(driver, storage.Stage) {
		// MNT-306
		return c.k.removeMountDir(mountPath)
	}
	req := storage.UnstageRequest{ID: data.Handle, Node: c.k.node.name, Path: mountPath}
	err = c.k.ask(p, driver, storage.Unstage, data.Handle, func() error { return driver.(storage.Stager).Unstage(req) },
		func() error { return fs.Unmount(mountPath) })
	if err != nil {
		return fmt.Errorf("kubernetes.io/csi: attacher.UnmountDevice failed: %w", err)
	}
	return c.k.removeMountDir(mountPath)
}
