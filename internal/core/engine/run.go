package engine

import "time"

// RunMode is the method by which the caller runs the engine.
type RunMode int

// The run modes.
const (
	Stepping  RunMode = iota // Step: returns after each event
	Advancing                // Advance: returns when the time has passed
	Settling                 // Settle: returns when only background work is left
	Awaiting                 // Until: returns when a condition holds
)

// RunMode returns the current or last run mode, and its deadline since the start of the engine.
func (e *Engine) RunMode() (RunMode, time.Duration) { return e.mode, e.deadline }

// Runs reports whether events run at this moment: the caller is part of one, or is called between two of them.
func (e *Engine) Runs() bool { return e.source != nil }

// Step runs the next event and moves the clock to it. It reports whether there was one. Loops that are not armed queue nothing.
func (e *Engine) Step() bool {
	e.beginRun(Stepping, forever)
	ok := e.single(forever)
	e.returns()
	return ok
}

// single runs the next event up to limit, and reports whether there was one.
func (e *Engine) single(limit time.Duration) (ran bool) {
	e.runEvents(func() bool {
		if ran {
			return false
		}
		ran = e.takeEvent(limit)
		return ran
	})
	return ran
}

// Advance runs everything due within d, the end included; the clock then reads now+d. A negative d does nothing. It returns a *StuckError when
// too many events run at one instant: then the clock stays there.
func (e *Engine) Advance(d time.Duration) error {
	if d < 0 {
		return nil
	}
	return e.drain(Advancing, d, func(run *drain) {
		run.passes = true
		e.runEvents(run.next)
	})
}

// Settle runs events until only background work is left: periodic loops that would find nothing new. It returns a *StuckError when limit
// of virtual time has passed, or when too many events run at one instant.
func (e *Engine) Settle(limit time.Duration) error {
	return e.drain(Settling, limit, func(d *drain) {
		e.runEvents(func() bool {
			if e.waiting == 0 && !e.hasOutside() {
				return false
			}
			return d.next()
		})
	})
}

// Until runs events until cond holds. It returns a *StuckError like Settle, and also when no event is left that could change anything.
func (e *Engine) Until(cond func() bool, limit time.Duration) error {
	return e.drain(Awaiting, limit, func(d *drain) {
		given := false
		one := func() bool {
			if given {
				return false
			}
			given = true
			return d.next()
		}
		// cond runs on the stack of its caller.
		for d.err == nil && !cond() {
			given = false
			e.runEvents(one)
		}
	})
}

// UntilInside is Until for a cond that may run on any stack: it neither runs the engine nor ends its goroutine. That saves two switches
// for each event.
func (e *Engine) UntilInside(cond func() bool, limit time.Duration) error {
	return e.drain(Awaiting, limit, func(d *drain) {
		e.runEvents(func() bool {
			if cond() {
				return false
			}
			return d.next()
		})
	})
}

// PassInside lets time pass like UntilInside with a condition that never holds, and calls each before each event. That the time is spent is no
// error; a livelock is, and GivenUp.
func (e *Engine) PassInside(each func(), d time.Duration) error {
	return e.drain(Awaiting, d, func(d *drain) {
		d.passes = true
		d.givenUp = e.runEventsOrGiveUp(func() bool {
			each()
			return d.next()
		})
	})
}

func (e *Engine) drain(mode RunMode, limit time.Duration, run func(d *drain)) error {
	d := &drain{engine: e, limit: limit, end: e.in(limit), instant: e.now}
	e.repeated = nil
	e.beginRun(mode, d.end)
	defer e.release()
	run(d)
	if d.givenUp {
		return GivenUp
	}
	e.returns()
	if d.err != nil {
		return d.err
	}
	return nil
}

// drain is a run with a limit.
type drain struct {
	engine     *Engine
	limit, end time.Duration
	instant    time.Duration // of the last event
	count      int           // number of events at that instant
	passes     bool          // see PassInside
	givenUp    bool
	err        *StuckError
}

// next takes the next event, or sets err at the limit. It reports whether there is one.
func (d *drain) next() bool {
	e := d.engine
	if d.livelock() {
		d.err = &StuckError{Cause: Livelock, Events: d.count, Repeated: e.mostRepeated(), Pending: e.Pending()}
		return false
	}
	if !e.takeEvent(d.end) {
		if e.givenUp {
			return false
		}
		if !d.passes {
			d.err = &StuckError{Cause: TimeLimit, Limit: d.limit, Pending: e.Pending()}
			if len(d.err.Pending) == 0 {
				d.err.Cause = NothingLeft
			}
		}
		e.finishInstant(max(e.now, d.end))
		return false
	}
	if e.now != d.instant {
		d.instant, d.count, e.repeated = e.now, 0, nil
	}
	d.count++
	return true
}

// beginRun records the run mode and its deadline, and requests the idle passes that a new fault may hit.
func (e *Engine) beginRun(d RunMode, end time.Duration) {
	e.mode, e.deadline = d, end
	e.resumeIdle()
}

// returns reports the end of a run to the observer.
func (e *Engine) returns() {
	if e.observer != nil {
		e.observer.Return()
	}
}
