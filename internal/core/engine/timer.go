package engine

import (
	"time"
)

// Timer is a scheduled event.
type Timer struct {
	actor *Actor
	name  string
	// What it does is in one of these: it starts a process, calls a function, ends a wait, or adds a key to a queue.
	process func(*Process)
	call    func()
	wait    *waiter
	retry   *delayed

	cause      uint64 // the process that asked for it
	rank       uint8  // of a pass
	background bool
	stopped    bool
	fired      bool
}

// After starts a process after d.
func (a *Actor) After(d time.Duration, name string, fn func(*Process)) *Timer {
	return a.arm(d, &Timer{name: name, process: fn})
}

// Background is After for work that repeats itself without effect unless something changes: Settle does not wait for it.
func (a *Actor) Background(d time.Duration, name string, fn func(*Process)) *Timer {
	return a.arm(d, &Timer{name: name, process: fn, background: true})
}

// arm schedules the timer of an actor after d.
func (a *Actor) arm(d time.Duration, t *Timer) *Timer {
	t.actor = a
	if by := a.engine.running; by != nil {
		t.cause = by.id
	}
	// A dead actor gets no timer.
	t.stopped = !a.engine.enqueue(d, &event{task: t, owner: a, background: t.background, rank: t.rank})
	return t
}

func (t *Timer) run() {
	t.fired = true
	t.actor.engine.cause = t.cause
	switch {
	case t.process != nil:
		t.actor.spawn(t.name, t.process)
	case t.call != nil:
		t.call()
	case t.retry != nil:
		t.retry.due()
	default:
		t.wait.timeout()
	}
}

// String is the purpose of the timer.
func (t *Timer) String() string {
	if t.wait != nil {
		return t.wait.proc.name + ", tired of waiting"
	}
	if t.retry != nil {
		return t.retry.queue.name + " retry of " + t.retry.key
	}
	return t.name
}

// Stop prevents the timer from firing. It reports whether it came in time.
func (t *Timer) Stop() bool {
	e := t.actor.engine
	if t.stopped || t.fired {
		e.answers(0)
		return false
	}
	e.answers(1)
	t.stopped = true
	if !t.background {
		e.waiting--
	}
	e.dropStopped()
	return true
}

// newTimer returns a timer that is to be set.
func (e *Engine) newTimer() *Timer {
	last := len(e.unusedTimers) - 1
	if last < 0 {
		return &Timer{}
	}
	t := e.unusedTimers[last]
	e.unusedTimers = e.unusedTimers[:last]
	return t
}

// timersKept is the number of timers that an engine retains.
const timersKept = 1024

// reuseTimer retains a stopped timer that is not listed any more, if nothing refers to it. That of an earlier wait is such a timer.
func (e *Engine) reuseTimer(t *Timer) {
	if t.wait != nil && len(e.unusedTimers) < timersKept {
		*t = Timer{}
		e.unusedTimers = append(e.unusedTimers, t)
	}
}

// dropStopped is called when a timer was stopped. It removes the stopped timers from the list if they may be most of it, as timeouts usually are.
// Where an order is chosen, they stay: they are offered like the others; see takeDue.
func (e *Engine) dropStopped() {
	e.stopped++
	if e.stopped < 64 || e.stopped < len(e.timers.events)/2 || e.choices != nil || e.observer != nil || e.outside != nil {
		return
	}
	e.stopped = 0
	e.timers.drop(func(ev event) bool {
		t, ok := ev.task.(*Timer)
		if ok && t.stopped {
			e.reuseTimer(t)
			return true
		}
		return false
	})
}
