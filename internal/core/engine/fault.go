package engine

import (
	"github.com/volsim/volsim/api"
)

// Foresight is an optional interface of an Injector that knows which calls its faults match. Actors skip work that would find nothing
// new, and with it API calls. A call that a pending fault matches must be made at its proper time, or the fault would match a later call.
// An Injector without Foresight may match every call.
type Foresight interface {
	// Awaits reports whether a pending fault may match such a call, now or after others. It changes nothing.
	Awaits(call api.Call) bool
	// OnFault registers fn, which runs whenever a fault is added that may match calls.
	OnFault(fn func())
}

// Awaited reports whether a pending fault may match such a call of the actor, now or after others.
func (a *Actor) Awaited(call api.Call) bool {
	e := a.engine
	if e.injector == nil {
		return false
	}
	foresight, ok := e.injector.(Foresight)
	if !ok {
		return true
	}
	call.Actor = a.name
	if foresight.Awaits(call) {
		e.answers(1)
		return true
	}
	e.answers(0)
	return false
}

// OnFault registers fn, which runs whenever a fault is added that may match calls.
func (e *Engine) OnFault(fn func()) {
	if foresight, ok := e.injector.(Foresight); ok {
		foresight.OnFault(fn)
	}
}
