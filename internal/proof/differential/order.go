package differential

import (
	"strings"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
)

// Action is a step of one of our components: a write, refused or not, a read, a storage call, or a view. Our actions in order are
// the order that the sequencer of package upstream follows.
type Action struct {
	// Time is when it took effect.
	Time   time.Time
	Actor  string
	Verb   string
	Object api.Ref
	// Seen counts, by kind, the changes that the component had received when it asked; nil if that is not known. For a view it counts the
	// changes that the component must have received to see what it saw.
	Seen map[api.Kind]int
	// Node is the node that a pod requires by name, if the action creates one with a generated name.
	Node string
	// Handler marks a view by the handlers of a change, which arrives after what they viewed. No worker starts then.
	Handler bool
	// Pass marks a view by a pass of a loop.
	Pass bool
	// Key names the object that the worker of a queue works on; "" if that is not known.
	Key string
	// Exact marks an arrival, and the start of a worker that needs no change. Both lead to no action by themselves. An arrival is a view with
	// Handler of what a component has received by then; without an actor, it is what all components but kubelets have received.
	Exact bool
}

// Concerns reports whether the action is one of a component. An arrival without an actor is one of all components but kubelets.
func (a Action) Concerns(component string) bool {
	return a.Actor == component || a.Exact && a.Actor == "" && !IsKubelet(component)
}

// CallOf returns verb and object of the Action for a storage call.
func CallOf(call api.Call) (verb string, object api.Ref) {
	return "call " + call.Verb, api.Ref{Kind: api.Kind(call.Target), Key: strings.Join([]string{call.Key, call.Node, call.Pod}, "/")}
}

// IsView reports whether the action is a view of an informer's cache.
func (a Action) IsView() bool { return a.Verb == "" }

// IsRead reports whether the action reads from the API server.
func (a Action) IsRead() bool { return a.Verb == "get" || a.Verb == "list" }

// Order returns what the components did, in order, except writes of Events and views of kubelets. It is nil without Options.Watch.
func (w *Ours) Order() []Action {
	if w.order == nil {
		return nil
	}
	return w.order.actions
}

// IsKubelet reports whether a component is a kubelet.
func IsKubelet(actor string) bool { return strings.HasPrefix(actor, actors.Kubelet("")) }
