package engine

import (
	"time"
)

// task is anything that can be scheduled.
type task interface{ run() }

// schedule makes t due after d. Settle does not wait for background tasks. It returns false for a dead actor: then nothing is scheduled.
func (e *Engine) schedule(d time.Duration, t task, owner *Actor, background bool) bool {
	return e.enqueue(d, &event{task: t, owner: owner, background: background})
}

// scheduleFirst makes t due now, before whatever else is due.
func (e *Engine) scheduleFirst(t task, owner *Actor) {
	if e.schedule(0, t, owner, false) {
		e.ready.lastFirst()
	}
}

// enqueue makes an event due after d, in the order of its rank; see schedule.
func (e *Engine) enqueue(d time.Duration, ev *event) bool {
	if ev.owner != nil && !ev.owner.alive {
		return false
	}
	e.seq++
	ev.seq = e.seq
	if e.footprint != nil {
		e.footprint.Queued = append(e.footprint.Queued, ev.seq)
	}
	if !ev.background {
		e.waiting++
	}
	if d <= 0 {
		e.addDue(ev)
		return true
	}
	ev.at = e.in(d)
	e.timers.push(*ev)
	return true
}

// addDue adds an event that is due now. If an order is chosen, passes have no order of their own.
func (e *Engine) addDue(ev *event) {
	if ev.rank > 0 && e.choices == nil {
		ev.at = ev.turn().number()
		e.passes.push(*ev)
	} else {
		e.ready.push(*ev)
	}
}

// takeEvent removes the next event up to limit, puts it into taken, and moves the clock to it. It reports whether there is one.
func (e *Engine) takeEvent(limit time.Duration) bool {
	ev := &e.taken
	for {
		if e.ready.len() == 0 && len(e.passes.events) == 0 && !e.advanceClock(limit) {
			return false
		}
		if !e.takeDue(ev) {
			if e.givenUp {
				return false
			}
			continue
		}
		if t, ok := ev.task.(*Timer); ok && t.stopped {
			continue
		}
		if !ev.background {
			e.waiting--
		}
		return true
	}
}

// takeDue removes an event that is due now.
func (e *Engine) takeDue(ev *event) bool {
	e.hearOutside()
	switch n := e.ready.len(); {
	case n > 0 && e.choices != nil:
		// Stopped timers are offered too. A pick of one is followed by another pick, so the others keep equal chances.
		i := e.choices.pick(n)
		if i == GiveUp {
			e.givenUp = true
			return false
		}
		e.ready.takeTo(ev, i)
	case n > 0:
		e.ready.popTo(ev)
	case len(e.passes.events) > 0:
		*ev = e.passes.pop()
		e.turn = ev.turn()
	default:
		return false
	}
	return true
}

// advanceClock moves the clock to the next event up to limit. It reports whether there is one.
func (e *Engine) advanceClock(limit time.Duration) bool {
	first := e.timers.peek()
	if first == nil || first.at > limit {
		return e.waitOutside(limit)
	}
	// A stopped timer does not move the clock.
	if t, ok := first.task.(*Timer); ok && t.stopped {
		e.timers.pop()
		if e.observer == nil {
			e.reuseTimer(t)
		}
		return true
	}
	at := first.at
	if e.waitOutside(at) {
		return true
	}
	e.setClock(at)
	for first = e.timers.peek(); first != nil && first.at == at; first = e.timers.peek() {
		ev := e.timers.pop()
		e.addDue(&ev)
	}
	return true
}

// setClock moves the clock.
func (e *Engine) setClock(at time.Duration) {
	if e.now != at {
		e.now, e.turn = at, turn{}
	}
}

// finishInstant records that all events up to the time at have run, those of that time included.
func (e *Engine) finishInstant(at time.Duration) { e.now, e.turn = at, lastTurn }

// in is the time d from now, at most forever.
func (e *Engine) in(d time.Duration) time.Duration { return later(e.now, d) }

// later is the time d after t, at most forever.
func later(t, d time.Duration) time.Duration {
	if d > forever-t {
		return forever
	}
	return t + d
}

const forever = time.Duration(1<<63 - 1)
