package scenariotest_test

import (
	"testing"

	"github.com/volsim/volsim/scenario/scenariotest"
)

// TestRun plays a script of which the outputs are known. Two patterns find it.
func TestRun(t *testing.T) {
	scenariotest.Run(t, "../../internal/tools/script/testdata/small*.txtar", "../../internal/tools/script/testdata/smallest.txtar")
}
