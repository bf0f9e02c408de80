package volsimtest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/proof/backendtest"
	"github.com/volsim/volsim/storage"
)

// StaticVolume is a volume that every new backend under test already has.
type StaticVolume struct {
	// ID is the volume's handle, as in storage requests.
	ID string
	// Source is what in-tree plugins read; nil for CSI drivers.
	Source *corev1.PersistentVolumeSource
}

// TestBackend checks that a storage backend keeps the promises of package storage, which are those of CSI. It calls newBackend for each
// check, which is a subtest; all backends must be alike. A check runs only if the backend supports the operations that it needs. A backend
// that cannot create volumes is checked with its static volume; without one, the handle is "backendtest-static".
//
//	func TestDriver(t *testing.T) {
//		volsimtest.TestBackend(t, func() storage.Backend { return NewDriver() })
//	}
func TestBackend(t *testing.T, newBackend func() storage.Backend, static ...StaticVolume) {
	t.Helper()
	var options []backendtest.Option
	if len(static) > 1 {
		t.Fatalf("volsimtest.TestBackend: %d static volumes; give one", len(static))
	}
	for _, v := range static {
		options = append(options, backendtest.Static(v.ID, v.Source))
	}
	backendtest.Run(t, newBackend, options...)
}
