package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// outsideFunc is an Outside.
type outsideFunc func(d time.Duration) time.Duration

func (f outsideFunc) Sleep(d time.Duration) time.Duration { return f(d) }

// TestOutside: time passes together with that of code outside, whose tasks run when they are queued.
func TestOutside(t *testing.T) {
	e, err := New(Config{})
	require.NoError(t, err)
	a, err := e.NewActor("a", func(*Actor) {})
	require.NoError(t, err)
	var ran []time.Duration
	note := func(*Process) { ran = append(ran, e.now) }
	queued := false
	var slept time.Duration
	e.SetOutside(outsideFunc(func(d time.Duration) time.Duration {
		if delay := 4 * time.Second; !queued && d >= delay {
			queued, d = true, delay
			a.Go("from outside", note)
		}
		slept += d
		return d
	}))
	a.After(time.Second, "first", note)
	a.After(10*time.Second, "second", note)
	require.NoError(t, e.Settle(time.Hour))
	require.Equal(t, []time.Duration{time.Second, 5 * time.Second, 10 * time.Second}, ran)
	e.Advance(time.Minute)
	require.Equal(t, 70*time.Second, slept)
	require.False(t, e.Step(), "without events no time passes")
}

// TestSettleOutside: Settle lets the code outside run at this instant, also when no other work is left.
func TestSettleOutside(t *testing.T) {
	e, err := New(Config{})
	require.NoError(t, err)
	a, err := e.NewActor("a", func(*Actor) {})
	require.NoError(t, err)
	arrivals, ran := 3, 0
	e.SetOutside(outsideFunc(func(d time.Duration) time.Duration {
		if arrivals > 0 {
			arrivals--
			a.Go("from outside", func(*Process) { ran++ })
		}
		return d
	}))
	require.NoError(t, e.Settle(time.Hour))
	require.Equal(t, 3, ran)
	require.Zero(t, e.now)
}
