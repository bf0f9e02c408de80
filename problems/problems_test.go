package problems

import (
	"testing"

	"github.com/volsim/volsim/volsimtest"
)

func TestProblems(t *testing.T) { volsimtest.RunScripts(t, "*.txtar") }
