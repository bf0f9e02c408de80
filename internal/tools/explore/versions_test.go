package explore

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/api"
)

// TestCopiesOfThePast: what follows one copy of a past does not show in what has followed another.
func TestCopiesOfThePast(t *testing.T) {
	run, err := stage(t, func(*scene) {})(nil)
	require.NoError(t, err)
	defer run.Engine.Close()
	tracker := newTracker(run, func(api.Kind, api.Object) {}, nil)
	write := func(text string) {
		label(run.Engine.User(), "a", text)
		tracker.look()
	}
	known := func(p past) []uint64 { return p.objects.byRef[api.Ref{Kind: api.PersistentVolume, Key: "a"}].known }
	// With each number of versions, for there may be room for more behind them.
	for range 4 {
		write("before")
		before := tracker.now.clone()
		write("one")
		one := tracker.now.clone()
		versions := slices.Clone(known(one))
		tracker.now = before.clone()
		write("other")
		require.Equal(t, versions, known(one))
		require.NotEqual(t, versions, known(tracker.now))
	}
}
