package conformance

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
)

// The storage of a node recording refuses nothing by itself: it does not look at whether a volume is attached, staged or in use
// elsewhere. What goes wrong is up to the faults of the cluster.

// nodeStorage is what CSI drivers and NFS have in common: how long their calls take.
type nodeStorage struct {
	name  string
	delay map[fake.Op]time.Duration
}

// callNames are how node recordings call operations.
var callNames = map[fake.Op]string{
	fake.Attach: "Attach", fake.Detach: "Detach", fake.Stage: "MountDevice", fake.Unstage: "UnmountDevice",
	fake.Publish: "SetUp", fake.Unpublish: "TearDown",
}

// opOf is the operation that node recordings call so; "" is none.
func opOf(call string) (fake.Op, error) {
	for op, name := range callNames {
		if name == call {
			return op, nil
		}
	}
	return "", fmt.Errorf("there is no call %q", call)
}

// newNodeStorage makes a backend as a scenario describes it.
func newNodeStorage(name string, b NodeBackend) (fake.Backend, error) {
	storage := nodeStorage{name: name, delay: map[fake.Op]time.Duration{}}
	for op, ms := range map[fake.Op]int{
		fake.Attach: b.AttachLatencyMs, fake.Detach: b.DetachLatencyMs, fake.Stage: b.MountDeviceLatencyMs,
		fake.Unstage: b.UnmountDeviceLatencyMs, fake.Publish: b.SetUpLatencyMs, fake.Unpublish: b.TearDownLatencyMs,
	} {
		storage.delay[op] = time.Duration(ms) * time.Millisecond
	}
	switch b.Kind {
	case "csi":
		return csiStorage{storage, b.NoStage}, nil
	case "nfs":
		storage.name = nfsName
		return nfsStorage{storage}, nil
	}
	return nil, fmt.Errorf("backend %q: there is no kind %q", name, b.Kind)
}

func (s nodeStorage) Name() string { return s.name }

func (s nodeStorage) Delay(op fake.Op, _ string) time.Duration { return s.delay[op] }

func (s nodeStorage) Publish(fake.PublishRequest) error { return nil }

func (s nodeStorage) Unpublish(fake.UnpublishRequest) error { return nil }

// csiStorage is a CSI driver.
type csiStorage struct {
	nodeStorage
	noStage bool
}

func (s csiStorage) Can(op fake.Op) bool { return !s.noStage || op != fake.Stage && op != fake.Unstage }

func (s csiStorage) Attach(fake.AttachRequest) (fake.AttachResponse, error) {
	return fake.AttachResponse{}, nil
}

func (s csiStorage) Detach(fake.DetachRequest) error { return nil }

func (s csiStorage) Stage(fake.StageRequest) error { return nil }

func (s csiStorage) Unstage(fake.UnstageRequest) error { return nil }

// nfsStorage is the plugin of volumes with an nfs source.
type nfsStorage struct{ nodeStorage }

func (s nfsStorage) Supports(source *corev1.PersistentVolumeSource) bool {
	return source != nil && source.NFS != nil
}
