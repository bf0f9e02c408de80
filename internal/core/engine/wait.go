package engine

import "time"

// Signal lets processes wait for a change. The zero value is ready to use. A signal has no memory: a process reads the state itself
// before it waits, and again each time it is woken.
type Signal struct{ first *waiter }

// waiter is a process that waits for a signal. As a task it ends that wait.
type waiter struct {
	proc  *Process
	woken bool    // by the signal, not by the timeout
	next  *waiter // of the signal, in the order in which they began to wait
}

func (w *waiter) run() { w.proc.run() }

// timeout ends the wait, unless a broadcast at this very instant has already woken the process.
func (w *waiter) timeout() {
	if !w.woken {
		w.proc.run()
	}
}

// String names the process that waits.
func (w *waiter) String() string { return w.proc.name + ", woken by a signal" }

// Wait suspends the process until the next Broadcast, which it reports as true, or until timeout of virtual time has passed. With zero or
// less there is no timeout; Settle does not wait for such a process. If the actor crashes, Wait does not return. The process of the
// engine's user does not wait and gets false.
func (s *Signal) Wait(p *Process, timeout time.Duration) bool {
	if p.inline {
		return false
	}
	w := &p.waits
	*w = waiter{proc: p}
	last := &s.first
	for *last != nil {
		last = &(*last).next
	}
	*last = w
	if timeout > 0 {
		defer p.actor.arm(timeout, &Timer{wait: w}).Stop()
	}
	// A crash unwinds from here: the process must not be woken then.
	defer s.drop(w)
	p.park()
	return w.woken
}

// Broadcast wakes all waiting processes. They continue at this instant, behind the events that are already due, in the order in which
// they began to wait.
func (s *Signal) Broadcast() {
	for s.first != nil {
		w := s.first
		s.first, w.next = w.next, nil
		w.woken = true
		w.proc.engine.schedule(0, w, w.proc.actor, false)
	}
}

// Waiting is the number of processes that wait.
func (s *Signal) Waiting() int {
	n := 0
	for w := s.first; w != nil; w = w.next {
		n++
	}
	return n
}

func (s *Signal) drop(w *waiter) {
	for at := &s.first; *at != nil; at = &(*at).next {
		if *at == w {
			*at, w.next = w.next, nil
			return
		}
	}
}
