package engine

import "time"

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

// Outcome is the result of a worker's key that comes later; see EndWhen.
type Outcome interface {
	// Known reports whether Result is final. It is evaluated at each Broadcast.
	Known() bool
	Result() error
}

// EndWhen suspends the worker until the outcome is known, and returns its result. It must be the last call of
// QueueConfig.Sync, which returns the result of EndWhen.
func (p *Process) EndWhen(s *Signal, o Outcome) error {
	if p.observed() || o.Known() {
		s.WaitUntil(p, o.Known)
		return o.Result()
	}
	// This is ThenWhen without functions of its own.
	p.Expect(s, 0)
	p.outcome, p.stackless = o, true
	return nil
}

// known takes the place of p.next for a worker whose outcome comes later. It waits for the signal again until the outcome is known.
func (p *Process) known(s *Signal) bool {
	if p.outcome.Known() {
		return true
	}
	p.Expect(s, 0)
	return false
}

// observed reports whether an observer sees which processes run in an event.
func (p *Process) observed() bool { return p.engine.Observed() }

// Expect begins a wait as Wait does, for WaitSteps.
func (p *Process) Expect(s *Signal, timeout time.Duration) {
	w := &p.waits
	*w = waiter{proc: p, signal: s, spent: w.spent}
	last := &s.first
	for *last != nil {
		last = &(*last).next
	}
	*last = w
	if timeout <= 0 {
		return
	}
	t := w.spent
	if w.spent = nil; t == nil {
		t = p.engine.newTimer()
	}
	*t = Timer{wait: w}
	w.timer = p.actor.arm(timeout, t)
}

// ExpectPasses begins a wait as AfterPasses does, for WaitSteps.
func (p *Process) ExpectPasses(rank uint8) {
	p.engine.enqueue(0, &event{task: p, owner: p.actor, rank: rank})
}

// WaitSteps suspends the process in several waits, one after the other. The caller has begun the first with Expect or ExpectPasses. At the
// end of each, next begins another and returns false, or returns true: then the process goes on. woken is the result of Wait. next runs in
// place of the process, without a switch to its stack. It must not wait.
func (p *Process) WaitSteps(next func(woken bool) bool) {
	defer p.waits.end()
	if p.observed() {
		for done := false; !done; {
			p.park()
			done = next(p.waits.end())
		}
		return
	}
	p.next = next
	p.park()
}

// WaitThen is WaitSteps that continues with rest. It must be the last call of the process's code: it returns at once, and rest runs when the
// waits are over. The stack is free meanwhile, so thousands of processes can wait.
func (p *Process) WaitThen(next func(woken bool) bool, rest func(*Process)) {
	p.next, p.fn, p.stackless = next, rest, true
}

// YieldToPasses asks the process to let passes come first, as AfterPasses does, before its next step: at Then or Yield.
func (p *Process) YieldToPasses(rank uint8) { p.yields = rank }

// YieldUntil asks the process to wait before its next step, at Then: for d, and then for as long as look returns, until that is zero. The
// next step gets the error that look returned last.
func (p *Process) YieldUntil(d time.Duration, look func(*Process) (again time.Duration, err error)) {
	p.delay, p.look = d, look
}

// Yield lets passes come first if YieldToPasses asked for that.
func (p *Process) Yield() {
	if rank := p.yields; rank > 0 {
		p.yields = 0
		p.AfterPasses(rank)
	}
}

// Then continues with rest, the next step, which gets err. After YieldToPasses or YieldUntil, it waits first. It must be the last call of the
// process's code, which returns the result of Then. Unless it has to wait, that is the result of rest. If an operation has to wait, Then returns nil
// at once, Waiting is true, and rest runs later; the stack is free meanwhile, as in WaitThen.
func (p *Process) Then(err error, rest func(*Process, error) error) error {
	if p.of == nil || p.yields == 0 && p.look == nil {
		for p.look != nil {
			p.Sleep(p.delay)
			if p.delay, err = p.look(p); p.delay <= 0 {
				p.look = nil
			}
		}
		p.Yield()
		return rest(p, err)
	}
	if p.dead {
		panic(killed{})
	}
	p.thenErr, p.then, p.stackless = err, rest, true
	if p.look != nil {
		p.engine.schedule(p.delay, p, p.actor, false)
		return nil
	}
	p.ExpectPasses(p.yields)
	p.yields = 0
	return nil
}

// runThen runs the next step of an operation after Then, unless it has to wait longer.
func (p *Process) runThen() error {
	if p.look != nil {
		again, err := p.look(p)
		if again > 0 {
			p.stackless = true
			p.engine.schedule(again, p, p.actor, false)
			return nil
		}
		p.look, p.thenErr = nil, err
	}
	return p.then(p, p.thenErr)
}

// Waiting reports whether the process is an operation that waits for its next step; see Then.
func (p *Process) Waiting() bool { return p.stackless }

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
