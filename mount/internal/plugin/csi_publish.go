package plugin

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// csiSource is the source of a CSI volume: a PersistentVolume, or a volume in the pod itself.
type csiSource struct {
	driver, handle, fsType string
	attributes             map[string]string
	mode                   storagev1.VolumeLifecycleMode
	secret                 *corev1.SecretReference
}

func csiSourceOf(spec *volumes.Spec, pod *corev1.Pod) csiSource {
	if pv := spec.CSI(); pv != nil {
		return csiSource{pv.Driver, pv.VolumeHandle, pv.FSType, pv.VolumeAttributes, storagev1.VolumeLifecyclePersistent, pv.NodePublishSecretRef}
	}
	inline := spec.Inline.CSI
	// MNT-303: the kubelet generates the handle.
	source := csiSource{inline.Driver, objects.InlineHandle(pod.UID, spec.Name()), objects.ValueOf(inline.FSType), inline.VolumeAttributes,
		storagev1.VolumeLifecycleEphemeral, nil}
	if ref := inline.NodePublishSecretRef; ref != nil {
		// MNT-303: the secret is in the namespace of the pod.
		source.secret = &corev1.SecretReference{Name: ref.Name, Namespace: pod.Namespace}
	}
	return source
}

// persistentOnly is the default of a driver: persistent volumes only.
var persistentOnly = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}

// lifecycle returns an error if the driver does not support volumes of that mode.
func (c csiPlugin) lifecycle(driver string, mode storagev1.VolumeLifecycleMode) error {
	object := c.h.API.CSIDriver(driver)
	modes := persistentOnly
	if object != nil && len(object.Spec.VolumeLifecycleModes) > 0 {
		modes = object.Spec.VolumeLifecycleModes
	}
	if slices.Contains(modes, mode) {
		return nil
	}
	// MNT-302, MNT-303, MNT-241: transient, because the object may change.
	if object == nil {
		return volumes.TransientError{Err: fmt.Errorf("kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode %q not supported by driver %s (no CSIDriver object)", mode, driver)}
	}
	return volumes.TransientError{Err: fmt.Errorf("kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode %q not supported by driver %s (only supports %q)", mode, driver, modes)}
}

func (c csiPlugin) SetUp(p *engine.Process, spec *volumes.Spec, pod *corev1.Pod, how SetUpOptions) error {
	source, fs, begun := csiSourceOf(spec, pod), c.h.Disk, p.Now()
	target := c.h.Layout.CSIMount(pod.UID, spec.Name())
	// MNT-302, MNT-303: the driver must be registered, and support the lifecycle mode.
	driver, err := c.client(source.driver, "mounter.SetUpAt", getClient)
	if err != nil {
		return err
	}
	if err := c.lifecycle(source.driver, source.mode); err != nil {
		return err
	}
	policy := c.fsGroupPolicy(source.driver)
	req := storage.NodeRequest{
		ID: source.handle, Node: c.h.Node, TargetPath: target, Pod: PodRef(pod), Mode: spec.AccessMode(), FSType: source.fsType,
		ReadOnly: spec.MountsReadOnly(), Group: mountGroup(driver, pod),
	}
	if spec.PV != nil {
		req.MountOptions = volumes.LabelOption(spec.PV.Spec.MountOptions, c.label(spec))
		if backends.Can(driver, storage.Stage) {
			// MNT-302: only drivers that stage get a staging path.
			if req.StagingPath, err = c.DeviceMountPath(spec); err != nil {
				return err
			}
		}
		if req.AttachContext, err = c.publishContext(p, spec); err != nil {
			return err
		}
	}
	// MNT-314: a failed read of the Secret reveals nothing about the volume.
	if req.Secrets, err = c.secret(p, source.secret); err != nil {
		return volumes.TransientError{Err: fmt.Errorf("fetching NodePublishSecretRef %s/%s failed: %w", source.secret.Namespace,
			source.secret.Name, err)}
	}
	req.Context = c.attributes(source, pod)
	if err := c.addTokens(p, source.driver, pod, &req); err != nil {
		return err
	}
	if timeLeft(p, begun) <= 0 {
		return mountGroupUnknown("mounter.SetUpAt")
	}
	data := disk.Metadata{SpecName: spec.Name(), Driver: source.driver, Handle: source.handle, Ephemeral: spec.PV == nil, Label: c.label(spec)}
	if err := fs.WriteMetadata(disk.Parent(target)+"/"+disk.MetadataFile, data); err != nil {
		return err
	}
	mount := disk.Mount{Path: target, Source: req.StagingPath, Plugin: source.driver, Volume: req.ID, Pod: string(pod.UID), Label: data.Label}
	if publisher, ok := driver.(storage.Publisher); !ok {
		err = unimplemented(storage.Publish)
	} else {
		err = c.h.lastCall(p, backendCall{begun: begun, backend: driver, op: storage.Publish, id: req.ID, pod: pod.UID},
			func() error { return publisher.Publish(backends.OwnNode(req)) },
			func() error { return c.h.MountFiles(mount) })
	}
	err = volumes.ClassifyRPC(storage.Publish, err)
	if err != nil && volumes.ClassOf(err) == volumes.Final && !how.Reconstructed && !how.Remount {
		// MNT-302, MNT-914, MNT-456: a mount of an earlier attempt or kubelet stays as it is.
		_ = c.h.removeMountDir(target)
	}
	if err == nil && !backends.MountsWithGroup(driver) {
		c.takeGroup(p, spec, source, pod, target, policy)
	}
	return err
}

// attributes returns the attributes of the volume, and those of the pod if the driver asks for them.
func (c csiPlugin) attributes(source csiSource, pod *corev1.Pod) map[string]string {
	object := c.h.API.CSIDriver(source.driver)
	if object == nil || object.Spec.PodInfoOnMount == nil || !*object.Spec.PodInfoOnMount {
		return source.attributes
	}
	// MNT-302: podInfoOnMount adds attributes of the pod.
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

func (c csiPlugin) NewUnmounter(pod types.UID, name string) (func(*engine.Process) error, error) {
	target, fs := c.h.Layout.CSIMount(pod, name), c.h.Disk
	// MNT-260, MNT-921: without metadata, the driver is unknown.
	data, err := fs.ReadMetadata(disk.Parent(target) + "/" + disk.MetadataFile)
	if err != nil {
		return nil, err
	}
	return func(p *engine.Process) error {
		// MNT-305: the driver named in the metadata unpublishes.
		driver, err := c.client(data.Driver, "Unmounter.TearDownAt", getClient)
		if err != nil {
			return err
		}
		if err := c.unpublish(p, driver, data.Handle, pod, target); err != nil {
			return fmt.Errorf("kubernetes.io/csi: Unmounter.TearDownAt failed: %w", err)
		}
		return c.h.removeMountDir(target)
	}, nil
}

func (c csiPlugin) unpublish(p *engine.Process, driver storage.Backend, handle string, pod types.UID, target string) error {
	publisher, ok := driver.(storage.Publisher)
	if !ok {
		return unimplemented(storage.Unpublish)
	}
	req := storage.NodeRequest{ID: handle, Node: c.h.Node, TargetPath: target}
	return c.h.lastCall(p, backendCall{backend: driver, op: storage.Unpublish, id: handle, pod: pod},
		func() error { return publisher.Unpublish(req) },
		func() error { return c.h.Disk.Unmount(target) })
}
