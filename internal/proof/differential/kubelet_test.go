package differential_test

import (
	"testing"

	"github.com/volsim/volsim/internal/proof/differential"
)

// TestDifferentialKubelet plays scenarios of pods on nodes with kubelets, with their volume managers.
func TestDifferentialKubelet(t *testing.T) { compareScenarios(t, differential.GenerateKubelet, 20) }
