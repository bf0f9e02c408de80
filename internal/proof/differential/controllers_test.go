package differential_test

import (
	"testing"

	"github.com/volsim/volsim/internal/proof/differential"
)

// TestDifferentialStatefulSets compares scenarios of StatefulSets.
func TestDifferentialStatefulSets(t *testing.T) {
	compareScenarios(t, differential.GenerateStatefulSets, 20)
}
