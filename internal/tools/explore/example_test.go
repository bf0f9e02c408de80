package explore_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/internal/tools/explore"
)

// TestExample: the example finds both ends, by seeds and in every order, and its Job deals all seeds.
func TestExample(t *testing.T) {
	data, err := os.ReadFile("../../../examples/sweep/race.txtar")
	require.NoError(t, err)
	script, err := explore.ReadScript("race.txtar", data)
	require.NoError(t, err)
	var r explore.Report
	for seed := range int64(100) {
		r.Add(script.Play(seed))
	}
	require.Len(t, r.Outcomes, 2)
	require.Empty(t, r.Violated)

	world, err := os.ReadFile("../../../examples/sweep/world.yaml")
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(data), "-- both.yaml --\n"+string(world)), "the world is that of the script")

	small, err := os.ReadFile("../../../examples/sweep/small.txtar")
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(small), "-- both.yaml --\n"+string(world)))
	script, err = explore.ReadScript("small.txtar", small)
	require.NoError(t, err)
	x, err := explore.Exhaustive(script.World(0), explore.Options{})
	require.NoError(t, err)
	require.True(t, x.Finished)
	require.Len(t, x.Outcomes, 2)
	for i, o := range r.Outcomes {
		require.Contains(t, []explore.Outcome{x.Outcomes[0].Outcome, x.Outcomes[1].Outcome}, o.Outcome, "outcome %d of the seeds, with all controllers", i)
	}

	manifest, err := os.ReadFile("../../../examples/sweep/job.yaml")
	require.NoError(t, err)
	var job struct {
		Spec struct {
			CompletionMode string
			Completions    int
			Template       struct {
				Spec struct{ Containers []struct{ Args []string } }
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(manifest, &job))
	require.Equal(t, "Indexed", job.Spec.CompletionMode)
	require.Equal(t, 16, job.Spec.Completions)
	require.Contains(t, job.Spec.Template.Spec.Containers[0].Args, "--shard=job/16")
}
