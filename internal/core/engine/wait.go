package engine

import "time"

// Sleep lets d of virtual time pass. With zero or less, the events that are already due at this instant run first.
func (p *Process) Sleep(d time.Duration) {
	if p.inline {
		return
	}
	if p.dead {
		panic(killed{})
	}
	p.engine.schedule(d, p, p.actor, false)
	p.park()
}

// AfterPasses lets the other events of this instant come first, and then the passes with a lower rank; see TickerConfig.Rank.
func (p *Process) AfterPasses(rank uint8) {
	if p.inline {
		return
	}
	if p.dead {
		panic(killed{})
	}
	p.engine.enqueue(0, &event{task: p, owner: p.actor, rank: rank})
	p.park()
}

// Switch is a point at which other actors may run. With Seed 0 it does nothing.
func (p *Process) Switch() {
	if p.engine.choices == nil || p.inline {
		return
	}
	p.Sleep(0)
}

// park suspends the process until run is called.
func (p *Process) park() {
	p.parked = true
	resumed, switchTo := p.co.resumeInPlace(p)
	alive := resumed || p.co.handOver(switchTo)
	p.parked = false
	if !alive {
		panic(killed{})
	}
	p.markRunning()
}

// endsWait reports whether the event of a task is the end of a wait of the process.
func (p *Process) endsWait(t task) bool {
	switch t := t.(type) {
	case *Process:
		return t == p
	case *waiter:
		return t == &p.waits
	case *Timer:
		return t.wait == &p.waits
	}
	return false
}

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
