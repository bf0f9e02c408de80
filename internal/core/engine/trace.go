package engine

import (
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

func (p *Proc) traceWrite(verb string, ref api.Ref, old, now api.Object, err error) {
	if t := p.engine.trace; t != nil {
		t.Add(trace.Entry{Time: p.engine.Now(), Actor: p.actor.name, Activity: p.id, Cause: p.cause, Type: trace.Write, Verb: verb, Object: ref, Old: old, New: now, Err: err})
	}
}

func (p *Proc) traceCall(call api.Call, verb string, err error) {
	if t := p.engine.trace; t != nil {
		call.Actor = p.actor.name
		t.Add(trace.Entry{Time: p.engine.Now(), Actor: p.actor.name, Activity: p.id, Cause: p.cause, Type: trace.Storage, Verb: verb, Call: call, Err: err})
	}
}

func (p *Proc) traceFault(call api.Call, fault api.Fault) {
	if t := p.engine.trace; t != nil {
		t.Add(trace.Entry{Time: p.engine.Now(), Actor: p.actor.name, Activity: p.id, Cause: p.cause, Type: trace.Injected, Call: call, Text: fault.String(), Err: fault.Err})
	}
}

func (p *Proc) traceRetry(where, key string, err error) {
	if t := p.engine.trace; t != nil {
		t.Add(trace.Entry{Time: p.engine.Now(), Actor: p.actor.name, Activity: p.id, Cause: p.cause, Type: trace.Retry, Reason: where, Text: key, Err: err})
	}
}

func (e *Engine) traceActor(name, what string) {
	if e.trace != nil {
		e.trace.Add(trace.Entry{Time: e.Now(), Actor: name, Type: trace.Lifecycle, Text: what})
	}
}
