package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// one is a volume and a claim that match.
const one = `apiVersion: v1
kind: PersistentVolume
metadata: {name: only}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /tmp/only}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec:
  storageClassName: ""
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`

// idle names the controllers that have nothing to do if there are only volumes and claims.
var idle = []string{
	"kubelet", "attachdetach-controller", "kube-scheduler", "ephemeral-volume-controller", "garbage-collector",
	"pod-garbage-collector-controller",
	"persistentvolume-expander-controller", "volumeattributesclass-protection-controller", "recycler-pod-runner",
	"pv-protection-controller", "pvc-protection-controller",
}

func ids(all []Found) (ids []string) {
	for _, f := range all {
		ids = append(ids, f.ID)
	}
	return ids
}

// counting is a model in which each actor reads a volume, adds a finalizer, and writes it back.
func counting(actors int) Model {
	return func(choose func(n int) int) (*Run, error) {
		e, err := engine.New(engine.Config{Choose: choose, Trace: &trace.Trace{}})
		if err != nil {
			return nil, err
		}
		if _, err := e.API().Create(e.User(), fake.Volume("counter", "1Gi"), store.CreateOptions{}); err != nil {
			return nil, err
		}
		var names []string
		for i := range actors {
			names = append(names, fmt.Sprintf("actor-%d", i))
			_, err := e.NewActor(names[i], func(a *engine.Actor) {
				a.Go("count", func(p *engine.Process) {
					pv, err := e.API().Volumes.Get(p, "counter")
					if err != nil {
						return
					}
					pv = pv.DeepCopy()
					pv.Finalizers = append(pv.Finalizers, "example.com/"+a.Name())
					_, _ = e.API().Volumes.Update(p, pv)
				})
			})
			if err != nil {
				return nil, err
			}
		}
		return &Run{Engine: e, Independent: names, Execute: func() error { e.Advance(0); return nil }}, nil
	}
}

func TestExhaustive(t *testing.T) {
	t.Run("every order is run once", func(t *testing.T) {
		// Each actor has five events: its start, and one after each of the two switch points of both calls. So there are 10 choose 5 orders.
		x, err := Exhaustive(counting(2), Options{NoPrune: true})
		require.NoError(t, err)
		require.Equal(t, 252, x.Runs)
		require.True(t, x.Finished)
		require.Zero(t, x.Pruned)
		total := 0
		for _, o := range x.Outcomes {
			total += o.Count
		}
		require.Equal(t, x.Runs, total)
	})
	t.Run("pruning finds the same outcomes in fewer runs", func(t *testing.T) {
		whole, err := Exhaustive(counting(2), Options{NoPrune: true})
		require.NoError(t, err)
		pruned, err := Exhaustive(counting(2), Options{})
		require.NoError(t, err)
		require.True(t, pruned.Finished)
		require.Less(t, pruned.Runs, whole.Runs)
		require.ElementsMatch(t, ids(whole.Outcomes), ids(pruned.Outcomes))
		again, err := Exhaustive(counting(2), Options{})
		require.NoError(t, err)
		require.Equal(t, pruned, again)
	})
	t.Run("the result does not depend on the number of models", func(t *testing.T) {
		w, err := Manifest{Data: []byte(one), Without: idle, Check: check.All()}.Model()
		require.NoError(t, err)
		alone, err := Exhaustive(w, Options{})
		require.NoError(t, err)
		for _, others := range [][]Model{{w}, {w, w, w}} {
			together, err := Exhaustive(w, Options{Others: others})
			require.NoError(t, err)
			require.Equal(t, alone, together)
		}
	})
	t.Run("the later writer gets a conflict", func(t *testing.T) {
		// An actor that read before another wrote gets a conflict. Any subset of the actors but the empty one may have written.
		x, err := Exhaustive(counting(3), Options{})
		require.NoError(t, err)
		require.True(t, x.Finished)
		require.Len(t, x.Outcomes, 7)
	})
	t.Run("bounds", func(t *testing.T) {
		x, err := Exhaustive(counting(2), Options{NoPrune: true, MaxRuns: 10})
		require.NoError(t, err)
		require.Equal(t, 10, x.Runs)
		require.False(t, x.Finished)
		require.Equal(t, "10 runs", x.Bounded)
		x, err = Exhaustive(counting(2), Options{NoPrune: true, MaxChoices: 3})
		require.NoError(t, err)
		require.Equal(t, 8, x.Runs)
		require.False(t, x.Finished)
		x, err = Exhaustive(counting(2), Options{NoPrune: true, MaxRuns: 252})
		require.NoError(t, err)
		require.True(t, x.Finished, "the last run was within the bound")
		_, err = Exhaustive(counting(2), Options{MaxRuns: -1})
		require.ErrorContains(t, err, "MaxRuns is -1")
	})
	t.Run("a model that changes", func(t *testing.T) {
		runs := 0
		_, err := Exhaustive(func(choose func(n int) int) (*Run, error) {
			runs++
			return counting(1 + runs)(choose)
		}, Options{})
		require.ErrorIs(t, err, errChanged)
	})
	t.Run("a model that cannot be made", func(t *testing.T) {
		_, err := Exhaustive(func(func(n int) int) (*Run, error) { return nil, fmt.Errorf("no luck") }, Options{})
		require.ErrorContains(t, err, "make the model: no luck")
	})
}

// TestExhaustiveFindsWhatSeedsFind explores a model with the real controllers completely and checks that no seed finds another outcome.
func TestExhaustiveFindsWhatSeedsFind(t *testing.T) {
	m := Manifest{Data: []byte(one), Without: idle, Check: check.All()}
	w, err := m.Model()
	require.NoError(t, err)
	x, err := Exhaustive(w, Options{})
	require.NoError(t, err)
	require.True(t, x.Finished, x.Bounded)
	require.Len(t, x.Outcomes, 2)
	require.Empty(t, x.Violated)

	found := map[string]bool{}
	for seed := range int64(searches(200, 2000)) {
		m.Seed = seed + 1
		w, err := m.Model()
		require.NoError(t, err)
		run, err := w(nil)
		require.NoError(t, err)
		found[run.outcome(run.Execute()).ID()] = true
		run.Engine.Close()
	}
	require.Greater(t, len(found), 1, "seeds find the race as well")
	for id := range found {
		require.Contains(t, ids(x.Outcomes), id)
	}
	for _, o := range x.Outcomes {
		choices, err := ReadChoices([]byte(FormatChoices(o.Choices)))
		require.NoError(t, err)
		run, outcome, err := Replay(w, choices)
		require.NoError(t, err)
		run.Engine.Close()
		require.Equal(t, o.Outcome, outcome, "its choices repeat it")
	}
}

// TestExhaustiveViolation checks that a violated invariant is reported with the shortest trace.
func TestExhaustiveViolation(t *testing.T) {
	never := check.Invariant{Name: "never-bound", Description: "no claim is bound", Watch: func(v *check.View) check.Watcher {
		return check.Watcher{Written: func(e trace.Entry) {
			if pvc, ok := e.New.(*corev1.PersistentVolumeClaim); ok && pvc.Status.Phase == corev1.ClaimBound {
				v.Report("a claim is bound", e)
			}
		}}
	}}
	w, err := Manifest{Data: []byte(one), Without: idle, Check: []check.Invariant{never}}.Model()
	require.NoError(t, err)
	x, err := Exhaustive(w, Options{MaxRuns: 300})
	require.NoError(t, err)
	require.Len(t, x.Violated, 1)
	v := x.Violated[0]
	require.Equal(t, "never-bound", v.Invariant)
	run, _, err := Replay(w, v.Choices)
	require.NoError(t, err)
	defer run.Engine.Close()
	require.Len(t, run.Violations(), 1)
	require.Equal(t, v.Entries, run.Violations()[0].Witness[0].Seq)
	require.Equal(t, v.Text, run.Violations()[0].String())
	require.Less(t, v.Count, x.Runs)
}

func TestManifestMistakes(t *testing.T) {
	for _, tt := range []struct {
		name string
		m    Manifest
		want string
	}{
		{"no YAML", Manifest{Data: []byte("kind: [")}, "explore: "},
		{"no such controller", Manifest{Data: []byte(one), Without: []string{"no-such-controller"}}, `Without names "no-such-controller"`},
		{"an invariant twice", Manifest{Data: []byte(one), Check: append(check.All(), check.All()...)}, "is listed twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.m.Model()
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, strings.TrimSpace(err.Error()), "\n")
		})
	}
}

func TestChoices(t *testing.T) {
	require.Equal(t, "0", FormatChoices(nil))
	require.Equal(t, "0,2", FormatChoices([]engine.Choice{{N: 3}, {N: 4, Picked: 2}, {N: 2}}))
	for _, bad := range []string{"x", "-1", "1 2 99999999999999999999"} {
		_, err := ReadChoices([]byte(bad))
		require.ErrorContains(t, err, "want a number from 0 on")
	}
}

// TestGoals explores models with the real controllers, completely with -deep. The first runs, without it, find known outcomes only.
func TestGoals(t *testing.T) {
	const other = one + "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: other, namespace: default}\n" +
		"spec: {storageClassName: \"\", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	protected := slices.DeleteFunc(slices.Clone(idle), func(name string) bool { return name == actors.PVProtection || name == actors.PVCProtection })
	models := []struct {
		name     string
		manifest Manifest
		outcomes int
		states   int
	}{
		{"one claim", Manifest{Data: []byte(one), Without: idle, Check: check.All()}, 2, 10_000},
		{"one claim, with both protection controllers", Manifest{Data: []byte(one), Without: protected, Check: check.All()}, 2, 30_000},
		{"two claims for one volume", Manifest{Data: []byte(other), Without: idle, Check: check.All()}, 3, 40_000},
	}
	if testing.Short() {
		// The race detector takes ten times as long.
		models = models[:1]
	}
	for _, tt := range models {
		t.Run(tt.name, func(t *testing.T) {
			w, err := tt.manifest.Model()
			require.NoError(t, err)
			x, err := Exhaustive(w, Options{MaxRuns: searches(300, DefaultMaxRuns)})
			require.NoError(t, err)
			require.Equal(t, *deep, x.Finished)
			require.Empty(t, x.Violated)
			require.Less(t, x.States, tt.states)
			seeds := sampledIDs(t, tt.manifest, searches(100, 300))
			if x.Finished {
				require.Len(t, x.Outcomes, tt.outcomes)
				require.Subset(t, ids(x.Outcomes), seeds)
			} else {
				require.Len(t, seeds, tt.outcomes, "random orders find all outcomes")
				require.Subset(t, seeds, ids(x.Outcomes))
			}
			t.Logf("%d states, %d runs", x.States, x.Runs)
		})
	}
}

// sampledIDs returns the outcomes that some seeds find.
func sampledIDs(t *testing.T, m Manifest, seeds int) []string {
	t.Helper()
	all := map[string]bool{}
	for seed := range seeds {
		m.Seed = int64(seed + 1)
		w, err := m.Model()
		require.NoError(t, err)
		run, err := w(nil)
		require.NoError(t, err)
		all[run.outcome(run.Execute()).ID()] = true
		run.Engine.Close()
	}
	return slices.Sorted(maps.Keys(all))
}

// TestScriptModel explores a script with its expectations and checks that choices repeat its outcomes.
func TestScriptModel(t *testing.T) {
	text := "config without=" + strings.Join(idle, ",") +
		"\napply -f both.yaml\nadvance 1s\nexpect pvc/data phase=Bound\nadvance 15s\n-- both.yaml --\n" + one
	s, err := ReadScript("x.txtar", []byte(text))
	require.NoError(t, err)
	x, err := Exhaustive(s.Model(0), Options{MaxRuns: searches(300, DefaultMaxRuns)})
	require.NoError(t, err)
	require.Equal(t, *deep, x.Finished)
	var seeds Report
	for seed := range int64(searches(100, 300)) {
		seeds.Add(s.RunSeed(seed))
	}
	// The same outcome has the same ID, whether a seed or choices led to it.
	if x.Finished {
		require.Len(t, x.Failed, 1)
		require.Equal(t, 4, x.Failed[0].Line)
		require.Subset(t, ids(x.Outcomes), ids(seeds.Outcomes))
	} else {
		require.Len(t, seeds.Failed, 1)
		require.Equal(t, 4, seeds.Failed[0].Line)
		require.Subset(t, ids(seeds.Outcomes), ids(x.Outcomes))
	}
	for _, o := range x.Outcomes {
		run, outcome, err := Replay(s.Model(0), o.Choices)
		require.NoError(t, err)
		run.Engine.Close()
		require.Equal(t, o.Outcome, outcome)
		require.Equal(t, o.Failed, strings.Contains(string(outcome), "failed: line 4"))
	}
}

// TestScriptReads checks that what a script reads belongs to the state.
func TestScriptReads(t *testing.T) {
	for _, tt := range []struct {
		line           string
		order, injects bool
	}{
		{"expect pvc/data phase=Bound", false, false},
		{"get pvc", false, false},
		{"get pvc -o yaml", true, false},
		{"get events", true, false},
		{"events", true, false},
		{"expect event pvc/data reason=FailedBinding", true, false},
		{"expect write pv/only count=2", true, false},
		{"expect pvc/data version=7", true, false},
		{"explain pvc/data", true, false},
		{"trace", true, false},
		{"fault api update pv error=Conflict once", false, true},
	} {
		t.Run(tt.line, func(t *testing.T) {
			s, err := ReadScript("x.txtar", []byte("backend disk.example.com\n"+tt.line+"\n"))
			require.NoError(t, err)
			run, err := s.Model(0)(nil)
			require.NoError(t, err)
			defer run.Engine.Close()
			require.Equal(t, tt.order, run.Ordered)
			require.Equal(t, tt.injects, run.Injects)
		})
	}
}
