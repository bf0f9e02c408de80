package explore

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/api"
)

// TestCopiesOfThePast checks that copies of a past do not share memory.
func TestCopiesOfThePast(t *testing.T) {
	run, err := newModel(t, func(*fixture) {})(nil)
	require.NoError(t, err)
	defer run.Engine.Close()
	tracker := newTracker(run, func(api.Kind, api.Object) {}, actorSets{})
	write := func(text string) {
		label(run.Engine.User(), "a", text)
		tracker.readStore()
	}
	known := func(p past) []version { return p.objects.byRef[api.Ref{Kind: api.PersistentVolume, Key: "a"}].known }
	// Repeat with different numbers of versions, because a slice may have spare capacity.
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
