package mount

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// The block side of plugins compiled into the kubelet.

func (t treePlugin) globalMapPath(spec *volumes.Spec) string {
	return t.k.layout.GlobalMap(t.name, spec.ID())
}

func (t treePlugin) mapper(*volumes.Spec) error { return nil }

// custom reports whether a backend gives out the device. That of a local volume is just there.
func (t treePlugin) custom(*volumes.Spec) bool {
	_, ok := t.backend().(storage.Publisher)
	return ok
}

func (t treePlugin) setUpDevice(p *engine.Proc, spec *volumes.Spec) (string, error) {
	stager, ok := t.backend().(storage.Stager)
	if !ok || !backends.Can(t.backend(), storage.Stage) {
		return "", nil
	}
	staging, fs := t.stagingPath(spec), t.k.node.disk
	req := storage.StageRequest{ID: spec.ID(), Node: t.k.node.name, Path: staging, Mode: spec.AccessMode(), VolumeMode: corev1.PersistentVolumeBlock}
	err := t.k.ask(p, t.backend(), storage.Stage, req.ID, func() error { return stager.Stage(req) }, func() error {
		return fs.Mount(disk.Mount{Path: staging, Plugin: t.name, Volume: req.ID, Block: true})
	})
	if err != nil {
		return "", err
	}
	return staging, nil
}

// device is where a backend puts the device of a block volume for a pod.
func (t treePlugin) device(id string, pod types.UID) string {
	return t.k.layout.Plugin(t.name) + "/devices/" + id + "/" + string(pod)
}

func (t treePlugin) mapPodDevice(p *engine.Proc, spec *volumes.Spec, pod *corev1.Pod) (string, error) {
	publisher, fs := t.backend().(storage.Publisher), t.k.node.disk
	req := storage.PublishRequest{
		ID: spec.ID(), Node: t.k.node.name, Target: t.device(spec.ID(), pod.UID), Pod: podRef(pod), Mode: spec.AccessMode(),
		VolumeMode: corev1.PersistentVolumeBlock, ReadOnly: spec.MountsReadOnly(), Source: spec.Source(),
	}
	if backends.Can(t.backend(), storage.Stage) {
		req.StagingPath = t.globalMapPath(spec) + "/staging"
	}
	mount := disk.Mount{Path: req.Target, Source: req.StagingPath, Plugin: t.name, Volume: req.ID, Pod: string(pod.UID), Block: true}
	err := t.k.askFor(p, t.backend(), storage.Publish, req.ID, pod.UID, func() error { return publisher.Publish(req) }, func() error { return fs.Mount(mount) })
	if err != nil {
		return "", err
	}
	return req.Target, nil
}

func (t treePlugin) unmapper(pod types.UID, name string) (func(*engine.Proc) error, error) {
	return func(p *engine.Proc) error {
		publisher, ok := t.backend().(storage.Publisher)
		if !ok {
			return nil
		}
		target, fs := t.device(name, pod), t.k.node.disk
		req := storage.UnpublishRequest{ID: name, Node: t.k.node.name, Target: target}
		err := t.k.askFor(p, t.backend(), storage.Unpublish, name, pod, func() error { return publisher.Unpublish(req) }, func() error { return fs.Unmount(target) })
		if err != nil {
			return err
		}
		return fs.RemoveIfExists(target)
	}, nil
}

func (t treePlugin) tearDownDevice(p *engine.Proc, spec *volumes.Spec) error {
	stager, ok := t.backend().(storage.Stager)
	staging, fs := t.globalMapPath(spec)+"/staging", t.k.node.disk
	if !ok || !fs.Mounted(staging) {
		return nil
	}
	req := storage.UnstageRequest{ID: spec.ID(), Node: t.k.node.name, Path: staging}
	return t.k.ask(p, t.backend(), storage.Unstage, req.ID, func() error { return stager.Unstage(req) }, func() error { return fs.Unmount(staging) })
}
