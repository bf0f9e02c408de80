package conformance

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/storage"
)

// The storage of a node recording checks nothing: neither whether a volume is attached or staged, nor whether it is in use elsewhere.
// Failures are faults of the cluster.

// nodeStorage is common to CSI drivers and NFS: the durations of their calls.
type nodeStorage struct {
	name  string
	delay map[storage.Op]time.Duration
}

// callNames are the names of operations in node recordings.
var callNames = map[storage.Op]string{
	storage.Attach: "Attach", storage.Detach: "Detach", storage.Stage: "MountDevice", storage.Unstage: "UnmountDevice",
	storage.Publish: "SetUp", storage.Unpublish: "TearDown",
}

// opOf returns the operation of that name; "" if there is none.
func opOf(call string) (storage.Op, error) {
	for op, name := range callNames {
		if name == call {
			return op, nil
		}
	}
	return "", fmt.Errorf("there is no call %q", call)
}

// newNodeStorage returns the backend that a scenario describes.
func newNodeStorage(name string, b NodeBackend) (storage.Backend, error) {
	backend := nodeStorage{name: name, delay: map[storage.Op]time.Duration{}}
	for op, ms := range map[storage.Op]int{
		storage.Attach: b.AttachLatencyMs, storage.Detach: b.DetachLatencyMs, storage.Stage: b.MountDeviceLatencyMs,
		storage.Unstage: b.UnmountDeviceLatencyMs, storage.Publish: b.SetUpLatencyMs, storage.Unpublish: b.TearDownLatencyMs,
	} {
		backend.delay[op] = time.Duration(ms) * time.Millisecond
	}
	switch b.Kind {
	case "csi":
		return csiStorage{backend, b.NoStage}, nil
	case "nfs":
		backend.name = nfsName
		return nfsStorage{backend}, nil
	}
	return nil, fmt.Errorf("backend %q: there is no kind %q", name, b.Kind)
}

func (s nodeStorage) Name() string { return s.name }

func (s nodeStorage) Delay(op storage.Op, _ string) time.Duration { return s.delay[op] }

func (s nodeStorage) Publish(storage.NodeRequest) error { return nil }

func (s nodeStorage) Unpublish(storage.NodeRequest) error { return nil }

// csiStorage is a CSI driver.
type csiStorage struct {
	nodeStorage
	noStage bool
}

func (s csiStorage) Capabilities() storage.Capabilities {
	if !s.noStage {
		return storage.Capabilities{}
	}
	return storage.Capabilities{Without: []storage.Op{storage.Stage, storage.Unstage}}
}

func (s csiStorage) Attach(storage.NodeRequest) (map[string]string, error) {
	return nil, nil
}

func (s csiStorage) Detach(storage.NodeRequest) error { return nil }

func (s csiStorage) Stage(storage.NodeRequest) error { return nil }

func (s csiStorage) Unstage(storage.NodeRequest) error { return nil }

// nfsStorage is the plugin of volumes with an nfs source.
type nfsStorage struct{ nodeStorage }

func (s nfsStorage) Supports(source *corev1.PersistentVolumeSource) bool {
	return source != nil && source.NFS != nil
}
