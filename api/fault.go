package api

import (
	"strings"
	"time"
)

// Call describes a request of an actor to the API server or to a storage backend.
type Call struct {
	Actor  string // the caller, for example "persistentvolume-controller"
	Target string // APIServer, or the name of a backend
	Verb   string // API: create, update, update-status, patch, patch-status, delete, get, list, bind; backends: the operation, as in storage.Op
	Kind   string // API: the kind of object; "" for backends
	Key    string // API: namespace/name or name; backends: the volume's handle or name
	Node   string // backends: the node, if any
	Pod    string // backends: the uid of the pod that the volume is published to or unpublished from, if any
}

// APIServer is the Target of calls to the API server.
const APIServer = "api"

// Fault describes what goes wrong with a call. The zero value is no fault.
type Fault struct {
	// Delay passes before the call takes effect.
	Delay time.Duration
	// Err replaces the call's own error; nil leaves the result alone.
	Err error
	// Effect: the call takes effect although the caller gets Err, because the reply is lost. Without it a call with Err has no effect.
	Effect bool
	// Crash stops the calling actor before the call takes effect, or after it with Effect. The actor restarts after Restart; zero is
	// immediately.
	Crash   bool
	Restart time.Duration
}

// Injector is called before every call. It must be deterministic: the same calls in the same order give the same faults.
type Injector interface {
	Inject(call Call) Fault
}

// InjectorFunc is an Injector that cannot say which calls its faults match, so no idle work is skipped.
type InjectorFunc func(Call) Fault

// Inject calls f.
func (f InjectorFunc) Inject(call Call) Fault { return f(call) }

// String describes the fault.
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
