package engine_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/trace"
)

// goroutines returns how many goroutines there are. For a moment there may be more: the one that runs finalizers counts while it does.
func goroutines() int {
	n := runtime.NumGoroutine()
	for range 10 {
		time.Sleep(time.Millisecond)
		n = min(n, runtime.NumGoroutine())
	}
	return n
}

// Coroutines that engines share outlast their runs, also after a panic, a crash and Close, until Remains.Close.
func TestSharedCoroutines(t *testing.T) {
	before := goroutines()
	var shared engine.Remains
	for range 3 {
		e := newEngine(t, engine.Config{Remains: &shared})
		unwound := 0
		a := startActor(t, e, "a", func(a *engine.Actor) {
			for range 5 {
				a.Go("for ever", func(p *engine.Process) {
					defer func() { unwound++ }()
					p.Sleep(time.Hour)
					t.Errorf("a process went on after its end")
				})
			}
			a.After(time.Second, "broken", func(*engine.Process) { panic("broken invariant") })
		})
		value := func() (value any) {
			defer func() { value = processPanic(recover()) }()
			e.Advance(time.Minute)
			return nil
		}()
		if value != "broken invariant" {
			t.Errorf("recovered %v, want what the process panicked with", value)
		}
		e.Advance(time.Minute)
		a.Crash()
		e.Close()
		if unwound != 5 {
			t.Errorf("%d processes unwound, want 5", unwound)
		}
		if now := goroutines() - before; now != 6 {
			t.Errorf("%d goroutines more than before, want 6: one for each process that waits, and one for the loop", now)
		}
	}
	shared.Close()
	if now := goroutines(); now > before {
		t.Errorf("%d goroutines more than before", now-before)
	}
}

// A crash outside a run leaves no coroutine behind.
func TestCrashReleasesCoroutines(t *testing.T) {
	before := goroutines()
	e := newEngine(t, engine.Config{})
	a := startActor(t, e, "a", func(a *engine.Actor) {
		a.Go("for ever", func(p *engine.Process) { p.Sleep(time.Hour) })
	})
	e.Advance(time.Second)
	a.Crash()
	if now := goroutines(); now > before {
		t.Errorf("%d goroutines more than before", now-before)
	}
}

// UntilInside stops after the same event as Until, with the same error.
func TestUntilInside(t *testing.T) {
	type method func(e *engine.Engine, cond func() bool, limit time.Duration) error
	run := func(until method, events int, limit time.Duration) (now time.Time, mode engine.RunMode, err error) {
		e := newEngine(t, engine.Config{Seed: 7})
		seen := 0
		startActor(t, e, "a", func(a *engine.Actor) {
			for i := range 20 {
				a.After(time.Duration(i)*time.Second, "timer", func(p *engine.Process) {
					p.Sleep(time.Second / 2)
					seen++
				})
			}
		})
		err = until(e, func() bool { return seen == events }, limit)
		mode, _ = e.RunMode()
		return e.Now(), mode, err
	}
	for _, want := range []struct {
		events int
		limit  time.Duration
	}{{0, time.Minute}, {1, time.Minute}, {13, time.Minute}, {13, time.Second}, {21, time.Minute}, {21, time.Second}} {
		at, mode, err := run((*engine.Engine).Until, want.events, want.limit)
		gotAt, gotMode, gotErr := run((*engine.Engine).UntilInside, want.events, want.limit)
		if !at.Equal(gotAt) || mode != gotMode || (err == nil) != (gotErr == nil) || err != nil && err.Error() != gotErr.Error() {
			t.Errorf("%+v: UntilInside ends at %v in mode %v with %v, Until at %v in mode %v with %v", want, gotAt, gotMode, gotErr, at, mode, err)
		}
	}
}

// PassInside runs what UntilInside runs with a condition that never holds, asks as often, and reports only a livelock.
func TestPassInside(t *testing.T) {
	run := func(pass func(e *engine.Engine, each func()) error, livelock bool) (seen string, err error) {
		e := newEngine(t, engine.Config{Seed: 7})
		startActor(t, e, "a", func(a *engine.Actor) {
			for i := range 20 {
				a.After(time.Duration(i)*time.Second, "timer", func(p *engine.Process) {
					seen += fmt.Sprintln(i, p.Now())
					for livelock && i == 13 {
						p.Sleep(0)
					}
				})
			}
		})
		asked := 0
		err = pass(e, func() { asked++ })
		return fmt.Sprintln(seen, asked, e.Now()), err
	}
	for _, limit := range []time.Duration{0, 9500 * time.Millisecond, time.Minute} {
		for _, livelock := range []bool{false, true} {
			want, wantErr := run(func(e *engine.Engine, each func()) error {
				return e.UntilInside(func() bool {
					each()
					return false
				}, limit)
			}, livelock)
			got, err := run(func(e *engine.Engine, each func()) error { return e.PassInside(each, limit) }, livelock)
			if got != want {
				t.Errorf("PassInside(%v) runs %s, UntilInside %s", limit, got, want)
			}
			var stuck, wantStuck *engine.StuckError
			if !errors.As(wantErr, &wantStuck) {
				t.Fatalf("UntilInside(%v) = %v, want a StuckError", limit, wantErr)
			}
			if reports := errors.As(err, &stuck); reports != (wantStuck.Cause == engine.Livelock) || reports && err.Error() != wantErr.Error() {
				t.Errorf("PassInside(%v) = %v, UntilInside = %v", limit, err, wantErr)
			}
		}
	}
}

// An engine that has the memory of a closed one behaves like any other, and knows nothing of the first one's objects and events.
func TestRemains(t *testing.T) {
	run := func(remains *engine.Remains, seed int64) (*engine.Engine, string) {
		log := &trace.Trace{}
		e := newEngine(t, engine.Config{Seed: seed, Trace: log, Remains: remains})
		for i := range 20 {
			if _, err := e.API().Nodes.Create(e.User(), node(fmt.Sprintf("n%d", i), map[string]string{"seed": fmt.Sprint(seed)})); err != nil {
				t.Fatal(err)
			}
		}
		startActor(t, e, "a", func(a *engine.Actor) {
			nodes := engine.NewInformer(a, e.Store().Nodes)
			for i := range 20 {
				a.Go("delete", func(p *engine.Process) {
					p.Sleep(time.Duration(i) * time.Millisecond)
					if _, err := e.API().Nodes.Delete(p, fmt.Sprintf("n%d", i), api.DeleteOptions{}); err != nil {
						t.Error(err)
					}
					p.Decide("SIM-001", nil, "%d nodes left", len(nodes.List()))
				})
			}
			a.After(time.Hour, "late", func(*engine.Process) {})
		})
		e.Advance(10*time.Millisecond + time.Duration(seed)*time.Millisecond)
		var text strings.Builder
		if err := log.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		return e, text.String()
	}
	var shared engine.Remains
	defer shared.Close()
	var last *engine.Engine
	for seed := range int64(5) {
		_, want := run(nil, seed)
		e, got := run(&shared, seed)
		if got != want {
			t.Errorf("seed %d: the trace differs from that of an engine with new memory:\n%s\nwant\n%s", seed, got, want)
		}
		if last != nil && last != e {
			t.Errorf("seed %d: the engine has new memory", seed)
		}
		other, _ := run(&shared, seed)
		if other == e {
			t.Errorf("seed %d: an engine has the memory of one that was not closed", seed)
		}
		e.Close()
		last = e
	}
}
