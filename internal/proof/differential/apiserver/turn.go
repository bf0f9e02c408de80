package apiserver

import (
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
)

// Turn is something that is about to happen: a request takes effect, or a watch event arrives.
type Turn struct {
	// Component asks, or is told.
	Component string
	// Verb is that of the request, as api.Call names it, or "list"; "" is a watch event.
	Verb string
	// Object is what it is about. A list has no key.
	Object api.Ref
	// Number says which change of an object of its kind a watch event tells of, counted from 1.
	Number int
	// Order has watch events in the order of the changes.
	Order uint64
}

// Burst says which events of a watch arrive when one does.
type Burst int

// The bursts.
const (
	// Alone is the one event.
	Alone Burst = iota
	// Together is all that there are by then.
	Together
	// Merged is what has come of each object by then: one event for each, or none. So it is when a watch breaks and begins again with a list.
	Merged
)

// Grant is what a turn is good for. For a request it says nothing.
type Grant struct {
	Burst Burst
	// Until, unless it is zero, is the Number of the last event that may arrive in the burst.
	Until int
}

// turn waits for the turn of a request. Writes of Events and the beginnings of watches need none.
func (s *Server) turn(req *http.Request, r *request) {
	if s.cfg.Turn == nil || r.watch || r.resource.kind == api.Event {
		return
	}
	t := Turn{Component: r.actor, Object: api.Ref{Kind: r.resource.kind, Key: r.key()}}
	verb, err := r.verb()
	if r.method == http.MethodGet && r.name == "" {
		verb, t.Object.Key = "list", ""
	} else if err != nil {
		return // which it will be told
	}
	if t.Verb = verb; verb == "create" {
		var meta metav1.PartialObjectMetadata
		if json.Unmarshal(r.body, &meta) == nil {
			t.Object.Key = api.Key(r.namespace, meta.Name)
		}
	}
	s.cfg.Turn(t, req.Context().Done())
}
