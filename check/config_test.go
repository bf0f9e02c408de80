package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/tools/rules"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

func TestNew(t *testing.T) {
	watch := func(*check.View) check.Watcher { return check.Watcher{} }
	tests := []struct {
		name       string
		invariants []check.Invariant
		want       string
	}{
		{"nothing", nil, ""},
		{"all", check.All(), ""},
		{"no name", []check.Invariant{{Watch: watch}}, "invariant 1 has no name; set Name"},
		{"twice", append(check.All(), check.All()[0]), "invariant one-writer is listed twice"},
		{"no Watch", []check.Invariant{{Name: "mine"}}, "invariant mine has no Watch; set Watch, or take the invariant from All"},
		{"backwards", []check.Invariant{{Name: "mine", Watch: watch, Within: -time.Second}},
			"invariant mine: Within is -1s; set zero or more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checker, err := check.New(tt.invariants, nil, nil)
			if tt.want == "" {
				require.NoError(t, err)
				require.Empty(t, checker.Violations())
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestNamed(t *testing.T) {
	picked, err := check.Named("no-leaked-volume", "one-writer")
	require.NoError(t, err)
	require.Len(t, picked, 2)
	require.Equal(t, "no-leaked-volume", picked[0].Name)
	_, err = check.Named("one-reader")
	require.ErrorContains(t, err, `unknown invariant "one-reader"; known are ["one-writer" `)
}

// TestRules checks that the catalogue has the rules that invariants name.
func TestRules(t *testing.T) {
	catalogue := map[string]bool{}
	for _, rule := range rules.All() {
		catalogue[rule.ID] = true
	}
	for _, inv := range check.All() {
		require.NotEmpty(t, inv.Description, inv.Name)
		require.NotEmpty(t, inv.Rules, inv.Name)
		for _, id := range inv.Rules {
			require.True(t, catalogue[id], "%s names %s, which the catalogue does not have", inv.Name, id)
		}
	}
}

// TestUnforced checks that Unforced removes violations that a forced detachment caused.
func TestUnforced(t *testing.T) {
	h := newHistory(t, "unmount-before-detach")
	h.bound(fake.Modes("RWX"))
	h.mounted("n1", "p1")
	h.mounted("n2", "p2")
	h.forceDetach("v", "n1")
	h.call(storage.Detach, "v", "n1", "")
	h.call(storage.Detach, "v", "n2", "")
	require.Len(t, h.checker.Violations(), 2)
	left := check.Unforced(h.checker.Violations())
	require.Len(t, left, 1)
	require.Equal(t, "n2", left[0].Witness[0].Call.Node)
	// A new attachment ends the forced detachment.
	h.call(storage.Attach, "v", "n1", "")
	h.call(storage.Detach, "v", "n1", "")
	require.Len(t, check.Unforced(h.checker.Violations()), 2)
}

// TestCustomInvariant checks an invariant that is not one of All.
func TestCustomInvariant(t *testing.T) {
	fewUses := check.Invariant{
		Name:        "few-uses",
		Description: "no volume is used more than once",
		Watch: func(v *check.View) check.Watcher {
			return check.Watcher{Called: func(e trace.Entry) {
				if uses := v.Uses(e.Call.Target, e.Call.Key); len(uses) > 1 {
					v.Report(e.Call.Key+" is used twice", uses[1], uses[0])
				}
			}}
		},
	}
	h := newHistory(t)
	var err error
	h.checker, err = check.New([]check.Invariant{fewUses}, nil, nil)
	require.NoError(t, err)
	h.checker.Advance(h.now)
	h.call(storage.Attach, "v", "n1", "")
	h.call(storage.Stage, "v", "n1", "")
	require.Equal(t, `+0s few-uses: v is used twice
  +0s sidecar: disk.example.com Attach v on n1
  +0s kubelet/n1: disk.example.com Stage v on n1`, h.violations())
	require.Equal(t, driver, h.checker.Violations()[0].Backend)
	require.Equal(t, "v", h.checker.Violations()[0].Volume)
}

// TestView checks that objects are as of the entry, and that a violation names the objects of its witness.
func TestView(t *testing.T) {
	var phases []string
	paired := check.Invariant{Name: "paired", Watch: func(v *check.View) check.Watcher {
		return check.Watcher{
			Written: func(e trace.Entry) {
				pv, _ := v.Object(api.Ref{Kind: api.PersistentVolume, Key: "v"}).(*corev1.PersistentVolume)
				if pv == nil {
					phases = append(phases, "gone")
					v.Report("v is gone", e)
					return
				}
				phases = append(phases, string(pv.Status.Phase))
			},
			Passed: func(now time.Time) { phases = append(phases, now.Format("05")) },
		}
	}}
	h := newHistory(t)
	var err error
	h.checker, err = check.New([]check.Invariant{paired}, nil, nil)
	require.NoError(t, err)
	h.checker.Advance(h.now)
	h.put("user", pv("v"))
	h.after(time.Second)
	h.remove("user", pv("v"))
	require.Equal(t, []string{"00", "Bound", "01", "gone"}, phases)
	require.Equal(t, []api.Ref{{Kind: api.PersistentVolume, Key: "v"}}, h.checker.Violations()[0].Objects)
	require.Equal(t, time.Second, h.checker.Violations()[0].At.Sub(engine.DefaultStart))
}
