package engine

import (
	"testing"
	"time"
)

// A timer that has fired serves the next wait of its process. One that was stopped does not, because it is still listed.
func TestWaitTimersServeAgain(t *testing.T) {
	e, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	var signal Signal
	var woken []bool
	var timers []*Timer
	var ends []time.Duration
	actor, err := e.NewActor("a", func(*Actor) {})
	if err != nil {
		t.Fatal(err)
	}
	actor.Go("waits", func(p *Process) {
		for i, timeout := range []time.Duration{time.Second, time.Second, 10 * time.Second, time.Second, time.Second} {
			if i == 2 {
				actor.After(time.Second, "wakes", func(*Process) { signal.Broadcast() })
			}
			woken = append(woken, signal.Wait(p, timeout))
			timers = append(timers, p.waits.spent)
			ends = append(ends, e.Elapsed())
		}
	})
	if err := e.Settle(time.Hour); err != nil {
		t.Fatal(err)
	}
	if len(ends) != 5 {
		t.Fatalf("%d waits ended, want 5", len(ends))
	}
	for i, want := range []bool{false, false, true, false, false} {
		if at := time.Duration(i+1) * time.Second; woken[i] != want || ends[i] != at {
			t.Errorf("wait %d: woken %t after %v, want %t after %v", i, woken[i], ends[i], want, at)
		}
	}
	if timers[0] == nil || timers[1] != timers[0] {
		t.Errorf("the timers of the first waits are %p and %p, want one timer", timers[0], timers[1])
	}
	if timers[2] != nil {
		t.Errorf("a timer that was stopped is to serve again")
	}
	if timers[3] == nil || timers[3] == timers[0] || timers[4] != timers[3] {
		t.Errorf("the timers of the last waits are %p and %p, want one timer other than %p", timers[3], timers[4], timers[0])
	}
}
