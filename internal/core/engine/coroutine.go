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
	// yield returns control to carry; false means that the process on this coroutine must end.
	yield   func(struct{}) bool
	stopped bool    // the process that waits on it must end
	engine  *Engine // nil while it is idle
}

// carry runs the events that more takes, until there are none. more runs on a coroutine, except for the first event. It panics if the run was
// given up.
func (e *Engine) carry(more func() bool) {
	if e.carriesOn(more) {
		panic(GivenUp)
	}
}

// carriesOn is carry with a result in place of the panic, which costs more than most events.
func (e *Engine) carriesOn(more func() bool) (givenUp bool) {
	if !more() {
		return e.endGivenUp()
	}
	outer := e.more
	e.more, e.isTaken = more, true
	// A panic in an event surfaces here; the engine can continue after it.
	defer e.carried(outer)
	for co := e.coroutine(); co != nil; co = e.onto {
		e.onto = nil
		co.resume(e)
	}
	return e.endGivenUp()
}

// endGivenUp ends a run that was given up. It reports whether it was.
func (e *Engine) endGivenUp() bool {
	was := e.givenUp
	e.givenUp = false
	return was
}

// carried restores what was before carry.
func (e *Engine) carried(outer func() bool) {
	e.more, e.open, e.resumed, e.running, e.cause = outer, false, nil, nil, 0
	e.taken, e.isTaken = event{}, false
}

// takes reports whether there is a next event, which is in taken then.
func (e *Engine) takes() bool {
	if e.isTaken {
		e.isTaken = false
		return true
	}
	return e.more()
}

// coroutine returns an idle coroutine, or a new one.
func (e *Engine) coroutine() *coroutine {
	if n := len(e.left.idle); n > 0 {
		co := e.left.idle[n-1]
		e.left.idle = e.left.idle[:n-1]
		co.engine = e
		return co
	}
	co := &coroutine{engine: e}
	co.next, co.stop = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
		grow()
		for co.goesOn() {
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

// goesOn is carries. After a panic, which goes to the one who resumed it, the coroutine is idle like any other.
func (co *coroutine) goesOn() (goesOn bool) {
	defer func() {
		if value := recover(); value != nil {
			co.engine.panicked = panicOf(value, guard.Stack(goesOnName))
			goesOn = co.rest(nil)
		}
	}()
	return co.carries()
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

// carries runs events until the coroutine becomes idle, and blocks until it is used again. It returns false when the coroutine must end.
func (co *coroutine) carries() bool {
	e := co.engine
	for {
		if e.open {
			e.ends()
		}
		if !e.takes() {
			return co.rest(nil)
		}
		e.host = co
		if !e.begins() {
			return co.rest(nil)
		}
		e.taken.task.run()
		if co.stopped {
			co.stopped = false
			return co.rest(nil) // the process that waited in this event was killed
		}
		if p := e.resumed; p != nil {
			e.resumed = nil
			return co.rest(p.co)
		}
	}
}

// rest hands control to another coroutine, or to the caller of carry if that is nil. An idle coroutine does not keep the engine in
// memory.
func (co *coroutine) rest(onto *coroutine) bool {
	e := co.engine
	e.left.idle = append(e.left.idle, co)
	e.onto, co.engine = onto, nil
	return co.yield(struct{}{})
}

// handOver hands control to another coroutine until the process that waits on this one is due. It returns false if the process must end.
func (co *coroutine) handOver(onto *coroutine) bool {
	co.engine.onto = onto
	return co.yield(struct{}{}) && !co.stopped
}

// continued takes the next event, on the stack of a process that is about to wait, and runs it if it is the end of that wait: then the process
// goes on without a switch. Any other event is left to onto, nil for the caller of carry. A panic goes there, as that of any event.
func (co *coroutine) continued(p *Process) (goesOn bool, onto *coroutine) {
	e := co.engine
	defer func() {
		if value := recover(); value != nil {
			e.panicked = panicOf(value, guard.Stack(continuedName))
		}
	}()
	for {
		e.ends()
		if !e.takes() {
			return false, nil
		}
		if !p.endsWait(e.taken.task) {
			e.isTaken = true
			return false, e.coroutine()
		}
		e.host = co
		if !e.begins() {
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
	onto := e.onto
	co.resume(e)
	e.onto = onto
}

// release stops the idle coroutines, so that an unused engine can be collected.
func (e *Engine) release() {
	if !e.lent {
		e.left.keep(e.kept)
	}
}

// KeepCoroutine keeps one idle coroutine from one run to the next, until Close. It saves time in an engine whose runs are many and short;
// the coroutine of an engine that is not closed stays in memory.
func (e *Engine) KeepCoroutine() { e.kept = 1 }

// begins marks the beginning of an event. It reports whether the event is to run.
func (e *Engine) begins() bool {
	e.open = true
	if e.observer != nil && !e.beginObserved(e.taken) {
		e.givenUp = true
		return false
	}
	return true
}

// ends marks the end of an event: its task has returned, and the processes that ran in it have ended or wait.
func (e *Engine) ends() {
	e.open, e.running, e.cause = false, nil, 0
	if e.observer != nil {
		e.endObserved()
	}
	for _, fn := range e.after {
		fn()
	}
}
