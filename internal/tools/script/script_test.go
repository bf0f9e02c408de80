package script_test

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/script"
	"github.com/volsim/volsim/volsimtest"
)

func TestScripts(t *testing.T) { volsimtest.RunScripts(t, "testdata/*.txtar") }

func TestReference(t *testing.T) {
	const file = "../../../docs/scripts.md"
	if updating() {
		require.NoError(t, os.WriteFile(file, []byte(script.Reference()), 0o644))
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, script.Reference(), string(data),
		"docs/scripts.md is not current: run go test ./internal/tools/script -run TestReference -update-scripts")
}

// updating reports whether the flag -update-scripts of package volsimtest was given.
func updating() bool { return flag.Lookup("update-scripts").Value.String() == "true" }
