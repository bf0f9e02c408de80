package script_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/tools/script"
)

// TestQuiet: a quiet run, on what other runs have left, differs from others only in the outputs of reading commands, which it does not make.
func TestQuiet(t *testing.T) {
	lessons, err := filepath.Glob("../../../examples/*/lesson.txtar")
	require.NoError(t, err)
	own, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, own)
	var shared engine.Remains
	defer shared.Close()
	for _, name := range append(lessons, own...) {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		run := func(opts script.Options) (trace string, failures []string, last string) {
			s, err := script.Parse(name, data)
			require.NoError(t, err)
			s, _, err = s.ForSweep()
			require.NoError(t, err)
			result, _ := script.Run(s, opts)
			require.NotNil(t, result.Cluster, name)
			defer result.Cluster.Close()
			for _, f := range result.Failures {
				failures = append(failures, f.Error())
			}
			var text bytes.Buffer
			require.NoError(t, result.Cluster.Trace().WriteText(&text))
			for i, c := range result.Commands {
				last += c.Error
				if i == len(result.Commands)-1 && c.Command == "backends" {
					last += c.Output
				}
			}
			return text.String(), failures, last
		}
		seed := int64(3)
		trace, failures, last := run(script.Options{Seed: &seed, Continue: true})
		quietTrace, quietFailures, quietLast := run(script.Options{Seed: &seed, Continue: true, Quiet: true, Remains: &shared})
		require.Equal(t, trace, quietTrace, name)
		require.Equal(t, failures, quietFailures, name)
		require.Equal(t, last, quietLast, name)
	}
}
