package engine_test

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name string
		cfg  engine.Config
		want string
	}{
		{"a negative latency", engine.Config{Latency: -1}, "engine: Latency is -1ns: give zero or more"},
		{"a negative lag, the first by name", engine.Config{Lag: map[string]time.Duration{"c": -3, "b": -2, "a": 1}},
			"engine: Lag of b is -2ns: give zero or more"},
	}
	for _, test := range tests {
		if _, err := engine.New(test.cfg); err == nil || err.Error() != test.want {
			t.Errorf("%s: New = %v, want %q", test.name, err, test.want)
		}
	}
}

func TestActorNamesAreUnique(t *testing.T) {
	e := newEngine(t, engine.Config{})
	one := startActor(t, e, "one", func(*engine.Actor) {})
	if _, err := e.NewActor("one", func(*engine.Actor) {}); err == nil {
		t.Errorf("NewActor of a name that is taken: no error")
	}
	if got, ok := e.Actor("one"); !ok || got != one {
		t.Errorf("Actor(one) = %v, %v, want the actor", got, ok)
	}
	if got, ok := e.Actor("two"); ok {
		t.Errorf("Actor(two) = %v, want none", got)
	}
	if got := e.Actors(); len(got) != 1 || got[0] != one {
		t.Errorf("Actors() = %v, want the one", got)
	}
}

// diary notes what happens, and when.
type diary struct {
	e       *engine.Engine
	entries []string
}

func (d *diary) note(what string) {
	d.entries = append(d.entries, fmt.Sprintf("%v %s", since(d.e), what))
}

// noted is a process that only notes its name.
func (d *diary) noted(name string) func(*engine.Process) {
	return func(*engine.Process) { d.note(name) }
}

func (d *diary) want(t *testing.T, entries ...string) {
	t.Helper()
	if !slices.Equal(d.entries, entries) {
		t.Errorf("happened:\n\t%s\nwant:\n\t%s", strings.Join(d.entries, "\n\t"), strings.Join(entries, "\n\t"))
	}
}

func TestStep(t *testing.T) {
	e := newEngine(t, engine.Config{})
	d := &diary{e: e}
	startActor(t, e, "a", func(a *engine.Actor) {
		a.After(2*time.Second, "later", d.noted("later"))
		a.Go("now", d.noted("now"))
		a.Background(time.Second, "background", d.noted("background"))
	})
	for i, want := range []string{"0s now", "1s background", "2s later"} {
		if !e.Step() {
			t.Fatalf("Step() %d = false, want true", i)
		}
		if got := d.entries[len(d.entries)-1]; got != want || len(d.entries) != i+1 {
			t.Errorf("Step() %d: %q happened, want %q", i, d.entries, want)
		}
	}
	if e.Step() || since(e) != 2*time.Second {
		t.Errorf("Step() with nothing queued moved to %v or was true", since(e))
	}
}

func TestAdvance(t *testing.T) {
	e := newEngine(t, engine.Config{})
	d := &diary{e: e}
	startActor(t, e, "a", func(a *engine.Actor) {
		a.After(time.Second, "start", func(p *engine.Process) {
			d.note("start")
			a.Go("at once", d.noted("at once"))
			a.After(time.Second, "after it", d.noted("after it"))
			a.After(time.Second+1, "too late", d.noted("too late"))
		})
	})
	e.Advance(0)
	e.Advance(-time.Hour)
	d.want(t)
	e.Advance(2 * time.Second)
	d.want(t, "1s start", "1s at once", "2s after it")
	if since(e) != 2*time.Second {
		t.Errorf("the clock stands at +%v, want +2s", since(e))
	}
	e.Advance(time.Hour)
	d.want(t, "1s start", "1s at once", "2s after it", "2.000000001s too late")
	if want := time.Hour + 2*time.Second; since(e) != want {
		t.Errorf("the clock stands at +%v, want +%v", since(e), want)
	}
}

// A time beyond the end of time is the end of time.
func TestForever(t *testing.T) {
	const forever = time.Duration(1<<63 - 1)
	e := newEngine(t, engine.Config{})
	ran := 0
	startActor(t, e, "a", func(a *engine.Actor) {
		a.After(time.Second, "soon", func(p *engine.Process) { p.Sleep(forever); ran++ })
	})
	e.Advance(time.Minute)
	if got, want := e.Pending(), []string{"a: soon at +2562047h47m16.854775807s"}; !slices.Equal(got, want) {
		t.Errorf("Pending() = %q, want %q", got, want)
	}
	e.Advance(forever)
	if err := e.Settle(forever); err != nil || ran != 1 {
		t.Errorf("Settle at the end of time: %v with %d runs, want no error and one", err, ran)
	}
}

func TestSettle(t *testing.T) {
	e := newEngine(t, engine.Config{})
	d := &diary{e: e}
	startActor(t, e, "a", func(a *engine.Actor) {
		a.Background(time.Second, "early background", d.noted("early background"))
		a.After(2*time.Second, "work", d.noted("work"))
		a.Background(3*time.Second, "late background", d.noted("late background"))
	})
	if err := e.Settle(time.Minute); err != nil {
		t.Errorf("Settle: %v", err)
	}
	d.want(t, "1s early background", "2s work")
	if got, want := e.Pending(), []string{"a: late background (background) at +3s"}; !slices.Equal(got, want) {
		t.Errorf("Pending() = %q, want %q", got, want)
	}
	if err := e.Settle(time.Minute); err != nil || since(e) != 2*time.Second {
		t.Errorf("Settle of a settled engine: %v at +%v, want nothing to happen", err, since(e))
	}
}

// What background work does once it runs is waited for.
func TestSettleWaitsForWorkOfBackground(t *testing.T) {
	e := newEngine(t, engine.Config{})
	d := &diary{e: e}
	startActor(t, e, "a", func(a *engine.Actor) {
		a.Background(0, "pass", func(p *engine.Process) {
			p.Sleep(time.Second)
			d.note("pass")
		})
		a.Go("work", d.noted("work"))
	})
	if err := e.Settle(time.Minute); err != nil {
		t.Errorf("Settle: %v", err)
	}
	d.want(t, "0s work", "1s pass")
}

func TestStuck(t *testing.T) {
	never := func() bool { return false }
	tests := []struct {
		name  string
		start func(a *engine.Actor)
		run   func(e *engine.Engine) error
		cause engine.StuckCause
		want  string
		at    time.Duration
	}{
		{
			name:  "the limit is spent",
			cause: engine.TimeLimit,
			start: func(a *engine.Actor) {
				a.After(2*time.Minute, "late", func(*engine.Process) {})
				a.After(90*time.Second, "less late", func(*engine.Process) {})
				a.Background(3*time.Minute, "pass", func(*engine.Process) {})
			},
			run:  func(e *engine.Engine) error { return e.Settle(time.Minute) },
			want: "1m0s of virtual time is spent; pending: a: less late at +1m30s, a: late at +2m0s, a: pass (background) at +3m0s",
			at:   time.Minute,
		},
		{
			name:  "more work than a message holds",
			cause: engine.TimeLimit,
			start: func(a *engine.Actor) {
				for i := range 12 {
					a.After(time.Hour, fmt.Sprintf("n%d", i), func(*engine.Process) {})
				}
			},
			run: func(e *engine.Engine) error { return e.Settle(time.Minute) },
			want: "1m0s of virtual time is spent; pending: a: n0 at +1h0m0s, a: n1 at +1h0m0s, a: n2 at +1h0m0s, a: n3 at +1h0m0s, " +
				"a: n4 at +1h0m0s, a: n5 at +1h0m0s, a: n6 at +1h0m0s, a: n7 at +1h0m0s, a: n8 at +1h0m0s, a: n9 at +1h0m0s; and 2 more",
			at: time.Minute,
		},
		{
			name:  "time stands still",
			cause: engine.Livelock,
			start: func(a *engine.Actor) {
				q := a.NewQueue(engine.QueueConfig{Name: "spin", Limiter: engine.NewLimiter(0, 0, 0, 0),
					Sync: func(*engine.Process, string) error { return errors.New("again") }})
				q.Add("k")
			},
			run:  func(e *engine.Engine) error { return e.Settle(time.Minute) },
			want: "10001 events passed at one instant; pending: a: queue spin with 1 keys at +0s",
		},
		{
			name:  "time does not pass",
			cause: engine.Livelock,
			start: func(a *engine.Actor) {
				q := a.NewQueue(engine.QueueConfig{Name: "spin", Limiter: engine.NewLimiter(0, 0, 0, 0),
					Sync: func(*engine.Process, string) error { return errors.New("again") }})
				a.After(time.Second, "begin", func(*engine.Process) { q.Add("k") })
			},
			run:  func(e *engine.Engine) error { return e.Advance(time.Minute) },
			want: "10001 events passed at one instant; pending: a: queue spin with 1 keys at +1s",
			at:   time.Second,
		},
		{
			name:  "nothing is left",
			cause: engine.NothingLeft,
			start: func(a *engine.Actor) { a.After(time.Second, "only", func(*engine.Process) {}) },
			run:   func(e *engine.Engine) error { return e.Until(never, time.Minute) },
			want:  "nothing is left that could change anything",
			at:    time.Minute,
		},
		{
			name:  "a timer that was stopped is no work",
			cause: engine.NothingLeft,
			start: func(a *engine.Actor) { a.After(time.Hour, "stopped", func(*engine.Process) {}).Stop() },
			run:   func(e *engine.Engine) error { return e.Until(never, time.Minute) },
			want:  "nothing is left that could change anything",
			at:    time.Minute,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := newEngine(t, engine.Config{})
			startActor(t, e, "a", test.start)
			err := test.run(e)
			var stuck *engine.StuckError
			if !errors.As(err, &stuck) || err.Error() != test.want {
				t.Fatalf("error = %v\nwant    %v", err, test.want)
			}
			if stuck.Cause != test.cause {
				t.Errorf("Cause = %d, want %d", stuck.Cause, test.cause)
			}
			if since(e) != test.at {
				t.Errorf("the clock stands at +%v, want +%v", since(e), test.at)
			}
		})
	}
}

func TestUntil(t *testing.T) {
	e := newEngine(t, engine.Config{})
	d := &diary{e: e}
	startActor(t, e, "a", func(a *engine.Actor) {
		for i := range 3 {
			a.Background(time.Duration(i+1)*time.Second, "tick", d.noted("tick"))
		}
	})
	if err := e.Until(func() bool { return true }, 0); err != nil {
		t.Errorf("Until what is true already: %v", err)
	}
	if err := e.Until(func() bool { return len(d.entries) == 2 }, 2*time.Second); err != nil {
		t.Errorf("Until the second tick, which is due at the very limit: %v", err)
	}
	d.want(t, "1s tick", "2s tick")
}

func TestStoppedTimers(t *testing.T) {
	e := newEngine(t, engine.Config{})
	d := &diary{e: e}
	var first, second, fired *engine.Timer
	startActor(t, e, "a", func(a *engine.Actor) {
		first = a.After(time.Second, "first", d.noted("first"))
		fired = a.After(2*time.Second, "stops", func(*engine.Process) {
			d.note("stops")
			if !second.Stop() {
				t.Errorf("Stop of a timer that is due at this instant = false, want true")
			}
		})
		second = a.After(2*time.Second, "second", d.noted("second"))
		a.After(time.Hour, "late", d.noted("late")).Stop()
	})
	if !first.Stop() || first.Stop() {
		t.Errorf("Stop, then Stop again: want true, then false")
	}
	if !e.Step() {
		t.Fatalf("Step() = false")
	}
	d.want(t, "2s stops")
	if fired.Stop() {
		t.Errorf("Stop of a timer that has fired = true, want false")
	}
	if e.Step() || since(e) != 2*time.Second {
		t.Errorf("a stopped timer made a step, or moved the clock to +%v", since(e))
	}
	if err := e.Settle(0); err != nil {
		t.Errorf("Settle with stopped timers only: %v", err)
	}
}

// crowd has n processes start at one instant, each making two API calls, and returns the order in which they got there.
func crowd(t *testing.T, cfg engine.Config, n int) ([]string, []engine.Choice) {
	t.Helper()
	e := newEngine(t, cfg)
	var order []string
	startActor(t, e, "a", func(a *engine.Actor) {
		for i := range n {
			a.Go(fmt.Sprint(i), func(p *engine.Process) {
				for call := range 2 {
					if _, err := p.API().Nodes.List(p, ""); err != nil {
						t.Errorf("List: %v", err)
					}
					order = append(order, fmt.Sprintf("%d.%d", i, call))
				}
			})
		}
	})
	if err := e.Settle(time.Second); err != nil {
		t.Errorf("Settle: %v", err)
	}
	return order, e.Choices()
}

func TestSeedZeroIsFirstInFirstOut(t *testing.T) {
	order, choices := crowd(t, engine.Config{}, 4)
	if want := strings.Fields("0.0 0.1 1.0 1.1 2.0 2.1 3.0 3.1"); !slices.Equal(order, want) {
		t.Errorf("order = %v, want %v", order, want)
	}
	if len(choices) != 0 {
		t.Errorf("Choices() = %v, want none", choices)
	}
}

func TestSeeds(t *testing.T) {
	orders := map[string]bool{}
	for seed := int64(1); seed <= 30; seed++ {
		order, choices := crowd(t, engine.Config{Seed: seed}, 4)
		again, choicesAgain := crowd(t, engine.Config{Seed: seed}, 4)
		if !slices.Equal(order, again) || !slices.Equal(choices, choicesAgain) {
			t.Errorf("seed %d: %v by %v, and %v by %v", seed, order, choices, again, choicesAgain)
		}
		orders[strings.Join(order, " ")] = true

		replayed, choicesReplayed := crowd(t, engine.Config{Choose: engine.Replay(choices)}, 4)
		if !slices.Equal(order, replayed) || !slices.Equal(choices, choicesReplayed) {
			t.Errorf("seed %d: %v by %v, replayed %v by %v", seed, order, choices, replayed, choicesReplayed)
		}
	}
	if len(orders) < 25 {
		t.Errorf("30 seeds gave %d orders, want most of them to differ", len(orders))
	}
}

func TestReplay(t *testing.T) {
	choose := engine.Replay([]engine.Choice{{N: 5, Picked: 4}, {N: 2, Picked: 1}})
	got := []int{choose(3), choose(2), choose(7), choose(2)}
	if want := []int{1, 1, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("Replay picked %v, want %v: what does not fit modulo, then the first", got, want)
	}
}

// A chooser that picks what there is not gets the first.
func TestChooseOutOfRange(t *testing.T) {
	order, choices := crowd(t, engine.Config{Choose: func(n int) int { return n }}, 2)
	first, _ := crowd(t, engine.Config{Choose: func(int) int { return 0 }}, 2)
	if !slices.Equal(order, first) {
		t.Errorf("order = %v, want %v", order, first)
	}
	for _, c := range choices {
		if c.Picked != 0 || c.N < 2 {
			t.Errorf("recorded choice %v, want the first of two or more", c)
		}
	}
}

func TestAfterEvent(t *testing.T) {
	e := newEngine(t, engine.Config{})
	var seen []time.Duration
	e.AfterEvent(func() { seen = append(seen, since(e)) })
	startActor(t, e, "a", func(a *engine.Actor) {
		a.Go("now", func(p *engine.Process) { p.Sleep(time.Second) })
	})
	e.Advance(time.Minute)
	if want := []time.Duration{0, time.Second}; !reflect.DeepEqual(seen, want) {
		t.Errorf("called at %v, want %v", seen, want)
	}
}

// Each event ends exactly once, with no process running, no matter how often processes wait and how they end.
func TestEachEventEndsOnce(t *testing.T) {
	for seed := range int64(20) {
		e := newEngine(t, engine.Config{Seed: seed})
		ended := 0
		e.AfterEvent(func() { ended++ })
		var signal engine.Signal
		victim := startActor(t, e, "victim", func(a *engine.Actor) {
			for range 3 {
				a.Go("sleeps", func(p *engine.Process) { p.Sleep(time.Hour) })
				a.Go("waits", func(p *engine.Process) { signal.Wait(p, 0) })
			}
		})
		startActor(t, e, "a", func(a *engine.Actor) {
			queue := a.NewQueue(engine.QueueConfig{Name: "q", Workers: 2, Sync: func(p *engine.Process, key string) error {
				p.Sleep(time.Second)
				signal.Broadcast()
				signal.Wait(p, time.Second)
				return nil
			}})
			for _, key := range []string{"x", "y", "z"} {
				queue.Add(key)
			}
			a.After(1500*time.Millisecond, "kills another", func(p *engine.Process) {
				victim.Crash()
				p.Sleep(time.Millisecond)
			})
			a.After(5*time.Second, "kills itself", func(*engine.Process) { a.Crash() })
			a.After(9*time.Second, "never", func(*engine.Process) { t.Errorf("a dead actor acts") })
		})
		steps := 0
		for e.Step() {
			if steps++; ended != steps {
				t.Fatalf("seed %d: %d events have ended after %d steps", seed, ended, steps)
			}
		}
		if steps < 15 {
			t.Errorf("seed %d: %d steps, want some more", seed, steps)
		}
	}
}

// A process that does not wait needs no coroutine: all of them run in one.
func TestNoCoroutineForWhoDoesNotWait(t *testing.T) {
	e := newEngine(t, engine.Config{})
	coroutines := map[string]int{}
	startActor(t, e, "a", func(a *engine.Actor) {
		queue := a.NewQueue(engine.QueueConfig{Name: "q", Workers: 10, Sync: func(p *engine.Process, key string) error {
			if _, err := p.API().Nodes.Get(p, "n"); err == nil {
				t.Errorf("there is a node")
			}
			// The stack begins with "goroutine NUMBER".
			stack := make([]byte, 64)
			number := strings.Fields(string(stack[:runtime.Stack(stack, false)]))[1]
			coroutines[number]++
			return nil
		}})
		for i := range 100 {
			queue.Add(strconv.Itoa(i))
		}
	})
	e.Advance(0)
	for number, syncs := range coroutines {
		if len(coroutines) != 1 || syncs != 100 {
			t.Errorf("%d syncs in goroutine %s of %d, want all 100 in one", syncs, number, len(coroutines))
		}
	}
	if len(coroutines) == 0 {
		t.Error("no syncs")
	}
}

// An unreferenced engine that was only stepped is collected, although its idle coroutine stays in memory.
func TestSteppedEngineIsCollected(t *testing.T) {
	collected := make(chan struct{})
	func() {
		e := newEngine(t, engine.Config{})
		startActor(t, e, "a", func(a *engine.Actor) { a.Go("now", func(*engine.Process) {}) })
		if !e.Step() {
			t.Fatal("there was nothing to do")
		}
		runtime.AddCleanup(e, func(collected chan struct{}) { close(collected) }, collected)
	}()
	for range 500 {
		runtime.GC()
		select {
		case <-collected:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Errorf("the engine is still there")
}
