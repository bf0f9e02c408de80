package engine

import (
	"iter"

	"github.com/volsim/volsim/internal/core/guard"
)

// coroutine runs the events of the engine one after the other, and the processes that begin in them, as plain calls. A process that waits
// blocks its coroutine, so another coroutine takes over with the next event. When the process is due again, that one hands control back
// and becomes idle. So only a process that waits costs a switch.
type coroutine struct {
	next func() (struct{}, bool)
	stop func()
	// yield returns control to runEvents; false means that the process on this coroutine must end.
	yield   func(struct{}) bool
	stopped bool    // the process that waits on it must end
	engine  *Engine // nil while it is idle
}

// runEvents runs the events that source puts into taken, until source returns false. source runs on a coroutine, except for the first event.
// runEvents panics if the run was given up.
func (e *Engine) runEvents(source func() bool) {
	if e.runEventsOrGiveUp(source) {
		panic(GivenUp)
	}
}

// runEventsOrGiveUp is runEvents with a result in place of the panic, which costs more than most events.
func (e *Engine) runEventsOrGiveUp(source func() bool) (givenUp bool) {
	if !source() {
		return e.clearGivenUp()
	}
	outer := e.source
	e.source, e.isTaken = source, true
	// A panic in an event surfaces here; the engine can continue after it.
	defer e.restoreOuterRun(outer)
	for co := e.idleCoroutine(); co != nil; co = e.switchTo {
		e.switchTo = nil
		co.resume(e)
	}
	return e.clearGivenUp()
}

// clearGivenUp reports whether the run was given up, and resets that for the next one.
func (e *Engine) clearGivenUp() bool {
	was := e.givenUp
	e.givenUp = false
	return was
}

// restoreOuterRun restores the source of the run in whose event this one ran, nil for none.
func (e *Engine) restoreOuterRun(outer func() bool) {
	e.source, e.inEvent, e.resumed, e.running, e.cause = outer, false, nil, nil, 0
	e.taken, e.isTaken = event{}, false
}

// nextEvent reports whether there is a next event, which is in taken then.
func (e *Engine) nextEvent() bool {
	if e.isTaken {
		e.isTaken = false
		return true
	}
	return e.source()
}

// idleCoroutine returns an idle coroutine, or a new one.
func (e *Engine) idleCoroutine() *coroutine {
	if n := len(e.remains.idle); n > 0 {
		co := e.remains.idle[n-1]
		e.remains.idle = e.remains.idle[:n-1]
		co.engine = e
		return co
	}
	co := &coroutine{engine: e}
	co.next, co.stop = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
		grow()
		for co.loopRecovering() {
		}
	})
	return co
}

// resume lets the coroutine run until it hands control back. A panic on it becomes one here.
func (co *coroutine) resume(e *Engine) {
	co.next()
	if p := e.panicked; p != nil {
		e.panicked = nil
		panic(p)
	}
}

// loopRecovering is loop, and recovers from panics: resume panics with the value, on the stack of its caller, and the coroutine is idle.
func (co *coroutine) loopRecovering() (again bool) {
	defer func() {
		if value := recover(); value != nil {
			co.engine.panicked = panicOf(value, guard.Stack(loopRecoveringName))
			again = co.goIdle(nil)
		}
	}()
	return co.loop()
}

// grow makes the stack of a new coroutine as large as most processes need, while it is still empty: a stack that grows later is copied, two or
// three times in the life of a process.
//
//go:noinline
func grow() byte {
	var room [5 << 10]byte
	return room[len(rooms)%len(room)]
}

var rooms []byte

// loop runs events until the coroutine becomes idle, and blocks until it is used again. It returns false if the coroutine must end.
func (co *coroutine) loop() bool {
	e := co.engine
	for {
		if e.inEvent {
			e.endEvent()
		}
		if !e.nextEvent() {
			return co.goIdle(nil)
		}
		e.host = co
		if !e.beginEvent() {
			return co.goIdle(nil)
		}
		e.taken.task.run()
		if co.stopped {
			co.stopped = false
			return co.goIdle(nil) // the process that waited in this event was killed
		}
		if p := e.resumed; p != nil {
			e.resumed = nil
			return co.goIdle(p.co)
		}
	}
}

// goIdle hands control to another coroutine, or to runEvents if that is nil, and blocks until the coroutine is used again. An idle coroutine does
// not keep the engine in memory.
func (co *coroutine) goIdle(switchTo *coroutine) bool {
	e := co.engine
	e.remains.idle = append(e.remains.idle, co)
	e.switchTo, co.engine = switchTo, nil
	return co.yield(struct{}{})
}

// handOver hands control to another coroutine until the process that waits on this one is due. It returns false if the process must end.
func (co *coroutine) handOver(switchTo *coroutine) bool {
	co.engine.switchTo = switchTo
	return co.yield(struct{}{}) && !co.stopped
}

// resumeInPlace takes the next event, on the stack of a process that is about to wait. If the event ends that wait, it runs here, and the process
// continues without a switch. Any other event stays in taken, for the coroutine switchTo; nil is runEvents. A panic in the event goes there, too.
func (co *coroutine) resumeInPlace(p *Process) (resumed bool, switchTo *coroutine) {
	e := co.engine
	defer func() {
		if value := recover(); value != nil {
			e.panicked = panicOf(value, guard.Stack(resumeInPlaceName))
		}
	}()
	for {
		e.endEvent()
		if !e.nextEvent() {
			return false, nil
		}
		if !p.endsWait(e.taken.task) {
			e.isTaken = true
			return false, e.idleCoroutine()
		}
		e.host = co
		if !e.beginEvent() {
			return false, nil
		}
		e.taken.task.run()
		if e.resumed == p {
			e.resumed = nil
			return true, nil
		}
	}
}

// kill unwinds the process that waits on the coroutine, which is idle then.
func (co *coroutine) kill() {
	e := co.engine
	co.stopped = true
	switchTo := e.switchTo
	co.resume(e)
	e.switchTo = switchTo
}

// release stops the idle coroutines, so that an unused engine can be collected.
func (e *Engine) release() {
	if !e.remainsShared {
		e.remains.keep(e.coroutinesKept)
	}
}

// KeepCoroutine keeps one idle coroutine from one run to the next, until Close. It saves time in an engine whose runs are many and short;
// the coroutine of an engine that is not closed stays in memory.
func (e *Engine) KeepCoroutine() { e.coroutinesKept = 1 }

// beginEvent marks the beginning of an event. It reports whether the event is to run.
func (e *Engine) beginEvent() bool {
	e.inEvent = true
	if e.observer != nil && !e.beginObserved(e.taken) {
		e.givenUp = true
		return false
	}
	return true
}

// endEvent marks the end of an event: its task has returned, and the processes that ran in it have ended or wait.
func (e *Engine) endEvent() {
	e.inEvent, e.running, e.cause = false, nil, 0
	if e.observer != nil {
		e.endObserved()
	}
	for _, fn := range e.after {
		fn()
	}
}
