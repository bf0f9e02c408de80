package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

func newWaitEngine(t *testing.T, cfg engine.Config) *engine.Engine {
	t.Helper()
	e, err := engine.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return e
}

func startActor(t *testing.T, e *engine.Engine, name string, start func(*engine.Actor)) *engine.Actor {
	t.Helper()
	a, err := e.NewActor(name, start)
	if err != nil {
		t.Fatalf("NewActor(%s): %v", name, err)
	}
	return a
}

func TestSignalWakesAllInOrder(t *testing.T) {
	e := newWaitEngine(t, engine.Config{})
	var signal engine.Signal
	var woken []string
	startActor(t, e, "waiters", func(a *engine.Actor) {
		for _, name := range []string{"first", "second", "third"} {
			a.Go(name, func(p *engine.Process) {
				if signal.Wait(p, 0) {
					woken = append(woken, name)
				}
			})
		}
		a.After(time.Second, "sender", func(*engine.Process) { signal.Broadcast() })
	})

	e.Advance(time.Millisecond)
	if got := signal.Waiting(); got != 3 {
		t.Errorf("Waiting() before the broadcast = %d, want 3", got)
	}
	e.Advance(time.Second)
	if want := []string{"first", "second", "third"}; !slices.Equal(woken, want) {
		t.Errorf("woken = %q, want %q", woken, want)
	}
	if got := signal.Waiting(); got != 0 {
		t.Errorf("Waiting() after the broadcast = %d, want 0", got)
	}
}

// TestRelease: released processes go on in the order in which they began to wait, before whatever else is due; those that are woken by a broadcast
// go on after it.
func TestRelease(t *testing.T) {
	for _, tc := range []struct {
		name    string
		release func(*engine.Signal)
		want    []string
	}{
		{"released", (*engine.Signal).Release, []string{"first", "second", "before"}},
		{"broadcast", (*engine.Signal).Broadcast, []string{"before", "first", "second"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newWaitEngine(t, engine.Config{})
			var signal engine.Signal
			var done []string
			startActor(t, e, "waiters", func(a *engine.Actor) {
				for _, name := range []string{"first", "second"} {
					a.Go(name, func(p *engine.Process) {
						if signal.Wait(p, 0) {
							done = append(done, name)
						}
					})
				}
				a.After(time.Second, "sender", func(*engine.Process) {
					a.Go("before", func(*engine.Process) { done = append(done, "before") })
					tc.release(&signal)
				})
			})
			e.Advance(time.Second)
			if !slices.Equal(done, tc.want) {
				t.Errorf("done = %q, want %q", done, tc.want)
			}
		})
	}
}

func TestSignalTimeout(t *testing.T) {
	tests := []struct {
		name      string
		broadcast time.Duration // zero: never
		timeout   time.Duration
		want      bool
		after     time.Duration
	}{
		{name: "broadcast in time", broadcast: time.Second, timeout: 3 * time.Second, want: true, after: time.Second},
		{name: "broadcast too late", broadcast: 5 * time.Second, timeout: 3 * time.Second, want: false, after: 3 * time.Second},
		{name: "no broadcast", timeout: 3 * time.Second, want: false, after: 3 * time.Second},
		{name: "no timeout", broadcast: time.Hour, want: true, after: time.Hour},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := newWaitEngine(t, engine.Config{})
			begin := e.Now()
			var signal engine.Signal
			var got bool
			var at []time.Duration
			startActor(t, e, "waiter", func(a *engine.Actor) {
				a.Go("wait", func(p *engine.Process) {
					got = signal.Wait(p, test.timeout)
					at = append(at, p.Now().Sub(begin))
				})
				if test.broadcast > 0 {
					a.After(test.broadcast, "sender", func(*engine.Process) { signal.Broadcast() })
				}
			})
			e.Advance(24 * time.Hour)
			if want := []time.Duration{test.after}; got != test.want || !slices.Equal(at, want) {
				t.Errorf("Wait returned %v at %v, want %v at %v, once", got, at, test.want, want)
			}
		})
	}
}

// A broadcast and the timeout at the same instant end the wait once, whichever comes first.
func TestSignalAndTimeoutAtOnce(t *testing.T) {
	for seed := range int64(20) {
		e := newWaitEngine(t, engine.Config{Seed: seed})
		var signal engine.Signal
		returned := 0
		startActor(t, e, "waiter", func(a *engine.Actor) {
			a.Go("wait", func(p *engine.Process) {
				signal.Wait(p, time.Second)
				returned++
				p.Sleep(time.Second)
			})
			a.After(time.Second, "sender", func(*engine.Process) { signal.Broadcast() })
		})
		e.Advance(time.Minute)
		if returned != 1 {
			t.Errorf("seed %d: Wait returned %d times, want once", seed, returned)
		}
	}
}

func TestSignalAfterCrash(t *testing.T) {
	e := newWaitEngine(t, engine.Config{})
	var signal engine.Signal
	returned, unwound := 0, 0
	waiter := startActor(t, e, "waiter", func(a *engine.Actor) {
		a.Go("wait", func(p *engine.Process) {
			defer func() { unwound++ }()
			signal.Wait(p, time.Minute)
			returned++
		})
	})
	e.Advance(time.Second)

	waiter.Crash()
	if returned != 0 || unwound != 1 || signal.Waiting() != 0 {
		t.Errorf("after Crash: returned %d, unwound %d, waiting %d; want 0, 1, 0", returned, unwound, signal.Waiting())
	}
	signal.Broadcast()
	e.Advance(time.Hour)
	if returned != 0 {
		t.Errorf("a process of a crashed actor came back")
	}
}

// A process that was woken but has not gone on yet is gone with its actor as well.
func TestSignalCrashBetweenBroadcastAndWaking(t *testing.T) {
	e := newWaitEngine(t, engine.Config{})
	var signal engine.Signal
	returned := 0
	waiter := startActor(t, e, "waiter", func(a *engine.Actor) {
		if e.Now().After(engine.DefaultStart) {
			return
		}
		a.Go("wait", func(p *engine.Process) {
			signal.Wait(p, 0)
			returned++
		})
	})
	e.Advance(time.Second)
	signal.Broadcast()
	waiter.Crash()
	waiter.Start()
	if err := e.Settle(time.Minute); err != nil {
		t.Errorf("Settle: %v", err)
	}
	if returned != 0 {
		t.Errorf("a process of a crashed actor came back")
	}
}

func TestSignalDoesNotKeepSettleGoing(t *testing.T) {
	e := newWaitEngine(t, engine.Config{})
	var signal engine.Signal
	startActor(t, e, "waiter", func(a *engine.Actor) {
		a.Go("wait", func(p *engine.Process) { signal.Wait(p, 0) })
	})
	if err := e.Settle(time.Minute); err != nil {
		t.Errorf("Settle with a process that waits for ever: %v", err)
	}
	if signal.Waiting() != 1 {
		t.Errorf("Waiting() = %d, want 1", signal.Waiting())
	}
	if signal.Wait(e.User(), time.Minute) {
		t.Errorf("Wait of the user = true, want false")
	}
}
