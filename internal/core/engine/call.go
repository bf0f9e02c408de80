package engine

import (
	"errors"
	"time"

	"github.com/volsim/volsim/api"
)

// Backend makes a call to a storage backend: latency passes, then fn takes effect. It returns fn's error, or the injected one.
func (p *Process) Backend(call api.Call, latency time.Duration, fn func() error) error {
	return p.BackendWithin(call, latency, forever, nil, fn)
}

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
	fault := p.inject(call)
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

// before runs ahead of every call: faults, latency, a switch point. After an error the call must not be made.
func (p *Process) before(call api.Call, latency time.Duration) (api.Fault, error) {
	if p.engine.repeated != nil {
		call.Actor = p.actor.name
		p.engine.repeated[call]++
	}
	if p.inline {
		return api.Fault{}, nil
	}
	if p.dead {
		panic(killed{}) // a deferred call of a process that unwinds
	}
	p.calls++
	fault := p.inject(call)
	if !NoFault(fault) {
		p.traceFault(call, fault)
	}
	if d := latency + fault.Delay; d > 0 {
		p.Sleep(d)
	} else {
		p.Switch()
	}
	if fault.Crash && !fault.Effect {
		p.crash(fault.Restart)
	}
	if fault.Err != nil && !fault.Effect {
		p.calls++
		return fault, fault.Err
	}
	return fault, nil
}

// inject returns the fault that hits a call; the zero Fault for none.
func (p *Process) inject(call api.Call) api.Fault {
	if p.engine.injector == nil {
		return api.Fault{}
	}
	call.Actor = p.actor.name
	return p.engine.injector.Inject(call)
}

// after runs behind every call that took effect.
func (p *Process) after(fault api.Fault) error {
	if fault.Crash {
		p.crash(fault.Restart)
	}
	p.Switch()
	p.calls++
	return fault.Err
}
