package api

import "time"

// Call describes a request of an actor to the API server or to a storage backend.
type Call struct {
	// Actor is the caller, persistentvolume-controller or kubelet/n1 for example.
	Actor string
	// Target is APIServer, or the name of a backend.
	Target string
	// Verb of the API is create, update, update-status, update-finalize, patch, patch-status, delete, deletecollection, get, list or bind. For
	// backends it is the operation, as in storage.Op.
	Verb string
	// Kind is the kind of the object; "" for backends.
	Kind string
	// Key is namespace/name or name of the object; for list and deletecollection the namespace, "" for all. For backends it is the handle
	// of the volume, or its name when it is created; for GetCapacity the class and the segment, such as "fast topology.example.com/zone=a".
	Key string
	// Node is the node for which a backend is called; "" for other calls.
	Node string
	// Pod is the uid of the pod that a volume is published to or unpublished from; "" for other calls.
	Pod string
}

// APIServer is the Target of calls to the API server.
const APIServer = "api"

// Fault describes what goes wrong with a call. The zero value is no fault.
type Fault struct {
	// Delay is the virtual time that passes before the call takes effect; default none.
	Delay time.Duration
	// Err replaces the error of the call; the default nil leaves the result alone.
	Err error
	// Effect: the call takes effect although the caller gets Err, because the reply is lost. By default, false, a call with Err has no
	// effect.
	Effect bool
	// Crash stops the calling actor before the call takes effect, or after it with Effect; default false.
	Crash bool
	// Restart is the virtual time from the crash until the actor starts again; the default zero is at once.
	Restart time.Duration
}

// Injector decides which calls fail. Inject is called before every call. It must be deterministic: the same calls in the same order get the
// same faults.
type Injector interface {
	Inject(call Call) Fault
}
