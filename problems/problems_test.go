package problems

import (
	"testing"

	"github.com/volsim/volsim/scenario/scenariotest"
)

func TestProblems(t *testing.T) { scenariotest.Run(t, "*.txtar") }
