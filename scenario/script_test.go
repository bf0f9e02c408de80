package scenario_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/scenario"
	"github.com/volsim/volsim/scenario/scenariotest"
)

func TestScripts(t *testing.T) { scenariotest.Run(t, "testdata/*.txtar") }

func TestReference(t *testing.T) {
	const file = "../docs/scripts.md"
	if scenariotest.Updating() {
		require.NoError(t, os.WriteFile(file, []byte(scenario.Reference()), 0o644))
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, scenario.Reference(), string(data), "docs/scripts.md is not current: run go test ./scenario -run TestReference -update-scripts")
}
