package apiserver

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/resources"
)

// Transition is about to happen: a request takes effect, or a watch event arrives.
type Transition struct {
	// Component is the client: it sends the request or receives the event.
	Component string
	// Verb of the request, as in api.Call, or "list"; "" for a watch event.
	Verb string
	// Object of the request or event. A list has no key, a deletecollection that of the namespace. The name of an object that is created
	// may be its generateName.
	Object api.Ref
	// Number of the change that a watch event reports, among all changes of its kind, from 1.
	Number int
	// Order sorts watch events by the order of the changes.
	Order uint64
	// Watch is the number of the watch that has a watch event, in the order in which the watches of the server began, from 1.
	Watch int
	// Body of a request that creates something.
	Body []byte
	// At is when the change of a watch event was made.
	At time.Time
}

// Burst says which events of a watch arrive together.
type Burst int

// The bursts.
const (
	// Alone delivers one event.
	Alone Burst = iota
	// Together delivers all events that exist by then.
	Together
	// Merged delivers the net change of each object: one event or none, as when a watch breaks and begins again with a list.
	Merged
)

// Permit allows a transition to happen. Its fields only matter for watch events.
type Permit struct {
	Burst Burst
	// Until is the Number of the last event that may arrive in the burst; zero is no limit.
	Until int
}

// awaitPermit waits until the request may take effect. Writes of single Events and the beginnings of watches need no permit. The error is that of
// a request whose client gave up before: it must not take effect.
func (s *Server) awaitPermit(req *http.Request, r *request) error {
	if s.cfg.Hooks.Await == nil || r.resource.Kind == api.Event && r.verb != resources.VerbList && r.verb != resources.VerbDeleteCollection {
		return nil
	}
	s.cfg.Hooks.Await(r.transition(), req.Context().Done())
	return req.Context().Err()
}

// transition returns the request as a transition.
func (r *request) transition() Transition {
	t := Transition{Component: r.actor, Verb: r.callVerb(), Object: r.ref()}
	switch r.verb {
	case resources.VerbList:
		t.Object.Key = ""
	case resources.VerbDeleteCollection:
		t.Object.Key = r.namespace
	}
	if t.Verb == resources.VerbCreate {
		t.Body = r.body
		var meta metav1.Object = r.decoded
		if r.decoded == nil {
			partial := &metav1.PartialObjectMetadata{}
			if json.Unmarshal(r.body, partial) != nil {
				return t
			}
			meta = partial
		}
		t.Object.Key = api.Key(r.namespace, cmp.Or(meta.GetName(), meta.GetGenerateName()))
	}
	return t
}

// CallOf returns the call that a request for objects makes; ok is false for any other request. It reads the body of the request.
func (s *Server) CallOf(req *http.Request) (call api.Call, ok bool) {
	r, err := s.parse(req)
	if err != nil {
		return api.Call{}, false
	}
	t := r.transition()
	return api.Call{Actor: t.Component, Target: api.APIServer, Verb: t.Verb, Kind: string(t.Object.Kind), Key: t.Object.Key}, true
}

// callVerb returns the verb of the request as in api.Call, with the subresource: bind, update-status, patch-status.
func (r *request) callVerb() string {
	switch {
	case r.subresource == "" || r.verb == resources.VerbGet:
		return r.verb
	case r.subresource == resources.SubresourceBinding:
		return "bind"
	case r.subresource == resources.SubresourceEviction:
		return resources.VerbDelete
	}
	return r.verb + "-" + r.subresource
}
