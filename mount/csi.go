package mount

import (
	"fmt"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"crypto/sha256"

	"github.com/volsim/volsim/engine"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/objects"
)

// csiPlugin speaks to CSI drivers (MNT-300 to MNT-309).
type csiPlugin struct{ k *kubelet }

// client finds a driver that is registered at the node.
func (c csiPlugin) client(driver, who string) (fake.Backend, error) {
	b, ok := c.k.cfg.Backends.Driver(driver)
	if !ok || c.k.node.unregistered[driver] {
		// MNT-241, MNT-913: a driver that is not there may be restarting, and says nothing about the volume.
		return nil, transientError{fmt.Errorf("kubernetes.io/csi: %s failed to get CSI client: driver name %s not found in the list of registered CSI drivers", who, driver)}
	}
	return b, nil
}

// attachRequired reports whether volumes of the driver are attached before they are used.
func (c csiPlugin) attachRequired(driver string) bool {
	object := c.k.driver(driver)
	return object == nil || object.Spec.AttachRequired == nil || *object.Spec.AttachRequired
}

func (c csiPlugin) waitForAttach(p *engine.Proc, spec *volumeSpec, _ string) (string, error) {
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
func (c csiPlugin) publishContext(p *engine.Proc, spec *volumeSpec) (map[string]string, error) {
	source := spec.CSI()
	if !c.attachRequired(source.Driver) {
		return nil, nil
	}
	va, err := c.k.getAttachment(p, objects.AttachmentName(source.VolumeHandle, source.Driver, c.k.node.name))
	if err != nil {
		// MNT-241: that it cannot be read says nothing about the volume.
		return nil, transientError{err}
	}
	return va.Status.AttachmentMetadata, nil
}

func (c csiPlugin) deviceMountPath(spec *volumeSpec) (string, error) {
	source := spec.CSI()
	if source == nil {
		return "", fmt.Errorf("kubernetes.io/csi: volume %s has no CSI source of a PersistentVolume", spec.Name())
	}
	return c.k.layout.csiGlobal(source.Driver, source.VolumeHandle), nil
}

func (c csiPlugin) mountDevice(p *engine.Proc, spec *volumeSpec, mountPath string) error {
	source, disk := spec.CSI(), c.k.node.disk
	// MNT-301
	driver, err := c.client(source.Driver, "attacher.MountDevice")
	if err != nil {
		return err
	}
	attachContext, err := c.publishContext(p, spec)
	if err != nil {
		return err
	}
	if err := disk.mkdir(mountPath); err != nil {
		return err
	}
	if !fake.Can(driver, fake.Stage) {
		// MNT-301, MNT-920: a driver that does not stage leaves an empty directory, and no metadata.
		return nil
	}
	if err := disk.write(path.Dir(mountPath)+"/"+metadataFile, Metadata{Driver: source.Driver, Handle: source.VolumeHandle}); err != nil {
		_ = c.k.removeMountDir(mountPath)
		return err
	}
	// MNT-334: that the volume is read only is not told here.
	req := fake.StageRequest{
		ID: source.VolumeHandle, Node: c.k.node.name, Path: mountPath, Mode: spec.accessMode(), FSType: source.FSType,
		MountOptions: spec.PV.Spec.MountOptions, AttachContext: attachContext, Context: source.VolumeAttributes,
	}
	err = c.k.ask(p, driver, fake.Stage, req.ID, func() error { return driver.(fake.Stager).Stage(req) }, func() error {
		return disk.mount(Mount{Path: mountPath, Plugin: source.Driver, Volume: req.ID})
	})
	err = rpcError(fake.Stage, err)
	if err != nil && classOf(err) == final {
		// MNT-301: nothing is mounted, so nothing of it is kept.
		_ = c.k.removeMountDir(mountPath)
	}
	return err
}

// persistent and ephemeral volumes of a driver: csiSource is what both have.
type csiSource struct {
	driver, handle, fsType string
	attributes             map[string]string
	mode                   storagev1.VolumeLifecycleMode
}

func csiSourceOf(spec *volumeSpec, pod types.UID) csiSource {
	if pv := spec.CSI(); pv != nil {
		return csiSource{pv.Driver, pv.VolumeHandle, pv.FSType, pv.VolumeAttributes, storagev1.VolumeLifecyclePersistent}
	}
	inline := spec.Inline.CSI
	// MNT-303: the handle is made up.
	return csiSource{inline.Driver, inlineHandle(pod, spec.Name()), objects.ValueOf(inline.FSType), inline.VolumeAttributes,
		storagev1.VolumeLifecycleEphemeral}
}

// inlineHandle is the handle of a CSI volume in the pod itself (MNT-038).
func inlineHandle(pod types.UID, name string) string {
	// MNT-038
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(string(pod)+name)))
}

// lifecycle reports whether the driver is for volumes of that kind.
func (c csiPlugin) lifecycle(driver string, mode storagev1.VolumeLifecycleMode) error {
	object := c.k.driver(driver)
	modes := []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	if object != nil && len(object.Spec.VolumeLifecycleModes) > 0 {
		modes = object.Spec.VolumeLifecycleModes
	}
	if slices.Contains(modes, mode) {
		return nil
	}
	// MNT-302, MNT-303, MNT-241: the object may yet come.
	if object == nil {
		return transientError{fmt.Errorf("kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode %q not supported by driver %s (no CSIDriver object)", mode, driver)}
	}
	return transientError{fmt.Errorf("kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode %q not supported by driver %s (only supports %q)", mode, driver, modes)}
}

func (c csiPlugin) setUp(p *engine.Proc, spec *volumeSpec, pod *corev1.Pod, how setUpHow) error {
	source, disk := csiSourceOf(spec, pod.UID), c.k.node.disk
	target := c.k.layout.csiMount(pod.UID, spec.Name())
	// MNT-302, MNT-303
	driver, err := c.client(source.driver, "mounter.SetUpAt")
	if err != nil {
		return err
	}
	if err := c.lifecycle(source.driver, source.mode); err != nil {
		return err
	}
	req := fake.PublishRequest{
		ID: source.handle, Node: c.k.node.name, Target: target, Pod: podRef(pod), Mode: spec.accessMode(), FSType: source.fsType,
		ReadOnly: spec.readOnly(), Context: c.attributes(source, pod),
	}
	if spec.PV != nil {
		req.MountOptions = spec.PV.Spec.MountOptions
		if fake.Can(driver, fake.Stage) {
			// MNT-302: the staging path is for drivers that stage.
			if req.StagingPath, err = c.deviceMountPath(spec); err != nil {
				return err
			}
		}
		if req.AttachContext, err = c.publishContext(p, spec); err != nil {
			return err
		}
	}
	data := Metadata{SpecName: spec.Name(), Driver: source.driver, Handle: source.handle, Ephemeral: spec.PV == nil}
	if err := disk.write(path.Dir(target)+"/"+metadataFile, data); err != nil {
		return err
	}
	// MNT-304: the kubelet sees to the group once the volume is there; here that cannot fail.
	group := c.group(spec, source, pod)
	mount := Mount{Path: target, Source: req.StagingPath, Plugin: source.driver, Volume: req.ID, Pod: string(pod.UID), Group: group}
	err = unimplemented(fake.Publish)
	if publisher, ok := driver.(fake.Publisher); ok {
		err = c.k.ask(p, driver, fake.Publish, req.ID, func() error { return publisher.Publish(req) }, func() error { return disk.mount(mount) })
	}
	err = rpcError(fake.Publish, err)
	if err != nil && classOf(err) == final && !how.reconstructed && !how.remount {
		// MNT-302, MNT-914, MNT-456: what an earlier attempt or kubelet mounted must stay as it is.
		_ = c.k.removeMountDir(target)
	}
	return err
}

// attributes are those of the volume, and those of the pod if the driver wants them (MNT-302).
func (c csiPlugin) attributes(source csiSource, pod *corev1.Pod) map[string]string {
	object := c.k.driver(source.driver)
	if object == nil || object.Spec.PodInfoOnMount == nil || !*object.Spec.PodInfoOnMount {
		return source.attributes
	}
	// MNT-302
	attributes := map[string]string{
		"csi.storage.k8s.io/pod.name":            pod.Name,
		"csi.storage.k8s.io/pod.namespace":       pod.Namespace,
		"csi.storage.k8s.io/pod.uid":             string(pod.UID),
		"csi.storage.k8s.io/serviceAccount.name": pod.Spec.ServiceAccountName,
		"csi.storage.k8s.io/ephemeral":           fmt.Sprint(source.mode == storagev1.VolumeLifecycleEphemeral),
	}
	for key, value := range source.attributes {
		if _, taken := attributes[key]; !taken {
			attributes[key] = value
		}
	}
	return attributes
}

func (c csiPlugin) unmounter(pod types.UID, name string) (func(*engine.Proc) error, error) {
	target, disk := c.k.layout.csiMount(pod, name), c.k.node.disk
	// MNT-260, MNT-921: without metadata nobody knows which driver to ask.
	data, err := disk.Read(path.Dir(target) + "/" + metadataFile)
	if err != nil {
		return nil, err
	}
	return func(p *engine.Proc) error {
		// MNT-305
		driver, err := c.client(data.Driver, "Unmounter.TearDownAt")
		if err != nil {
			return err
		}
		if err := c.unpublish(p, driver, data.Handle, target); err != nil {
			return fmt.Errorf("kubernetes.io/csi: Unmounter.TearDownAt failed: %w", err)
		}
		return c.k.removeMountDir(target)
	}, nil
}

func (c csiPlugin) unpublish(p *engine.Proc, driver fake.Backend, handle, target string) error {
	publisher, ok := driver.(fake.Publisher)
	if !ok {
		return unimplemented(fake.Unpublish)
	}
	req := fake.UnpublishRequest{ID: handle, Node: c.k.node.name, Target: target}
	return c.k.ask(p, driver, fake.Unpublish, handle, func() error { return publisher.Unpublish(req) },
		func() error { return c.k.node.disk.unmount(target) })
}

func (c csiPlugin) unmountDevice(p *engine.Proc, _ *volumeSpec, mountPath string) error {
	disk := c.k.node.disk
	if !disk.Exists(path.Dir(mountPath) + "/" + metadataFile) {
		// MNT-306: nothing was staged, or no longer is.
		return nil
	}
	data, err := disk.Read(path.Dir(mountPath) + "/" + metadataFile)
	if err != nil {
		return err
	}
	driver, err := c.client(data.Driver, "attacher.UnmountDevice")
	if err != nil {
		return err
	}
	if !fake.Can(driver, fake.Stage) {
		// MNT-306
		return c.k.removeMountDir(mountPath)
	}
	req := fake.UnstageRequest{ID: data.Handle, Node: c.k.node.name, Path: mountPath}
	err = c.k.ask(p, driver, fake.Unstage, data.Handle, func() error { return driver.(fake.Stager).Unstage(req) },
		func() error { return disk.unmount(mountPath) })
	if err != nil {
		return fmt.Errorf("kubernetes.io/csi: attacher.UnmountDevice failed: %w", err)
	}
	return c.k.removeMountDir(mountPath)
}
