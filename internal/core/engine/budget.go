package engine

import (
	"errors"
	"time"

	"github.com/volsim/volsim/api"
)

// BackendWithin is Backend for a caller that waits at most budget. A call that takes longer, by itself or by an injected delay, ends at
// that moment with the error late and has no effect (MNT-006). After an error of fn with a method ReplyAfter, the caller waits for that
// long, at most for the rest of the budget: the call takes effect, and its reply arrives later.
func (p *Process) BackendWithin(call api.Call, latency, budget time.Duration, late error, fn func() error) error {
	if p.inline {
		err := fn()
		p.traceCall(call, "end", err)
		return err
	}
	if p.dead {
		panic(killed{})
	}
	p.engine.effects++
	p.calls++
	var fault api.Fault
	if p.engine.injector != nil {
		call.Actor = p.actor.name
		fault = p.engine.injector.Inject(call)
	}
	delay := latency + fault.Delay
	if delay > 0 {
		p.traceCall(call, "begin", nil)
	}
	if !NoFault(fault) {
		p.traceFault(call, fault)
	}
	// MNT-006: the caller has given up before the call takes effect.
	if delay > budget {
		p.Sleep(budget)
		p.traceCall(call, "end", late)
		p.calls++
		return late
	}
	if delay > 0 {
		p.Sleep(delay)
	} else {
		p.Switch()
	}
	if fault.Crash && !fault.Effect {
		p.crash(fault.Restart)
	}
	if fault.Err != nil && !fault.Effect {
		p.traceCall(call, "end", fault.Err)
		p.calls++
		return fault.Err
	}
	err := fn()
	if wait := min(replyAfter(err), budget-delay); wait > 0 {
		if delay <= 0 {
			p.traceCall(call, "begin", nil)
		}
		p.Sleep(wait)
	}
	p.traceCall(call, "end", err)
	if f := p.engine.footprint; f != nil {
		f.Calls = append(f.Calls, Effect{Process: p, Call: call, Err: err})
	}
	if lost := p.after(fault); lost != nil {
		return lost
	}
	return err
}

// replyAfter returns how long after its effect the reply to a call arrives.
func replyAfter(err error) time.Duration {
	type lateReply interface {
		error
		ReplyAfter() time.Duration
	}
	if late, ok := errors.AsType[lateReply](err); ok {
		return late.ReplyAfter()
	}
	return 0
}
