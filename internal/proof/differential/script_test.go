package differential_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/scenario"
)

// TestScripts writes scenarios as scripts and runs them.
func TestScripts(t *testing.T) {
	for _, generate := range []func(uint64) differential.Scenario{differential.Generate, differential.GenerateAttach,
		differential.GenerateKubelet, differential.GenerateBlock, differential.GenerateNodeExpand,
		differential.GenerateInline, differential.GenerateKubeletFaults, differential.GeneratePodStatus, differential.GenerateOwnClaims, differential.GeneratePodVolumes,
		differential.GenerateFSGroup,
		differential.GenerateAttachLimit, differential.GenerateNodeVolumes} {
		for seed := range uint64(100) {
			text, err := generate(seed).Script()
			require.NoError(t, err)
			script, err := scenario.Parse("scenario.txtar", []byte(text))
			require.NoError(t, err, text)
			if seed >= 10 {
				continue
			}
			_, err = scenario.Run(script, scenario.Options{})
			require.NoError(t, err, text)
		}
	}
}
