package engine

import (
	"time"

	"github.com/volsim/volsim/api"
)

// Outside is code that runs on goroutines of its own, in the virtual time of an engine: an operator in a bubble of testing/synctest. It
// runs only while the engine waits for it, in Sleep and in tasks that it has queued.
type Outside interface {
	// Sleep lets d of virtual time pass for the goroutines, or less if one of them queues a task before that. It returns how much passed.
	Sleep(d time.Duration) time.Duration
}

// SetOutside sets the code whose time passes together with that of the engine.
func (e *Engine) SetOutside(o Outside) { e.outside = o }

// Outside returns what SetOutside set, or nil.
func (e *Engine) Outside() Outside { return e.outside }

// waitOutside advances the clock to the time at, or to the time at which Outside queues a task. It reports whether a task was queued.
func (e *Engine) waitOutside(at time.Duration) bool {
	if e.outside == nil || at == forever {
		return false
	}
	for e.now < at {
		e.setClock(min(at, later(e.now, e.outside.Sleep(at-e.now))))
		if e.ready.len() > 0 {
			return true
		}
		if ev := e.timers.peek(); ev != nil && ev.at < at {
			return true
		}
	}
	return false
}

// hasOutside lets Outside do at this instant what it can, such as to receive the last writes, and reports whether work is queued then.
func (e *Engine) hasOutside() bool {
	if e.outside != nil {
		e.outside.Sleep(0)
	}
	return e.waiting > 0
}

// hearOutside lets Outside queue what follows from the event before, so that a seed chooses among that, too. With seed 0, Outside comes when
// nothing else is due at this instant.
func (e *Engine) hearOutside() {
	if e.choices != nil && e.outside != nil {
		e.outside.Sleep(0)
	}
}

// Exchange makes a call to the API server that serve carries out with Effect. Before it, and before its answer arrives, others may run,
// faults are injected and time passes, as for the calls of Client. After an error serve was not called, or its answer is lost.
func (p *Process) Exchange(call api.Call, serve func()) error {
	p.engine.effects++
	fault, err := p.before(call, p.engine.latency)
	if err != nil {
		if call.Verb != "get" {
			p.traceWrite(call.Verb, api.Ref{Kind: api.Kind(call.Kind), Key: call.Key}, nil, nil, err)
		}
		return err
	}
	serve()
	return p.after(fault)
}

// Wait is Exchange for a call that no fault hits, such as a list.
func (p *Process) Wait() {
	if d := p.engine.latency; d > 0 {
		p.Sleep(d)
	} else {
		p.Switch()
	}
}

// Effect makes a write in the name of p, within Exchange: fn makes it in the store and returns the object of the answer.
func (p *Process) Effect(verb string, ref api.Ref, fn func() (api.Object, error)) (api.Object, error) {
	e := p.engine
	old, _ := e.store.Get(ref.Kind, ref.Key)
	obj, err := fn()
	now := old
	if err == nil {
		ref = api.RefTo(obj) // the server may have generated the name
		now, _ = e.store.Get(ref.Kind, ref.Key)
	}
	p.traceWrite(verb, ref, old, now, err)
	return obj, err
}
