package differential_test

import (
	"testing"

	"github.com/volsim/volsim/internal/proof/differential"
)

// TestDifferentialNodes compares scenarios of nodes that fail.
func TestDifferentialNodes(t *testing.T) { compareScenarios(t, differential.GenerateNodes, 40) }
