package backendtest_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/proof/backendtest"
	"github.com/volsim/volsim/storage"
)

func TestMemory(t *testing.T) {
	for name, newBackend := range map[string]func() storage.Backend{
		"driver":         func() storage.Backend { return fake.CSI("disk.example.com") },
		"slow driver":    func() storage.Backend { return fake.CSI("disk.example.com", fake.Latency(storage.Create, time.Second)) },
		"without stage":  func() storage.Backend { return fake.CSI("disk.example.com", fake.Without(storage.Stage)) },
		"without attach": func() storage.Backend { return fake.CSI("disk.example.com", fake.Without(storage.Attach)) },
		"provision only": func() storage.Backend { return fake.CSI("disk.example.com", fake.Only(storage.Create, storage.Delete)) },
		"static only":    func() storage.Backend { return fake.CSI("disk.example.com", fake.Without(storage.Create)) },
		"created only":   func() storage.Backend { return fake.CSI("disk.example.com", fake.CreatedOnly()) },
		"large volumes":  func() storage.Backend { return fake.CSI("disk.example.com", fake.MinSize("3Gi"), fake.MaxSize("20Gi")) },
		"with zones": func() storage.Backend {
			return fake.CSI("disk.example.com", fake.Topology(storage.Segment{"zone": "a"}))
		},
		"offline expansion": func() storage.Backend { return fake.CSI("disk.example.com", fake.OfflineExpansion()) },
		"in-tree":           func() storage.Backend { return fake.InTree("kubernetes.io/mock-storage") },
		"nfs":               func() storage.Backend { return fake.NFS() },
	} {
		t.Run(name, func(t *testing.T) { backendtest.Run(t, newBackend) })
	}
}

// The hostPath plugin does not provision, so it is checked with a static volume, at a path that it may delete.
func TestHostPath(t *testing.T) {
	source := &corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/data"}}
	backendtest.Run(t, func() storage.Backend { return fake.HostPath(fake.Without(storage.Create)) }, backendtest.Static("pv1", source))
}
