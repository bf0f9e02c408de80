package explore

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/check"
)

// TestExample checks that the example finds both outcomes, by seeds and systematically, and that its Job runs all shards.
func TestExample(t *testing.T) {
	data, err := os.ReadFile("../../../examples/sweep/race.txtar")
	require.NoError(t, err)
	script, err := ReadScript("race.txtar", data)
	require.NoError(t, err)
	var r Report
	for seed := range int64(100) {
		r.Add(script.RunSeed(seed))
	}
	require.Len(t, r.Outcomes, 2)
	require.Empty(t, r.Violated)

	model, err := os.ReadFile("../../../examples/sweep/world.yaml")
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(data), "-- both.yaml --\n"+string(model)), "the manifest is that of the script")

	w, err := Manifest{Data: model, Without: []string{"kubelet"}, Check: check.All()}.Model()
	require.NoError(t, err)
	whole, err := Exhaustive(w, Options{})
	require.NoError(t, err)
	require.True(t, whole.Finished)
	require.Len(t, whole.Outcomes, 2)

	small, err := os.ReadFile("../../../examples/sweep/small.txtar")
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(small), "-- both.yaml --\n"+string(model)))
	script, err = ReadScript("small.txtar", small)
	require.NoError(t, err)
	x, err := Exhaustive(script.Model(0), Options{MaxRuns: searches(400, DefaultMaxRuns)})
	require.NoError(t, err)
	require.Equal(t, *deep, x.Finished)
	if x.Finished {
		require.ElementsMatch(t, ids(r.Outcomes), ids(x.Outcomes), "the seeds, with all controllers, find the same")
	} else {
		require.Subset(t, ids(r.Outcomes), ids(x.Outcomes), "the first runs of the exploration find nothing else")
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
