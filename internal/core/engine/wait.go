package engine

import (
	"slices"
	"time"
)

// Signal is something that processes wait for and others bring about. The zero value is ready to use. A signal remembers nothing:
// whoever waits looks at the state itself first, and again each time it is woken.
type Signal struct{ waiters []*waiter }

// waiter is a process that waits for a signal. As a task it is the end of that wait.
type waiter struct {
	proc  *Proc
	woken bool // by the signal, not by the time
}

func (w *waiter) run() { w.proc.run() }

// String is what waits.
func (w *waiter) String() string { return w.proc.name + ", woken by a signal" }

// Wait suspends the process until the next Broadcast, which it reports as true, or until timeout of virtual time has passed. A
// timeout of zero or less is none: such a wait may last for ever, and does not keep Settle going. If the actor crashes meanwhile
// Wait does not return. The process of the engine's user never waits and gets false.
func (s *Signal) Wait(p *Proc, timeout time.Duration) bool {
	if p.inline {
		return false
	}
	w := &waiter{proc: p}
	s.waiters = append(s.waiters, w)
	if timeout > 0 {
		timer := p.actor.timer(timeout, p.name+", tired of waiting", false, func() {
			// A broadcast of this very instant has it woken already.
			if !w.woken {
				p.run()
			}
		})
		defer timer.Stop()
	}
	// A crash unwinds from here: nobody must wake the process then.
	defer s.drop(w)
	p.park()
	return w.woken
}

// Broadcast wakes all processes that wait now. They go on at this instant, behind what is already due, in the order in which
// they began to wait.
func (s *Signal) Broadcast() {
	waiters := s.waiters
	s.waiters = nil
	for _, w := range waiters {
		w.woken = true
		w.proc.engine.schedule(0, w, w.proc.actor, false)
	}
}

// Waiting is the number of processes that wait.
func (s *Signal) Waiting() int { return len(s.waiters) }

func (s *Signal) drop(w *waiter) {
	if i := slices.Index(s.waiters, w); i >= 0 {
		s.waiters = slices.Delete(s.waiters, i, i+1)
	}
}
