package backendtest_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/fake/backendtest"
)

func TestMemoryKeepsThePromises(t *testing.T) {
	for name, newBackend := range map[string]func() fake.Backend{
		"driver":            func() fake.Backend { return fake.CSI("disk.example.com") },
		"slow driver":       func() fake.Backend { return fake.CSI("disk.example.com", fake.Latency(fake.Create, time.Second)) },
		"without stage":     func() fake.Backend { return fake.CSI("disk.example.com", fake.WithoutStage()) },
		"without attach":    func() fake.Backend { return fake.CSI("disk.example.com", fake.WithoutAttach()) },
		"provision only":    func() fake.Backend { return fake.CSI("disk.example.com", fake.ProvisionOnly()) },
		"static only":       func() fake.Backend { return fake.CSI("disk.example.com", fake.Without(fake.Create)) },
		"created only":      func() fake.Backend { return fake.CSI("disk.example.com", fake.CreatedOnly()) },
		"large volumes":     func() fake.Backend { return fake.CSI("disk.example.com", fake.MinSize("3Gi"), fake.MaxSize("20Gi")) },
		"with zones":        func() fake.Backend { return fake.CSI("disk.example.com", fake.Topology(fake.Segment{"zone": "a"})) },
		"offline expansion": func() fake.Backend { return fake.CSI("disk.example.com", fake.OfflineExpansion()) },
		"in-tree":           func() fake.Backend { return fake.InTree("kubernetes.io/mock-storage") },
		"nfs":               func() fake.Backend { return fake.NFS() },
	} {
		t.Run(name, func(t *testing.T) { backendtest.Run(t, newBackend) })
	}
}

// The hostPath plugin has a provisioner that refuses, so it is checked with a static volume, at a path that it would delete.
func TestHostPathKeepsThePromises(t *testing.T) {
	source := &corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/data"}}
	backendtest.Run(t, func() fake.Backend { return fake.HostPath(fake.Without(fake.Create)) }, backendtest.Static("pv1", source))
}
