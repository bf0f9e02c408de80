package plugin

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// Block volumes of in-tree plugins.

func (t inTreePlugin) GlobalMapPath(spec *volumes.Spec) string {
	return t.h.Layout.GlobalMap(t.name, spec.ID())
}

func (t inTreePlugin) PrepareMap(*volumes.Spec) error { return nil }

// MapsDevice reports whether a backend publishes the device. The device of a local volume exists already.
func (t inTreePlugin) MapsDevice(*volumes.Spec) bool {
	_, ok := t.backend().(storage.Publisher)
	return ok
}

func (t inTreePlugin) SetUpDevice(p *engine.Process, spec *volumes.Spec) (string, error) {
	stager, ok := t.backend().(storage.Stager)
	if !ok || !backends.Can(t.backend(), storage.Stage) {
		return "", nil
	}
	staging, fs := t.StagingPath(spec), t.h.Disk
	req := storage.NodeRequest{ID: spec.ID(), Node: t.h.Node, StagingPath: staging, Mode: spec.AccessMode(),
		VolumeMode: corev1.PersistentVolumeBlock}
	err := t.h.call(p, backendCall{backend: t.backend(), op: storage.Stage, id: req.ID},
		func() error { return stager.Stage(backends.OwnNode(req)) },
		func() error {
			return fs.Mount(disk.Mount{Path: staging, Plugin: t.name, Volume: req.ID, Block: true})
		})
	if err != nil {
		return "", err
	}
	return staging, nil
}

// device returns where a backend publishes the device of a block volume for a pod.
func (t inTreePlugin) device(id string, pod types.UID) string {
	return t.h.Layout.Plugin(t.name) + "/devices/" + id + "/" + string(pod)
}

func (t inTreePlugin) MapPodDevice(p *engine.Process, spec *volumes.Spec, pod *corev1.Pod) (string, error) {
	publisher, fs := t.backend().(storage.Publisher), t.h.Disk
	req := storage.NodeRequest{
		ID: spec.ID(), Node: t.h.Node, TargetPath: t.device(spec.ID(), pod.UID), Pod: PodRef(pod), Mode: spec.AccessMode(),
		VolumeMode: corev1.PersistentVolumeBlock, ReadOnly: spec.MountsReadOnly(), Source: spec.Source(),
	}
	if backends.Can(t.backend(), storage.Stage) {
		req.StagingPath = t.GlobalMapPath(spec) + "/staging"
	}
	mount := disk.Mount{Path: req.TargetPath, Source: req.StagingPath, Plugin: t.name, Volume: req.ID, Pod: string(pod.UID), Block: true}
	err := t.h.call(p, backendCall{backend: t.backend(), op: storage.Publish, id: req.ID, pod: pod.UID},
		func() error { return publisher.Publish(backends.OwnNode(req)) },
		func() error { return fs.Mount(mount) })
	if err != nil {
		return "", err
	}
	return req.TargetPath, nil
}

func (t inTreePlugin) NewUnmapper(pod types.UID, name string) (func(*engine.Process) error, error) {
	return func(p *engine.Process) error {
		publisher, ok := t.backend().(storage.Publisher)
		if !ok {
			return nil
		}
		target, fs := t.device(name, pod), t.h.Disk
		req := storage.NodeRequest{ID: name, Node: t.h.Node, TargetPath: target}
		err := t.h.call(p, backendCall{backend: t.backend(), op: storage.Unpublish, id: name, pod: pod},
			func() error { return publisher.Unpublish(req) },
			func() error { return fs.Unmount(target) })
		if err != nil {
			return err
		}
		return fs.RemoveIfExists(target)
	}, nil
}

func (t inTreePlugin) TearDownDevice(p *engine.Process, spec *volumes.Spec) error {
	stager, ok := t.backend().(storage.Stager)
	staging, fs := t.GlobalMapPath(spec)+"/staging", t.h.Disk
	if !ok || !fs.Mounted(staging) {
		return nil
	}
	req := storage.NodeRequest{ID: spec.ID(), Node: t.h.Node, StagingPath: staging}
	return t.h.call(p, backendCall{backend: t.backend(), op: storage.Unstage, id: req.ID},
		func() error { return stager.Unstage(req) },
		func() error { return fs.Unmount(staging) })
}
