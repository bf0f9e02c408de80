package api

import (
	"strings"
	"time"
)

// Call describes a request that an actor is about to make: to the API server, or to a storage backend.
type Call struct {
	Actor  string // who asks, "persistentvolume-controller" for example
	Target string // APIServer, or the name of a backend
	Verb   string // API: create, update, update-status, patch, patch-status, delete, get, list, bind; backends: the operation, as in storage.Op
	Kind   string // API: the kind of object; "" for backends
	Key    string // API: namespace/name or name; backends: the volume's handle or name
	Node   string // backends: the node concerned, if any
	Pod    string // backends: the uid of the pod that gets or gives back the volume, if any
}

// APIServer is the Target of calls to the API server.
const APIServer = "api"

// Fault says what goes wrong with a call. The zero value is no fault.
type Fault struct {
	// Delay is added before the call takes effect.
	Delay time.Duration
	// Err is what the caller gets instead of the call's own result; nil leaves the result alone.
	Err error
	// Effect lets the call take effect although the caller gets Err: the reply was lost. Without it a call with Err does nothing.
	Effect bool
	// Crash stops the calling actor at this call, before it takes effect, or after it with Effect. It restarts after Restart; zero means at once.
	Crash   bool
	Restart time.Duration
}

// Injector is asked before every call. It must be deterministic: same calls in the same order, same answers.
type Injector interface {
	Inject(call Call) Fault
}

// InjectorFunc makes an Injector of a function. It has no Foresight.
type InjectorFunc func(Call) Fault

// Inject calls f.
func (f InjectorFunc) Inject(call Call) Fault { return f(call) }

// String says what the fault does.
func (f Fault) String() string {
	var parts []string
	if f.Delay > 0 {
		parts = append(parts, "delay "+f.Delay.String())
	}
	if f.Err != nil {
		lost := ""
		if f.Effect {
			lost = " (it took effect)"
		}
		parts = append(parts, "error "+f.Err.Error()+lost)
	}
	if f.Crash {
		parts = append(parts, "crash, restart after "+f.Restart.String())
	}
	return strings.Join(parts, ", ")
}

// None reports whether nothing goes wrong.
func (f Fault) None() bool { return f.Delay <= 0 && f.Err == nil && !f.Crash }
