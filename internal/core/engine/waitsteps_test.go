package engine_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

// TestWaitSteps: a process that waits in steps goes on when one that waits again and again would, observed or not.
func TestWaitSteps(t *testing.T) {
	const limit = 10 * time.Second
	for _, way := range []struct {
		name     string
		observed bool
		wait     func(p *engine.Process, signal *engine.Signal, enough func() bool) (woken []bool)
	}{
		{name: "Wait", wait: func(p *engine.Process, signal *engine.Signal, enough func() bool) (woken []bool) {
			for {
				woken = append(woken, signal.Wait(p, limit))
				if enough() || !woken[len(woken)-1] {
					return woken
				}
			}
		}},
		{name: "WaitSteps", wait: inSteps},
		{name: "WaitSteps, observed", observed: true, wait: inSteps},
	} {
		for _, test := range []struct {
			name       string
			broadcasts []time.Duration
			woken      []bool
			want       []string
		}{
			{"enough broadcasts", []time.Duration{time.Second, 3 * time.Second, 4 * time.Second}, []bool{true, true}, []string{"3s enough"}},
			{"too few", []time.Duration{time.Second}, []bool{true, false}, []string{"11s too few"}},
			{"none", nil, []bool{false}, []string{"10s too few"}},
		} {
			t.Run(way.name+"/"+test.name, func(t *testing.T) {
				e := newWaitEngine(t, engine.Config{})
				if way.observed {
					e.Observe(&observer{engine: e})
				}
				d := &diary{e: e}
				var signal engine.Signal
				var woken []bool
				count := 0
				startActor(t, e, "waiter", func(a *engine.Actor) {
					a.Go("wait", func(p *engine.Process) {
						if woken = way.wait(p, &signal, func() bool { return count >= 2 }); woken[len(woken)-1] {
							d.note("enough")
						} else {
							d.note("too few")
						}
					})
					for _, at := range test.broadcasts {
						a.After(at, "sender", func(*engine.Process) {
							count++
							signal.Broadcast()
						})
					}
				})
				e.Advance(time.Minute)
				d.want(t, test.want...)
				if !slices.Equal(woken, test.woken) || signal.Waiting() != 0 {
					t.Errorf("woken %v, waiting %d; want %v, 0", woken, signal.Waiting(), test.woken)
				}
			})
		}
	}
}

func inSteps(p *engine.Process, signal *engine.Signal, enough func() bool) (woken []bool) {
	p.Expect(signal, 10*time.Second)
	p.WaitSteps(func(w bool) bool {
		if woken = append(woken, w); enough() || !w {
			return true
		}
		p.Expect(signal, 10*time.Second)
		return false
	})
	return woken
}

// outcome is known when the test says so.
type outcome struct {
	known bool
	err   error
}

func (o *outcome) Known() bool   { return o.known }
func (o *outcome) Result() error { return o.err }

// TestEndWhen: a key whose outcome comes later ends with it, and is tried again after an error. Observers change nothing.
func TestEndWhen(t *testing.T) {
	for _, observed := range []bool{false, true} {
		e := newWaitEngine(t, engine.Config{})
		if observed {
			e.Observe(&observer{engine: e})
		}
		d := &diary{e: e}
		var signal engine.Signal
		o := &outcome{err: errSync}
		var queue *engine.Queue
		startActor(t, e, "a", func(a *engine.Actor) {
			queue = a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *engine.Process, key string) error {
				d.note(key)
				return p.EndWhen(&signal, o)
			}})
			a.After(time.Second, "too early", func(*engine.Process) { signal.Broadcast() })
			a.After(2*time.Second, "fails", func(*engine.Process) {
				d.note("fails")
				o.known = true
				signal.Broadcast()
				a.After(time.Millisecond, "succeeds", func(*engine.Process) { o.err = nil })
			})
		})
		queue.Add("a")
		queue.Add("b")
		e.Advance(time.Minute)
		// One worker: b begins when a has ended. Both are tried again 5 ms after their failure.
		d.want(t, "0s a", "2s fails", "2s b", "2.005s a", "2.005s b")
		if signal.Waiting() != 0 {
			t.Errorf("observed %v: %d processes wait", observed, signal.Waiting())
		}
	}
}

// A worker that waits for its outcome is gone with its actor, and the signal no longer wakes it.
func TestEndWhenAfterCrash(t *testing.T) {
	e := newWaitEngine(t, engine.Config{})
	d := &diary{e: e}
	var signal engine.Signal
	o := &outcome{}
	var queue *engine.Queue
	a := startActor(t, e, "a", func(a *engine.Actor) {
		queue = a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *engine.Process, key string) error {
			d.note(key)
			return p.EndWhen(&signal, o)
		}})
	})
	queue.Add("a")
	e.Advance(time.Second)
	if signal.Waiting() != 1 {
		t.Fatalf("%d processes wait, want 1", signal.Waiting())
	}
	a.Crash()
	if signal.Waiting() != 0 {
		t.Errorf("after Crash %d processes wait, want none", signal.Waiting())
	}
	a.Start()
	o.known = true
	signal.Broadcast()
	queue.Add("b")
	e.Advance(time.Minute)
	d.want(t, "0s a", "1s b")
}

// TestWaitThen: a process that waits without a stack goes on with the rest of its code when one that waits on its stack would, observed or
// not. It may wait on a stack again, and leave it again.
func TestWaitThen(t *testing.T) {
	const processes = 20
	for _, observed := range []bool{false, true} {
		before := runtime.NumGoroutine()
		e := newWaitEngine(t, engine.Config{})
		if observed {
			e.Observe(&observer{engine: e})
		}
		d := &diary{e: e}
		var signal engine.Signal
		count, ended := 0, 0
		startActor(t, e, "a", func(a *engine.Actor) {
			for range processes {
				a.Go("wait", func(p *engine.Process) {
					signal.ThenWhen(p, func() bool { return count >= 2 }, func(p *engine.Process) {
						p.Sleep(time.Second)
						signal.ThenWhen(p, func() bool { return count >= 3 }, func(p *engine.Process) {
							signal.ThenWhen(p, func() bool { return true }, func(*engine.Process) { ended++ })
						})
					})
				})
			}
			for _, at := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second} {
				a.After(at, "sender", func(*engine.Process) {
					count++
					d.note(fmt.Sprintf("%d sent, %d wait", count, signal.Waiting()))
					signal.Broadcast()
				})
			}
		})
		e.Advance(4 * time.Second)
		// If they are observed, each waits on its stack. A goroutine of another test may end meanwhile.
		if more := runtime.NumGoroutine() - before; (more > processes/2) != observed {
			t.Errorf("observed %v: %d processes wait on %d goroutines", observed, processes, more)
		}
		e.Advance(time.Minute)
		d.want(t, "1s 1 sent, 20 wait", "2s 2 sent, 20 wait", "5s 3 sent, 20 wait")
		if ended != processes || signal.Waiting() != 0 {
			t.Errorf("observed %v: %d processes ended and %d wait, want %d and none", observed, ended, signal.Waiting(), processes)
		}
		e.Close()
	}
}

// TestThen: an operation whose next step lets passes come first has no stack meanwhile. It keeps its key, and ends with the result of its last
// step, when one that waits on its stack would, observed or not.
func TestThen(t *testing.T) {
	const count = 20
	for _, observed := range []bool{false, true} {
		e := newWaitEngine(t, engine.Config{})
		if observed {
			e.Observe(&observer{engine: e})
		}
		d := &diary{e: e}
		var operations *engine.NestedOperations
		key := func(i int) engine.OperationKey { return engine.OperationKey{Volume: fmt.Sprint(i)} }
		begun, ended, goroutines, running := 0, 0, 0, 0
		first, failure := errors.New("first"), errors.New("failed")
		a := startActor(t, e, "a", func(a *engine.Actor) {
			operations = a.NewNestedOperations()
			operations.Before = func(*engine.Process, string) { begun++ }
			operations.After = func(engine.OperationKey, string) { ended++ }
			for i := range count {
				_ = operations.Run(key(i), "op", func(p *engine.Process) error {
					p.YieldToPasses(1)
					return p.Then(first, func(p *engine.Process, err error) error {
						if err != first {
							t.Errorf("the second step gets %v, want %v", err, first)
						}
						// A step may wait on its stack. Then without YieldToPasses goes on at once.
						p.Sleep(time.Second)
						return p.Then(nil, func(p *engine.Process, err error) error {
							p.YieldToPasses(1)
							return p.Then(err, func(p *engine.Process, err error) error {
								switch i {
								case 0:
									d.note(fmt.Sprint("ends with ", err))
									return failure
								case 1:
									panic("broken")
								}
								return err
							})
						})
					})
				})
			}
			before := runtime.NumGoroutine()
			// This pass comes before the second steps.
			a.NewTicker(engine.TickerConfig{Name: "pass", Period: time.Hour, Pass: func(p *engine.Process) {
				goroutines = runtime.NumGoroutine() - before
				for i := range count {
					if operations.Running(key(i)) {
						running++
					}
				}
			}}).Arm()
			// Events of the same instant come before the last step.
			a.After(time.Second, "other", func(*engine.Process) { a.Go("event", func(*engine.Process) { d.note("event") }) })
			a.After(2*time.Second, "no operation", func(p *engine.Process) {
				p.YieldToPasses(1)
				err := p.Then(failure, func(_ *engine.Process, err error) error { return err })
				d.note(fmt.Sprint("no operation: ", err))
				p.YieldToPasses(1)
				a.Go("event", func(*engine.Process) { d.note("second event") })
				p.Yield()
				d.note("after it")
				p.Yield()
			})
		})
		e.Advance(time.Second / 2)
		if (goroutines > count/2) != observed {
			t.Errorf("observed %v: %d operations wait on %d goroutines", observed, count, goroutines)
		}
		if running != count || begun != count || ended != 0 {
			t.Errorf("observed %v: %d run, %d have begun and %d ended, want %d, all and none", observed, running, begun, ended, count)
		}
		e.Advance(time.Second)
		for i := range count {
			if operations.Running(key(i)) {
				t.Errorf("observed %v: operation %d runs", observed, i)
			}
		}
		// After is not called for the one that panicked.
		if begun != count || ended != count-1 {
			t.Errorf("observed %v: %d have begun and %d ended, want all %d and all but one", observed, begun, ended, count)
		}
		for i, backsOff := range []bool{true, true, false} {
			if _, got := operations.RetryAfter(key(i), "op"); got != backsOff {
				t.Errorf("observed %v: operation %d backs off: %v, want %v", observed, i, got, backsOff)
			}
		}
		e.Advance(time.Second)
		d.want(t, "1s event", "1s ends with <nil>", "2s no operation: failed", "2s second event", "2s after it")
		// An operation is gone with its actor.
		_ = operations.Run(key(count), "op", func(p *engine.Process) error {
			a.Go("crash", func(*engine.Process) { a.Crash() })
			p.YieldToPasses(1)
			return p.Then(nil, func(*engine.Process, error) error {
				t.Errorf("an operation went on after the end of its actor")
				return nil
			})
		})
		e.Advance(time.Second)
		e.Close()
	}
}

// TestYieldUntil: the wait before the next step ends when look says so, and the step gets its error.
func TestYieldUntil(t *testing.T) {
	for _, observed := range []bool{false, true} {
		e := newWaitEngine(t, engine.Config{})
		if observed {
			e.Observe(&observer{engine: e})
		}
		d := &diary{e: e}
		startActor(t, e, "a", func(a *engine.Actor) {
			operations := a.NewNestedOperations()
			steps := func(p *engine.Process) error {
				looks := 0
				p.YieldUntil(time.Second, func(p *engine.Process) (time.Duration, error) {
					looks++
					d.note(fmt.Sprint("look ", looks))
					if looks == 3 {
						return 0, errors.New("late")
					}
					return time.Duration(looks) * time.Second, nil
				})
				defer func() { d.note(fmt.Sprint("left, waiting ", p.Waiting())) }()
				return p.Then(nil, func(p *engine.Process, err error) error {
					d.note(fmt.Sprintf("%v, waiting %v", err, p.Waiting()))
					return err
				})
			}
			_ = operations.Run(engine.OperationKey{Volume: "v"}, "op", steps)
			a.After(10*time.Second, "no operation", func(p *engine.Process) { _ = steps(p) })
		})
		e.Advance(time.Minute)
		d.want(t, "0s left, waiting true", "1s look 1", "2s look 2", "4s look 3", "4s late, waiting false",
			"11s look 1", "12s look 2", "14s look 3", "14s late, waiting false", "14s left, waiting false")
		e.Close()
	}
}

// A process that waits without a stack is gone with its actor; one that crashes its actor after such a wait unwinds like any other.
func TestWaitThenAfterCrash(t *testing.T) {
	e := newWaitEngine(t, engine.Config{})
	d := &diary{e: e}
	var signal, other engine.Signal
	never := func() bool { return false }
	a := startActor(t, e, "a", func(a *engine.Actor) {
		a.Go("waits", func(p *engine.Process) {
			other.ThenWhen(p, never, func(*engine.Process) { t.Errorf("a process went on after its end") })
		})
		a.Go("crashes", func(p *engine.Process) {
			defer d.note("returned")
			woken := false
			p.Expect(&signal, 0)
			p.WaitThen(func(w bool) bool { woken = w; return true }, func(p *engine.Process) {
				defer d.note("unwound")
				if !woken {
					t.Errorf("woken false, want true")
				}
				p.Restart()
				t.Errorf("Restart returned")
			})
		})
	})
	e.Advance(time.Second)
	signal.Broadcast()
	e.Advance(time.Second)
	// The actor has started again, with two processes that wait.
	d.want(t, "0s returned", "1s unwound", "1s returned")
	if signal.Waiting() != 1 || other.Waiting() != 1 {
		t.Errorf("%d and %d processes wait, want 1 and 1", signal.Waiting(), other.Waiting())
	}
	a.Crash()
	if signal.Waiting() != 0 || other.Waiting() != 0 {
		t.Errorf("after Crash %d and %d processes wait, want none", signal.Waiting(), other.Waiting())
	}
}

// A panic after a wait without a stack reaches the one who runs the engine, which can go on.
func TestWaitThenPanics(t *testing.T) {
	e := newWaitEngine(t, engine.Config{})
	var signal engine.Signal
	ran := false
	startActor(t, e, "a", func(a *engine.Actor) {
		a.Go("breaks", func(p *engine.Process) {
			p.Expect(&signal, time.Second)
			p.WaitThen(func(bool) bool { return true }, func(*engine.Process) { panic("broken invariant") })
		})
		a.After(2*time.Second, "later", func(*engine.Process) { ran = true })
	})
	value := func() (value any) {
		defer func() { value = processPanic(recover()) }()
		e.Advance(time.Minute)
		return nil
	}()
	e.Advance(time.Minute)
	if value != "broken invariant" || !ran {
		t.Errorf("recovered %v, went on: %v; want what the process panicked with, and true", value, ran)
	}
}
