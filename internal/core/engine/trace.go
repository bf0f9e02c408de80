package engine

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// refTo is api.RefTo. It allocates no string for a pod or a claim that is stored.
func (e *Engine) refTo(obj api.Object) api.Ref {
	switch obj := obj.(type) {
	case *corev1.Pod:
		if obj != nil {
			return api.Ref{Kind: api.Pod, Key: e.store.Pods.KeyOf(obj)}
		}
	case *corev1.PersistentVolumeClaim:
		if obj != nil {
			return api.Ref{Kind: api.PersistentVolumeClaim, Key: e.store.Claims.KeyOf(obj)}
		}
	}
	return api.RefTo(obj)
}

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

// traceWritten traces a write that the server has answered with obj or err. It returns the object's reference, which for a generated name differs
// from that of the request.
func (p *Process) traceWritten(verb string, ref api.Ref, old, obj api.Object, err error) api.Ref {
	now := old
	if err == nil {
		if ref.Key == "" || strings.HasSuffix(ref.Key, "/") {
			ref = api.RefTo(obj) // the server has generated the name
		}
		now = p.engine.store.Lookup(ref.Kind, ref.Key)
	}
	p.traceWrite(verb, ref, old, now, err)
	return ref
}

func (p *Process) traceCall(call api.Call, verb string, err error) {
	call.Actor = p.actor.name
	p.Record(trace.Entry{Type: trace.Storage, Verb: verb, Call: call, Err: err})
}

func (p *Process) traceFault(call api.Call, fault api.Fault) {
	call.Actor = p.actor.name
	p.Record(trace.Entry{Type: trace.Injected, Call: call, Text: FaultText(fault), Err: fault.Err})
}

func (e *Engine) traceActor(name string, what trace.EntryType) {
	if e.trace != nil {
		e.trace.Add(trace.Entry{Time: e.Now(), Actor: name, Type: what})
	}
}

// Decide records the rule and the reason of a decision about obj, which may be nil. text may contain fmt verbs for args.
func (p *Process) Decide(rule string, obj api.Object, text string, args ...any) {
	if p.engine.trace == nil {
		return
	}
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	p.Record(trace.Entry{Type: trace.Decision, Rule: rule, Object: p.engine.refTo(obj), Text: text})
}

// Tracing reports whether decisions are recorded, for callers whose text is expensive to compute.
func (p *Process) Tracing() bool { return p.engine.trace != nil }
