package differential_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/compare"
)

// TestOutcomesNotice alters upstream observations line by line; Check must notice each alteration.
func TestOutcomesNotice(t *testing.T) {
	changed := 0
	scenarios := []differential.Scenario{differential.GenerateKubelet(3)}
	for seed := range uint64(5) {
		scenarios = append(scenarios, differential.Generate(seed))
	}
	for seed, s := range scenarios {
		theirs := runUpstream(t, s, compare.Random(0))
		var outcomes differential.Outcomes
		outcomes.Add(theirs)
		require.Empty(t, outcomes.Check(theirs), "scenario %d: a run must be among its own outcomes", seed)
		for i := range theirs {
			for _, lines := range []func(*differential.Observation) *[]string{
				func(o *differential.Observation) *[]string { return &o.Refused },
				func(o *differential.Observation) *[]string { return &o.Objects },
				func(o *differential.Observation) *[]string { return &o.Events },
				func(o *differential.Observation) *[]string { return &o.Writes },
				func(o *differential.Observation) *[]string { return &o.Calls },
				func(o *differential.Observation) *[]string { return &o.Orders },
				func(o *differential.Observation) *[]string { return &o.Requests },
				func(o *differential.Observation) *[]string { return &o.Machines },
			} {
				for j := range *lines(&theirs[i]) {
					altered := slices.Clone(theirs)
					list := slices.Clone(*lines(&altered[i]))
					list[j] += " altered"
					*lines(&altered[i]) = list
					require.NotEmpty(t, outcomes.Check(altered), "scenario %d: %q", seed, list[j])
					*lines(&altered[i]) = slices.Delete(slices.Clone(list), j, j+1)
					require.NotEmpty(t, outcomes.Check(altered), "scenario %d: without %q", seed, list[j])
					changed += 2
				}
			}
		}
	}
	require.Greater(t, changed, 500)
}

func TestOutcomes(t *testing.T) {
	seen := func(writes ...string) []differential.Observation {
		return []differential.Observation{{Objects: []string{"same"}, Writes: writes}}
	}
	const a1, a2, b = "PV/a by x: update one", "PV/a by x: update two", "PV/b by y: update"
	tests := []struct {
		name  string
		runs  [][]differential.Observation
		ours  []differential.Observation
		legal bool
	}{
		{"as in the only run", [][]differential.Observation{seen(a1, a2, b)}, seen(a1, a2, b), true},
		{"two objects in the other order", [][]differential.Observation{seen(a1, a2, b)}, seen(a1, b, a2), false},
		{"two objects in any order", [][]differential.Observation{seen(a1, a2, b), seen(b, a1, a2)}, seen(a1, b, a2), true},
		{"one object in the other order", [][]differential.Observation{seen(a1, a2), seen(a1, a2)}, seen(a2, a1), false},
		{"a write more", [][]differential.Observation{seen(a1)}, seen(a1, a1), false},
		{"of two steps each as in another run", [][]differential.Observation{
			append(seen(a1), seen(b)...), append(seen(a2), seen(a1)...),
		}, append(seen(a1), seen(a1)...), true},
		{"the second step after another state", [][]differential.Observation{
			append(seen(a1), seen(b)...), append([]differential.Observation{{Objects: []string{"other"}}}, seen(a1)...),
		}, append(seen(a1), seen(a1)...), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var outcomes differential.Outcomes
			for _, run := range test.runs {
				outcomes.Add(run)
			}
			if why := outcomes.Check(test.ours); (why == "") != test.legal {
				t.Errorf("Check = %q, want legal %v", why, test.legal)
			}
		})
	}
}

func TestShrink(t *testing.T) {
	s := differential.Generate(7)
	step := s.Steps[2]
	small := differential.Shrink(s, func(s differential.Scenario) bool {
		return slices.ContainsFunc(s.Steps, func(other differential.Step) bool {
			return other.Op == step.Op && other.Object == step.Object && other.Ref == step.Ref
		})
	})
	require.Len(t, small.Steps, 1)
	require.Equal(t, step.Op, small.Steps[0].Op)
	require.True(t, small.Steps[0].Settle, "the remaining steps are still examined")
}
