package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/tools/rules"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

func TestNew(t *testing.T) {
	watch := func(check.Invariant, *check.World) check.Watcher { return check.Watcher{} }
	tests := []struct {
		name string
		cfg  check.Config
		want string
	}{
		{"nothing", check.Config{}, ""},
		{"all", check.Config{Invariants: check.All()}, ""},
		{"no name", check.Config{Invariants: []check.Invariant{{Watch: watch}}}, "invariant 1 has no name: give it one"},
		{"twice", check.Config{Invariants: append(check.All(), check.All()[0])}, "invariant one-writer is there twice"},
		{"no Watch", check.Config{Invariants: []check.Invariant{{Name: "mine"}}}, "invariant mine has no Watch: take it from All, or give it one"},
		{"backwards", check.Config{Invariants: []check.Invariant{{Name: "mine", Watch: watch, Within: -time.Second}}},
			"invariant mine has to hold within -1s: give zero or more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checker, err := check.New(tt.cfg)
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
	require.ErrorContains(t, err, `there is no invariant "one-reader": there are ["one-writer" `)
	rest, err := check.Without("one-writer")
	require.NoError(t, err)
	require.Len(t, rest, len(check.All())-1)
	require.Equal(t, "one-attachment", rest[0].Name)
	_, err = check.Without("one-reader")
	require.Error(t, err)
}

// TestRules looks whether the rules that invariants name are in the catalogue.
func TestRules(t *testing.T) {
	var catalogue []string
	for _, rule := range rules.All() {
		catalogue = append(catalogue, rule.ID)
	}
	for _, inv := range check.All() {
		require.NotEmpty(t, inv.Says, inv.Name)
		require.NotEmpty(t, inv.Rules, inv.Name)
		for _, id := range inv.Rules {
			require.Contains(t, catalogue, id, inv.Name)
		}
	}
}

// TestUnforced leaves out what somebody forced.
func TestUnforced(t *testing.T) {
	h := newTale(t, "unmount-before-detach")
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
	// Who is attached anew is no longer detached by force.
	h.call(storage.Attach, "v", "n1", "")
	h.call(storage.Detach, "v", "n1", "")
	require.Len(t, check.Unforced(h.checker.Violations()), 2)
}

// TestInvariantOfOnesOwn adds an invariant that is not one of All.
func TestInvariantOfOnesOwn(t *testing.T) {
	small := check.Invariant{
		Name: "few-uses", Says: "no volume is used more than once",
		Watch: func(inv check.Invariant, w *check.World) check.Watcher {
			return check.Watcher{Changed: func(id check.VolumeID) {
				if uses := w.Uses(id); len(uses) > 1 {
					w.Report(inv, check.Violation{Volume: id, Text: id.String() + " is used twice", Witness: []trace.Entry{uses[1].Entry, uses[0].Entry}})
				}
			}}
		},
	}
	h := newTale(t)
	var err error
	h.checker, err = check.New(check.Config{Invariants: []check.Invariant{small}})
	require.NoError(t, err)
	h.call(storage.Attach, "v", "n1", "")
	h.call(storage.Stage, "v", "n1", "")
	require.Equal(t, `+0s few-uses: v of disk.example.com is used twice
  +0s sidecar: disk.example.com Attach v on n1
  +0s kubelet/n1: disk.example.com Stage v on n1`, h.told())
}
