package engine

import (
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// Record adds an entry to the trace, if there is one, in the name of the process: it sets Time, Actor, Activity and Cause.
func (p *Process) Record(e trace.Entry) {
	if t := p.engine.trace; t != nil {
		e.Time, e.Actor, e.Activity, e.Cause = p.engine.Now(), p.actor.name, p.id, p.cause
		t.Add(e)
	}
}

func (p *Process) traceWrite(verb string, ref api.Ref, old, now api.Object, err error) {
	p.Record(trace.Entry{Type: trace.Write, Verb: verb, Object: ref, Old: old, New: now, Err: err})
}

func (p *Process) traceCall(call api.Call, verb string, err error) {
	call.Actor = p.actor.name
	p.Record(trace.Entry{Type: trace.Storage, Verb: verb, Call: call, Err: err})
}

func (p *Process) traceFault(call api.Call, fault api.Fault) {
	p.Record(trace.Entry{Type: trace.Injected, Call: call, Text: FaultText(fault), Err: fault.Err})
}

func (e *Engine) traceActor(name string, what trace.EntryType) {
	if e.trace != nil {
		e.trace.Add(trace.Entry{Time: e.Now(), Actor: name, Type: what})
	}
}
