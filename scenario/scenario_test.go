package scenario_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/scenario"
)

// TestNoScript: a script that Parse did not return is an error.
func TestNoScript(t *testing.T) {
	for _, s := range []*scenario.Script{nil, {}} {
		result, err := scenario.Run(s, scenario.Options{})
		require.EqualError(t, err, "run: the script is empty; Parse returns one")
		require.Empty(t, result.Succeeded)
	}
}
