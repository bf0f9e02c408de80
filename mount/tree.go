package mount

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

// treePlugin is a plugin compiled into the kubelet: one with a backend, or one that needs none.
type treePlugin struct {
	k    *kubelet
	name string
}

// backend does the plugin's work, nil where there is nothing to do but on the disk of the node.
func (t treePlugin) backend() storage.Backend {
	b, err := t.k.cfg.Backends.ByName(t.name)
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

// localDirectory is the directory that a local volume is, "" if it is a device (MNT-034, MNT-035). [SIM] A file system type says
// that it is a device, to be mounted first.
func localDirectory(spec *volumes.Spec) string {
	// MNT-035
	if source := spec.Source(); source != nil && source.Local != nil && source.Local.FSType == nil && !spec.Block() {
		return source.Local.Path
	}
	return ""
}

func (t treePlugin) waitForAttach(_ *engine.Proc, _ *volumes.Spec, devicePath string) (string, error) {
	return devicePath, nil
}

func (t treePlugin) deviceMountPath(spec *volumes.Spec) (string, error) {
	if dir := localDirectory(spec); dir != "" {
		return dir, nil
	}
	return t.k.layout.GlobalMount(t.name, spec.ID()), nil
}

func (t treePlugin) mountDevice(p *engine.Proc, spec *volumes.Spec, _ *corev1.Pod, mountPath string) error {
	mount := disk.Mount{Path: mountPath, Plugin: t.name, Volume: spec.ID()}
	if localDirectory(spec) != "" {
		// MNT-035: it is there already.
		return nil
	}
	stager, ok := t.backend().(storage.Stager)
	if !ok || !backends.Can(t.backend(), storage.Stage) {
		return t.k.mountFiles(mount)
	}
	req := storage.StageRequest{ID: spec.ID(), Node: t.k.node.name, Path: mountPath, Mode: spec.AccessMode(), MountOptions: spec.PV.Spec.MountOptions}
	return t.k.ask(p, t.backend(), storage.Stage, req.ID, func() error { return stager.Stage(req) }, func() error { return t.k.mountFiles(mount) })
}

func (t treePlugin) setUp(p *engine.Proc, spec *volumes.Spec, pod *corev1.Pod, how setUpHow) error {
	target, fs := t.k.layout.PodVolume(pod.UID, t.name, spec.Name()), t.k.node.disk
	mount := disk.Mount{Path: target, Plugin: t.name, Volume: spec.ID(), Pod: string(pod.UID)}
	if spec.PV != nil && t.k.pluginTakesDevice(spec) {
		mount.Source, _ = t.deviceMountPath(spec)
	}
	effect := func() error { return t.k.mountFiles(mount) }
	switch {
	case isHostPath(spec):
		// MNT-036: nothing is left below the directory of the pod.
		if err := checkHostPath(spec.Source().HostPath.Path); err != nil {
			return err
		}
		effect = func() error { return nil }
	case spec.Source().Local != nil:
		effect = func() error {
			used := t.usedByOther(spec, pod)
			if err := t.k.mountFiles(mount); err != nil {
				return err
			}
			t.k.takeLocalGroup(p, spec, pod, target, used)
			return nil
		}
	}
	publisher, ok := t.backend().(storage.Publisher)
	switch {
	case fs.Mounted(target):
		// These plugins look themselves whether it is mounted.
		return nil
	case !ok:
		return effect()
	}
	req := storage.PublishRequest{
		ID: spec.ID(), Node: t.k.node.name, Target: target, StagingPath: mount.Source, Pod: podRef(pod), Mode: spec.AccessMode(),
		ReadOnly: spec.MountsReadOnly(), Source: spec.Source(),
	}
	if spec.PV != nil {
		req.MountOptions = spec.PV.Spec.MountOptions
	}
	err := t.k.askFor(p, t.backend(), storage.Publish, req.ID, pod.UID, func() error { return publisher.Publish(req) }, effect)
	if err != nil && !how.remount && !how.reconstructed && !fs.Mounted(target) {
		_ = fs.RemoveIfExists(target)
	}
	return err
}

// usedByOther reports whether the volume is mounted for another pod.
func (t treePlugin) usedByOther(spec *volumes.Spec, pod *corev1.Pod) bool {
	return slices.ContainsFunc(t.k.node.disk.Mounts(), func(m disk.Mount) bool {
		return m.Plugin == t.name && m.Volume == spec.ID() && m.Pod != "" && m.Pod != string(pod.UID)
	})
}

// checkHostPath refuses a path that leads out of where it begins (MNT-036).
func checkHostPath(path string) error {
	// MNT-036: what is at the path, and of which type, the simulated node does not know.
	if slices.Contains(strings.Split(path, "/"), "..") {
		return fmt.Errorf("invalid HostPath `%s`: must not contain '..'", path)
	}
	return nil
}

func (t treePlugin) unmounter(pod types.UID, name string) (func(*engine.Proc) error, error) {
	target, fs := t.k.layout.PodVolume(pod, t.name, name), t.k.node.disk
	return func(p *engine.Proc) error {
		publisher, ok := t.backend().(storage.Publisher)
		if ok {
			req := storage.UnpublishRequest{ID: name, Node: t.k.node.name, Target: target}
			err := t.k.askFor(p, t.backend(), storage.Unpublish, name, pod, func() error { return publisher.Unpublish(req) },
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

func (t treePlugin) unmountDevice(p *engine.Proc, spec *volumes.Spec, mountPath string) error {
	fs := t.k.node.disk
	if localDirectory(spec) != "" || !fs.Mounted(mountPath) {
		// MNT-035, MNT-485: what is not mounted is unmounted.
		return nil
	}
	stager, ok := t.backend().(storage.Stager)
	if ok && backends.Can(t.backend(), storage.Stage) {
		req := storage.UnstageRequest{ID: spec.ID(), Node: t.k.node.name, Path: mountPath}
		err := t.k.ask(p, t.backend(), storage.Unstage, req.ID, func() error { return stager.Unstage(req) }, func() error { return fs.Unmount(mountPath) })
		if err != nil {
			return err
		}
	} else if err := fs.Unmount(mountPath); err != nil {
		return err
	}
	return fs.RemoveIfExists(mountPath)
}
