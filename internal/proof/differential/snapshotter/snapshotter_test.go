package snapshotter

import (
	"os"
	"testing"

	"k8s.io/client-go/util/retry"

	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/compare"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

func TestMain(m *testing.M) {
	harness.Quiet()
	retry.DefaultRetry.Jitter, retry.DefaultBackoff.Jitter = 0, 0
	os.Exit(m.Run())
}

// TestSnapshots compares scenarios of snapshots.
func TestSnapshots(t *testing.T) {
	compare.Scenarios(t, real, differential.GenerateSnapshots, 20)
}

// TestGroupSnapshots compares scenarios of group snapshots.
func TestGroupSnapshots(t *testing.T) {
	compare.Scenarios(t, real, differential.GenerateGroupSnapshots, 20)
}
