package volsimtest

import (
	"testing"

	"github.com/volsim/volsim/internal/proof/backendtest"
	"github.com/volsim/volsim/storage"
)

// TestBackend checks that a storage backend implements the contract of package storage, which is that of CSI. It calls newBackend for each
// check, which is a subtest; all backends must be alike. A check runs only if the backend supports the operations that it needs. A backend
// that cannot create volumes is checked with a static volume, which it must have from the start: static is its handle, by default
// "backendtest-static".
//
//	func TestDriver(t *testing.T) {
//		volsimtest.TestBackend(t, func() storage.Backend { return NewDriver() })
//	}
func TestBackend(t *testing.T, newBackend func() storage.Backend, static ...string) {
	t.Helper()
	var options []backendtest.Option
	if len(static) > 1 {
		t.Fatalf("volsimtest.TestBackend: %d static volumes; give one", len(static))
	}
	for _, handle := range static {
		options = append(options, backendtest.Static(handle, nil))
	}
	backendtest.Run(t, newBackend, options...)
}
