package plugin

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// Block volumes of CSI drivers (MNT-307, MNT-308).

func (c csiPlugin) GlobalMapPath(spec *volumes.Spec) string { return c.h.Layout.CSIMap(spec.Name()) }

func (c csiPlugin) MapsDevice(*volumes.Spec) bool { return true }

func (c csiPlugin) PrepareMap(spec *volumes.Spec) error {
	source := spec.CSI()
	if source == nil {
		return fmt.Errorf("kubernetes.io/csi: volume %s has no CSI source of a PersistentVolume", spec.Name())
	}
	// MNT-308: the metadata is written before the operation starts.
	return c.h.Disk.WriteMetadata(c.h.Layout.CSIDeviceData(spec.Name())+"/"+disk.MetadataFile,
		disk.Metadata{SpecName: spec.Name(), Driver: source.Driver, Handle: source.VolumeHandle})
}

// attachment returns the publish context of an attached volume, for a block call.
func (c csiPlugin) attachment(p *engine.Process, spec *volumes.Spec) (map[string]string, error) {
	source := spec.CSI()
	name := objects.AttachmentName(source.VolumeHandle, source.Driver, c.h.Node)
	attributes, err := c.publishContext(p, spec)
	if err != nil {
		return nil, volumes.TransientError{Err: fmt.Errorf("kubernetes.io/csi: failed to get volume attachment [id=%v]: %v", name, err)}
	}
	return attributes, nil
}

func (c csiPlugin) SetUpDevice(p *engine.Process, spec *volumes.Spec) (string, error) {
	source, fs := spec.CSI(), c.h.Disk
	// MNT-307: the VolumeAttachment must be readable.
	attachContext, err := c.attachment(p, spec)
	if err != nil {
		return "", err
	}
	begun := p.Now() // MNT-006: the read of the VolumeAttachment does not count
	driver, err := c.client(source.Driver, "blockMapper.SetUpDevice", getClient)
	if err != nil {
		return "", err
	}
	if !backends.Can(driver, storage.Stage) {
		return "", nil
	}
	// MNT-314: a failed read of the Secret reveals nothing about the volume.
	secrets, err := c.secret(p, source.NodeStageSecretRef)
	if err != nil {
		return "", volumes.TransientError{Err: fmt.Errorf("kubernetes.io/csi: failed to get NodeStageSecretRef %s/%s: %w",
			source.NodeStageSecretRef.Namespace, source.NodeStageSecretRef.Name, err)}
	}
	staging := c.h.Layout.CSIStaging(spec.Name())
	if err := fs.Mkdir(staging); err != nil {
		return "", err
	}
	req := storage.NodeRequest{
		ID: source.VolumeHandle, Node: c.h.Node, StagingPath: staging, Mode: spec.AccessMode(), VolumeMode: corev1.PersistentVolumeBlock,
		AttachContext: attachContext, Context: source.VolumeAttributes, Secrets: secrets,
	}
	err = c.h.call(p, backendCall{begun: begun, backend: driver, op: storage.Stage, id: req.ID},
		func() error { return driver.(storage.Stager).Stage(backends.OwnNode(req)) },
		func() error {
			return fs.Mount(disk.Mount{Path: staging, Plugin: source.Driver, Volume: req.ID, Block: true})
		})
	if err = volumes.ClassifyRPC(storage.Stage, err); err == nil {
		return staging, nil
	}
	if volumes.ClassOf(err) == volumes.Final {
		// MNT-307: entries that cannot be removed stay.
		c.cleanUp(spec.Name())
	}
	return "", err
}

func (c csiPlugin) MapPodDevice(p *engine.Process, spec *volumes.Spec, pod *corev1.Pod) (string, error) {
	source := csiSourceOf(spec, pod)
	// MNT-307: the VolumeAttachment must be readable.
	attachContext, err := c.attachment(p, spec)
	if err != nil {
		return "", err
	}
	begun := p.Now() // MNT-006: the read of the VolumeAttachment does not count
	driver, err := c.client(source.driver, "blockMapper.MapPodDevice", getClient)
	if err != nil {
		return "", err
	}
	publisher, ok := driver.(storage.Publisher)
	if !ok {
		return "", unimplemented(storage.Publish)
	}
	// MNT-314: a failed read of the Secret reveals nothing about the volume.
	secrets, err := c.secret(p, source.secret)
	if err != nil {
		return "", volumes.TransientError{Err: fmt.Errorf(
			"kubernetes.io/csi: blockMapper.publishVolumeForBlock failed to get NodePublishSecretRef %s/%s: %w", source.secret.Namespace,
			source.secret.Name, err)}
	}
	staging, target := c.h.Layout.CSIStaging(spec.Name()), c.h.Layout.CSIPublish(spec.Name(), pod.UID)
	if err := c.h.Disk.Mkdir(disk.Parent(target)); err != nil {
		return "", err
	}
	req := storage.NodeRequest{
		ID: source.handle, Node: c.h.Node, TargetPath: target, StagingPath: staging, Pod: PodRef(pod), Mode: spec.AccessMode(),
		VolumeMode: corev1.PersistentVolumeBlock, ReadOnly: spec.MountsReadOnly(), AttachContext: attachContext,
		Context: c.attributes(source, pod), Secrets: secrets,
	}
	mount := disk.Mount{Path: target, Source: staging, Plugin: source.driver, Volume: req.ID, Pod: string(pod.UID), Block: true}
	err = c.h.call(p, backendCall{begun: begun, backend: driver, op: storage.Publish, id: req.ID, pod: pod.UID},
		func() error { return publisher.Publish(backends.OwnNode(req)) },
		func() error { return c.h.Disk.Mount(mount) })
	if err != nil {
		return "", volumes.ClassifyRPC(storage.Publish, err)
	}
	return target, nil
}

func (c csiPlugin) NewUnmapper(pod types.UID, name string) (func(*engine.Process) error, error) {
	data, err := c.h.Disk.ReadMetadata(c.h.Layout.CSIDeviceData(name) + "/" + disk.MetadataFile)
	if err != nil {
		return nil, err
	}
	return func(p *engine.Process) error {
		driver, err := c.client(data.Driver, "blockMapper.UnmapPodDevice", getClient)
		if err != nil {
			return err
		}
		target := c.h.Layout.CSIPublish(name, pod)
		// MNT-307: unpublish even if nothing is published, because an earlier call may have timed out.
		err = c.unpublish(p, driver, data.Handle, pod, target)
		p.Yield()
		if err != nil {
			return fmt.Errorf("kubernetes.io/csi: blockMapper.unpublishVolumeForBlock failed: %w", err)
		}
		return c.h.Disk.RemoveIfExists(target)
	}, nil
}

func (c csiPlugin) TearDownDevice(p *engine.Process, spec *volumes.Spec) error {
	source, fs := spec.CSI(), c.h.Disk
	driver, err := c.client(source.Driver, "blockMapper.TearDownDevice", getClient)
	if err != nil {
		return err
	}
	staging := c.h.Layout.CSIStaging(spec.Name())
	// MNT-307: a volume that was never staged is not unstaged.
	if fs.Exists(staging) && backends.Can(driver, storage.Stage) {
		req := storage.NodeRequest{ID: source.VolumeHandle, Node: c.h.Node, StagingPath: staging}
		err := c.h.call(p, backendCall{backend: driver, op: storage.Unstage, id: req.ID},
			func() error { return driver.(storage.Stager).Unstage(req) },
			func() error { return fs.Unmount(staging) })
		if err != nil {
			return fmt.Errorf("kubernetes.io/csi: blockMapper.unstageVolumeForBlock failed: %w", err)
		}
		if err := fs.RemoveAll(staging); err != nil {
			return err
		}
	}
	c.cleanUp(spec.Name())
	return nil
}

// cleanUp removes the directories of a block volume, as far as they can be removed.
func (c csiPlugin) cleanUp(name string) {
	fs := c.h.Disk
	if fs.RemoveIfExists(disk.Parent(c.h.Layout.CSIPublish(name, ""))) != nil {
		return
	}
	if fs.RemoveIfExists(c.h.Layout.CSIStaging(name)) != nil {
		return
	}
	// The next attempt repeats a failed removal.
	_ = fs.RemoveAll(disk.Parent(c.h.Layout.CSIMap(name)))
}
