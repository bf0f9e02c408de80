package volsimtest_test

import (
	"testing"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/volsimtest"
)

func TestTestBackend(t *testing.T) {
	volsimtest.TestBackend(t, func() storage.Backend { return fake.CSI("disk.example.com") })
	volsimtest.TestBackend(t, func() storage.Backend { return fake.NFS() }, "exports")
}
