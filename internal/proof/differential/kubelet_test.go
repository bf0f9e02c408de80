package differential_test

import (
	"testing"

	"github.com/volsim/volsim/internal/proof/differential"
)

// TestDifferentialKubelet compares scenarios of pods on nodes with kubelets and their volume managers.
func TestDifferentialKubelet(t *testing.T) { compareScenarios(t, differential.GenerateKubelet, 20) }
