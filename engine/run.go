package engine

import (
	"fmt"
	"time"
)

// Step runs the next event, moving the clock to it, and reports whether there was one. Loops that have nothing to do queue nothing.
func (e *Engine) Step() bool {
	e.drives(Stepping, forever)
	ev, ok := e.next(forever)
	if ok {
		e.run(ev)
	}
	e.returns()
	return ok
}

const forever = time.Duration(1<<63 - 1)

// Advance runs everything due within d, the end included; the clock then stands at now+d. A negative d does nothing.
func (e *Engine) Advance(d time.Duration) {
	if d < 0 {
		return
	}
	end := e.in(d)
	e.drives(Advancing, end)
	for {
		ev, ok := e.next(end)
		if !ok {
			break
		}
		e.run(ev)
	}
	e.now = end
	e.release()
	e.returns()
}

// Settle runs events until nothing but background work is left: the periodic loops that would find the same again. It gives up
// with a *StuckError when limit of virtual time is spent, or when too many events pass at one instant.
func (e *Engine) Settle(limit time.Duration) error {
	return e.drain(Settling, limit, func() bool { return e.waiting == 0 })
}

// Until runs events until cond holds, and gives up as Settle does, or when nothing is left that could change anything.
func (e *Engine) Until(cond func() bool, limit time.Duration) error {
	return e.drain(Awaiting, limit, cond)
}

func (e *Engine) drain(drive Drive, limit time.Duration, cond func() bool) error {
	e.drives(drive, e.in(limit))
	err := e.until(limit, cond)
	e.returns()
	return err
}

func (e *Engine) until(limit time.Duration, cond func() bool) error {
	defer e.release()
	end := e.in(limit)
	instant, count := e.now, 0
	for !cond() {
		ev, ok := e.next(end)
		if !ok {
			err := &StuckError{Why: fmt.Sprintf("%v of virtual time is spent", limit), Pending: e.Pending()}
			if len(err.Pending) == 0 {
				err.Why = "nothing is left that could change anything"
			}
			if end > e.now {
				e.now = end
			}
			return err
		}
		if e.now != instant {
			instant, count = e.now, 0
		}
		e.run(ev)
		// An instant may hold a fair number of events for each object, but not without end.
		if count++; count > maxEventsAtOnce && count > maxEventsPerObject*e.store.Len() {
			return &StuckError{Why: fmt.Sprintf("%d events passed at one instant", count), Pending: e.Pending()}
		}
	}
	return nil
}

const (
	maxEventsAtOnce    = 10_000
	maxEventsPerObject = 200
)

// StuckError says why the engine gave up, and what was still to be done.
type StuckError struct {
	Why     string
	Pending []string
}

func (err *StuckError) Error() string {
	const shown = 10
	text := err.Why
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

// Pending describes the work that is queued, in the order in which it is due.
func (e *Engine) Pending() []string {
	var pending []string
	for _, ev := range e.ready.all() {
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
