package engine

import (
	"github.com/volsim/volsim/api"
)

// Foresight is what an Injector may have besides, if it can tell which calls a fault waits for. Actors leave out work that would find
// nothing new, and with it its calls; those that a fault waits for must be made, and at their times, lest it meets a later one. An
// Injector without Foresight may have a fault for every call.
type Foresight interface {
	// Awaits reports whether there may be a fault for a call like this, now or after others. Asking changes nothing.
	Awaits(call api.Call) bool
	// OnFault has fn called whenever Awaits may be true of a call of which it was false before.
	OnFault(fn func())
}

// Awaited reports whether there may be a fault for a call of the actor like this, now or after others.
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

// OnFault has fn called whenever there may be a fault for a call that none was waiting for before.
func (e *Engine) OnFault(fn func()) {
	if foresight, ok := e.injector.(Foresight); ok {
		foresight.OnFault(fn)
	}
}
