package engine

import "iter"

// coroutine carries the engine along: it runs one event after the other, and the processes that begin in them, as plain calls. A process
// that has to wait holds up the coroutine that it runs on, so another one goes on with the next event. When the process's time has come
// that one hands over to it, and is idle. In this way only a process that waits costs a switch.
type coroutine struct {
	next func() (struct{}, bool)
	stop func()
	// yield gives control back to carry; false means that the process on this coroutine is to end.
	yield   func(struct{}) bool
	stopped bool
	engine  *Engine // nil while it is idle
}

// carry runs the events that more gives, until it gives none. more is called on a coroutine, but for the first event.
func (e *Engine) carry(more func() (event, bool)) {
	first, ok := more()
	if !ok {
		return
	}
	outer := e.more
	e.more = func() (event, bool) {
		e.more = more
		return first, true
	}
	// A panic in an event comes out here, and the engine can go on after it.
	defer func() { e.more, e.open, e.resumed, e.running, e.cause = outer, false, nil, nil, 0 }()
	for co := e.coroutine(); co != nil; co = e.onto {
		e.onto = nil
		co.next()
	}
}

// coroutine is an idle one, or a new one.
func (e *Engine) coroutine() *coroutine {
	if n := len(e.idle); n > 0 {
		co := e.idle[n-1]
		e.idle = e.idle[:n-1]
		co.engine = e
		return co
	}
	co := &coroutine{engine: e}
	co.next, co.stop = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
		for co.carries() {
		}
	})
	return co
}

// carries runs events until the coroutine is idle, and waits until it is not. It reports false if that is the end of it.
func (co *coroutine) carries() bool {
	e := co.engine
	for {
		if e.open {
			e.ends()
		}
		ev, ok := e.more()
		if !ok {
			return co.rest(nil)
		}
		e.host = co
		e.begins(ev)
		ev.task.run()
		if co.stopped {
			return false // a process that waited in this event was killed
		}
		if p := e.resumed; p != nil {
			e.resumed = nil
			return co.rest(p.co)
		}
	}
}

// rest has another coroutine go on, or the caller of carry if that is nil. While it is idle the coroutine does not keep the engine in memory.
func (co *coroutine) rest(onto *coroutine) bool {
	e := co.engine
	e.idle = append(e.idle, co)
	e.onto, co.engine = onto, nil
	return co.yield(struct{}{})
}

// handOver has another coroutine go on until the time of the process that waits on this one has come. It reports false if the process is
// to end.
func (co *coroutine) handOver(onto *coroutine) bool {
	co.engine.onto = onto
	return co.yield(struct{}{})
}

// kill unwinds the process that waits on the coroutine.
func (co *coroutine) kill() {
	co.stopped = true
	co.stop()
}

// release lets go of the idle coroutines, so that an engine that is no longer used can be collected.
func (e *Engine) release() {
	for _, co := range e.idle {
		co.stop()
	}
	e.idle = e.idle[:0]
}

// begins is the beginning of an event.
func (e *Engine) begins(ev event) {
	e.open = true
	if e.observer != nil {
		e.beginObserved(ev)
	}
}

// ends is the end of an event: its task is done, and the processes that ran in it are over or wait.
func (e *Engine) ends() {
	e.open, e.running, e.cause = false, nil, 0
	if e.observer != nil {
		e.endObserved()
	}
	for _, fn := range e.after {
		fn()
	}
}
