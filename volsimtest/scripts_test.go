package volsimtest_test

import (
	"testing"

	"github.com/volsim/volsim/volsimtest"
)

// TestRunScripts runs a script with known outputs. Two patterns match it.
func TestRunScripts(t *testing.T) {
	volsimtest.RunScripts(t, "../internal/tools/script/testdata/small*.txtar", "../internal/tools/script/testdata/smallest.txtar")
}

func TestScripts(t *testing.T) {
	volsimtest.RunScripts(t, "testdata/*.txtar")
}
