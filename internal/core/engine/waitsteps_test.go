package engine_test

import (
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
