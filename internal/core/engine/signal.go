package engine

import (
	"time"
)

// Signal lets processes wait for a change. The zero value is ready to use. A signal has no memory: a process reads the state itself
// before it waits, and again each time it is woken.
type Signal struct{ first *waiter }

// waiter is a process that waits for a signal. As a task it ends that wait.
type waiter struct {
	proc   *Process
	woken  bool    // by the signal, not by the timeout
	next   *waiter // of the signal, in the order in which they began to wait
	signal *Signal
	timer  *Timer // nil without a timeout
	spent  *Timer // of an earlier wait, which has fired: it serves again
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

// end ends the wait for a signal, if there is one, and reports whether the signal woke the process.
func (w *waiter) end() (woken bool) {
	if w.signal == nil {
		return false
	}
	w.signal.drop(w)
	if t := w.timer; t != nil {
		t.Stop()
		if t.fired {
			w.spent = t
		}
	}
	w.signal, w.timer = nil, nil
	return w.woken
}

// Wait suspends the process until the next Broadcast, which it reports as true, or until timeout of virtual time has passed. With zero or
// less there is no timeout; Settle does not wait for such a process. If the actor crashes, Wait does not return. The process of the
// engine's user does not wait and gets false.
func (s *Signal) Wait(p *Process, timeout time.Duration) bool {
	if p.inline {
		return false
	}
	p.Expect(s, timeout)
	// A crash unwinds from here: the process must not be woken then.
	defer p.waits.end()
	p.park()
	return p.waits.woken
}

// WaitUntil suspends the process until cond holds, which is evaluated at each Broadcast.
func (s *Signal) WaitUntil(p *Process, cond func() bool) {
	if p.inline || cond() {
		return
	}
	p.WaitSteps(s.until(p, cond))
}

// until begins a wait, and returns the steps that repeat it until cond holds.
func (s *Signal) until(p *Process, cond func() bool) func(woken bool) bool {
	p.Expect(s, 0)
	return func(bool) bool {
		if cond() {
			return true
		}
		p.Expect(s, 0)
		return false
	}
}

// ThenWhen continues with rest when cond holds, which is evaluated at each Broadcast. It must be the last call of the process's code; see
// WaitThen.
func (s *Signal) ThenWhen(p *Process, cond func() bool, rest func(*Process)) {
	if p.inline || cond() {
		rest(p)
		return
	}
	p.WaitThen(s.until(p, cond), rest)
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

// Release is Broadcast for processes that go on before whatever else is due now: goroutines of one program go on before the network brings
// them anything.
func (s *Signal) Release() {
	w := s.first
	if w == nil {
		return
	}
	s.first, w.next = w.next, nil
	s.Release() // what is released last goes on first
	w.woken = true
	w.proc.engine.scheduleFirst(w, w.proc.actor)
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
