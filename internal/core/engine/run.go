package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

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

const forever = time.Duration(1<<63 - 1)

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

// StuckCause is the reason for which the engine stopped before the condition of its caller held.
type StuckCause int

// The causes of a StuckError.
const (
	Livelock    StuckCause = iota // too many events ran at one instant
	TimeLimit                     // the limit of virtual time was reached
	NothingLeft                   // no event was left that could change anything
)

// StuckError reports that the engine stopped before the condition of its caller held.
type StuckError struct {
	Cause StuckCause
	// Events is how many events ran at the last instant of a Livelock.
	Events int
	// Repeated describes the calls that were made most often in the second half of these events.
	Repeated []string
	// Limit is the virtual time that the caller granted, for TimeLimit and NothingLeft.
	Limit time.Duration
	// Pending describes the work that was still queued, in the order in which it is due.
	Pending []string
}

// Error names the cause and the first pieces of pending work.
func (err *StuckError) Error() string {
	const shown = 10
	text := err.cause()
	if len(err.Repeated) > 0 {
		text += ", again and again with " + strings.Join(err.Repeated, ", ")
	}
	for i, p := range err.Pending {
		if i == shown {
			return fmt.Sprintf("%s; and %d more", text, len(err.Pending)-shown)
		}
		sep := "; pending: "
		if i > 0 {
			sep = ", "
		}
		text += sep + p
	}
	return text
}

func (err *StuckError) cause() string {
	switch err.Cause {
	case Livelock:
		return fmt.Sprintf("%d events passed at one instant", err.Events)
	case TimeLimit:
		return fmt.Sprintf("%v of virtual time is spent", err.Limit)
	}
	return "nothing is left that could change anything"
}

// Pending describes the work that is queued, in the order in which it is due.
func (e *Engine) Pending() []string {
	var pending []string
	for _, ev := range slices.Concat(e.ready.all(), e.passes.sorted()) {
		if t, ok := ev.task.(*Timer); ok && t.stopped {
			continue
		}
		pending = append(pending, e.describe(ev, e.now))
	}
	for _, ev := range e.timers.sorted() {
		if t, ok := ev.task.(*Timer); ok && t.stopped {
			continue
		}
		pending = append(pending, e.describe(ev, ev.at))
	}
	return pending
}

func (e *Engine) describe(ev event, at time.Duration) string {
	text := fmt.Sprint(ev.task)
	if ev.owner != nil {
		text = ev.owner.name + ": " + text
	}
	if ev.background {
		text += " (background)"
	}
	return fmt.Sprintf("%s at +%v", text, at)
}
