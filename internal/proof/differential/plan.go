package differential

import (
	"strings"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/mount"
	"github.com/volsim/volsim/trace"
)

// Request is something that a controller asked for: a write, refused or not, a read, or a call to a storage backend. It may also be one of two
// that wait for nobody's turn: an Event that a controller emitted, or a look at what it has been told of.
type Request struct {
	// Time is when it took effect, and came to its place among the others.
	Time   time.Time
	Actor  string
	Verb   string
	Object api.Ref
	Asked
}

// Asked is the moment when a controller asked for something, which may be earlier than when that took effect. It is known only with
// Options.Watch.
type Asked struct {
	// Place is that among all that was asked for, from 1; zero is not known.
	Place int
	At    time.Time
	// Seen is how many changes of objects of each kind the controller had been told of by then; nil is not known. Of a look it is how many
	// it must have been told of to see what it saw.
	Seen map[api.Kind]int
}

// CallOf is what a Request names a call to a backend.
func CallOf(call api.Call) (verb string, object api.Ref) {
	return "call " + call.Verb, api.Ref{Kind: api.Kind(call.Target), Key: strings.Join([]string{call.Key, call.Node, call.Pod}, "/")}
}

// EmissionOf is what a Request names an Event that was emitted.
func EmissionOf(e trace.Entry) (verb string, object api.Ref) {
	return strings.Join([]string{emission, e.Verb, e.Reason, inOrder(e.Text)}, " "), e.Object
}

const emission = "emit"

// Emission reports whether it is an Event that was emitted.
func (r Request) Emission() bool { return strings.HasPrefix(r.Verb, emission+" ") }

// Look reports whether it is a look.
func (r Request) Look() bool { return r.Verb == "" }

// Read reports whether it is a read.
func (r Request) Read() bool { return r.Verb == "get" || r.Verb == "list" }

// Requests are what the controllers asked for, in order, but writes of Events, and what Events they emitted and what they looked at, but those of
// kubelets. It is known only with Options.Watch.
func (w *Ours) Requests() []Request {
	if w.plan == nil {
		return nil
	}
	return w.plan.requests
}

func isKubelet(actor string) bool { return strings.HasPrefix(actor, mount.ActorName("")) }
