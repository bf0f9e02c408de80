package plugin

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// inTreePlugin is a plugin compiled into the kubelet, with a backend or without.
type inTreePlugin struct {
	h    *Host
	name string
}

// backend returns the backend of the plugin, nil if it only works on the disk of the node.
func (t inTreePlugin) backend() storage.Backend {
	b, err := t.h.Backends.ByName(t.name)
	if err != nil {
		return nil
	}
	return b
}

// isHostPath reports whether the container gets a path of the node itself (MNT-036).
func isHostPath(spec *volumes.Spec) bool {
	source := spec.Source()
	return source != nil && source.HostPath != nil
}

// localDirectory returns the directory of a local volume, "" if it is a device (MNT-034, MNT-035). [SIM] A file system type means a device
// that has to be mounted.
func localDirectory(spec *volumes.Spec) string {
	// MNT-035: a local volume without a file system type is a directory.
	if source := spec.Source(); source != nil && source.Local != nil && source.Local.FSType == nil && !spec.Block() {
		return source.Local.Path
	}
	return ""
}

func (t inTreePlugin) WaitForAttach(_ *engine.Process, _ *volumes.Spec, devicePath string) (string, error) {
	return devicePath, nil
}

func (t inTreePlugin) DeviceMountPath(spec *volumes.Spec) (string, error) {
	if dir := localDirectory(spec); dir != "" {
		return dir, nil
	}
	return t.h.Layout.GlobalMount(t.name, spec.ID()), nil
}

func (t inTreePlugin) MountDevice(p *engine.Process, spec *volumes.Spec, _ *corev1.Pod, mountPath string) error {
	mount := disk.Mount{Path: mountPath, Plugin: t.name, Volume: spec.ID(), Label: spec.Label}
	if localDirectory(spec) != "" {
		// MNT-035: the directory exists already.
		return nil
	}
	stager, ok := t.backend().(storage.Stager)
	if !ok || !backends.Can(t.backend(), storage.Stage) {
		return t.h.MountFiles(mount)
	}
	req := storage.NodeRequest{ID: spec.ID(), Node: t.h.Node, StagingPath: mountPath, Mode: spec.AccessMode(),
		MountOptions: volumes.LabelOption(spec.PV.Spec.MountOptions, spec.Label)}
	return t.h.lastCall(p, backendCall{backend: t.backend(), op: storage.Stage, id: req.ID},
		func() error { return stager.Stage(backends.OwnNode(req)) },
		func() error { return t.h.MountFiles(mount) })
}

func (t inTreePlugin) SetUp(p *engine.Process, spec *volumes.Spec, pod *corev1.Pod, how SetUpOptions) error {
	target, fs := t.h.Layout.PodVolume(pod.UID, t.name, spec.Name()), t.h.Disk
	mount := disk.Mount{Path: target, Plugin: t.name, Volume: spec.ID(), Pod: string(pod.UID), Label: spec.Label}
	if spec.PV != nil && spec.Plugin.DeviceMountable(spec.VolumeSpec) {
		mount.Source, _ = t.DeviceMountPath(spec)
	}
	effect := func() error { return t.h.MountFiles(mount) }
	switch {
	case isHostPath(spec):
		// MNT-036: a hostPath leaves nothing in the directory of the pod.
		if err := checkHostPath(spec.Source().HostPath.Path); err != nil {
			return err
		}
		effect = func() error { return nil }
	case spec.Source().Local != nil:
		effect = func() error {
			used := t.usedByOther(spec, pod)
			if err := t.h.MountFiles(mount); err != nil {
				return err
			}
			t.h.takeLocalGroup(p, spec, pod, target, used)
			return nil
		}
	}
	publisher, ok := t.backend().(storage.Publisher)
	switch {
	case fs.Mounted(target):
		// These plugins check for themselves whether the volume is mounted.
		return nil
	case !ok:
		return effect()
	}
	req := storage.NodeRequest{
		ID: spec.ID(), Node: t.h.Node, TargetPath: target, StagingPath: mount.Source, Pod: PodRef(pod), Mode: spec.AccessMode(),
		ReadOnly: spec.MountsReadOnly(), Source: spec.Source(),
	}
	if spec.PV != nil {
		req.MountOptions = volumes.LabelOption(spec.PV.Spec.MountOptions, spec.Label)
	}
	err := t.h.lastCall(p, backendCall{backend: t.backend(), op: storage.Publish, id: req.ID, pod: pod.UID},
		func() error { return publisher.Publish(backends.OwnNode(req)) },
		effect)
	if err != nil && !how.Remount && !how.Reconstructed && !fs.Mounted(target) {
		_ = fs.RemoveIfExists(target)
	}
	return err
}

// usedByOther reports whether the volume is mounted for another pod.
func (t inTreePlugin) usedByOther(spec *volumes.Spec, pod *corev1.Pod) bool {
	return slices.ContainsFunc(t.h.Disk.Mounts(), func(m disk.Mount) bool {
		return m.Plugin == t.name && m.Volume == spec.ID() && m.Pod != "" && m.Pod != string(pod.UID)
	})
}

// checkHostPath rejects a path that contains "..".
func checkHostPath(path string) error {
	// MNT-036: the type of the path is not checked, because the files of the node are not simulated.
	if slices.Contains(strings.Split(path, "/"), "..") {
		return fmt.Errorf("invalid HostPath `%s`: must not contain '..'", path)
	}
	return nil
}

func (t inTreePlugin) NewUnmounter(pod types.UID, name string) (func(*engine.Process) error, error) {
	target, fs := t.h.Layout.PodVolume(pod, t.name, name), t.h.Disk
	return func(p *engine.Process) error {
		publisher, ok := t.backend().(storage.Publisher)
		if ok {
			req := storage.NodeRequest{ID: name, Node: t.h.Node, TargetPath: target}
			err := t.h.lastCall(p, backendCall{backend: t.backend(), op: storage.Unpublish, id: name, pod: pod},
				func() error { return publisher.Unpublish(req) },
				func() error { return fs.Unmount(target) })
			if err != nil {
				return err
			}
		} else if err := fs.Unmount(target); err != nil {
			return err
		}
		return fs.RemoveAll(target)
	}, nil
}

func (t inTreePlugin) UnmountDevice(p *engine.Process, spec *volumes.Spec, mountPath string) error {
	fs := t.h.Disk
	if localDirectory(spec) != "" || !fs.Mounted(mountPath) {
		// MNT-035, MNT-485: nothing is mounted, for example after a reboot.
		return nil
	}
	stager, ok := t.backend().(storage.Stager)
	if ok && backends.Can(t.backend(), storage.Stage) {
		req := storage.NodeRequest{ID: spec.ID(), Node: t.h.Node, StagingPath: mountPath}
		err := t.h.lastCall(p, backendCall{backend: t.backend(), op: storage.Unstage, id: req.ID},
			func() error { return stager.Unstage(req) },
			func() error { return fs.Unmount(mountPath) })
		if err != nil {
			return err
		}
	} else if err := fs.Unmount(mountPath); err != nil {
		return err
	}
	return fs.RemoveIfExists(mountPath)
}
