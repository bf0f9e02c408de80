package differential

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/volsim/volsim/engine"
	"github.com/volsim/volsim/mount"
	"github.com/volsim/volsim/store"
)

// Request is something that a controller asked for: a write, refused or not, or a call to a storage backend.
type Request struct {
	Time   time.Time
	Actor  string
	Verb   string
	Object store.Ref
	// Seen is how many changes of objects of each kind the controllers had been told of by then. It is known only with Options.Watch.
	Seen map[store.Kind]int
}

// CallOf is what a Request names a call to a backend.
func CallOf(call engine.Call) (verb string, object store.Ref) {
	return "call " + call.Verb, store.Ref{Kind: store.Kind(call.Target), Key: strings.Join([]string{call.Key, call.Node, call.Pod}, "/")}
}

// Requests are what the controllers asked for, in order, but writes of Events.
func (w *Ours) Requests() []Request {
	var all []Request
	if w.cluster.Trace() == nil {
		return nil
	}
	begun := map[engine.Call]int{}
	for e := range w.cluster.Trace().Entries() {
		r := Request{Time: e.Time, Actor: e.Actor, Verb: e.Verb, Object: e.Object}
		switch {
		case e.Type == engine.Write && e.Actor != engine.User && e.Object.Kind != store.Event:
		case e.Type == engine.Storage && e.Verb == "begin":
			begun[e.Call]++
			r.Verb, r.Object = CallOf(e.Call)
		case e.Type == engine.Storage && begun[e.Call] > 0:
			begun[e.Call]--
			continue
		case e.Type == engine.Storage:
			r.Verb, r.Object = CallOf(e.Call)
		default:
			continue
		}
		if w.told != nil && !strings.HasPrefix(e.Actor, mount.ActorName("")) {
			r.Seen = w.told.before[e.Seq]
		}
		all = append(all, r)
	}
	return all
}

// told is what the controllers have been told of.
type told struct {
	now    map[string]map[store.Kind]int // by controller, and "" for all
	before map[uint64]map[store.Kind]int // an entry of the trace was made, whoever made it
	noted  uint64                        // of the trace
}

func newTold() *told {
	return &told{now: map[string]map[store.Kind]int{}, before: map[uint64]map[store.Kind]int{}}
}

// watches reads off the description of an event which controller it tells of a change, "" for all, of which kind.
func watches(event string) (actor string, kind store.Kind, ok bool) {
	if kind, ok := strings.CutPrefix(event, "watches of "); ok {
		return "", store.Kind(kind), true
	}
	actor, text, ok := strings.Cut(event, ": watch of ")
	return actor, store.Kind(text), ok
}

// one notes that a controller is told of a change.
func (t *told) one(actor string, kind store.Kind) {
	seen := maps.Clone(t.now[actor])
	if seen == nil {
		seen = map[store.Kind]int{}
	}
	seen[kind]++
	t.now[actor] = seen
}

// note notes what an entry of the trace comes after.
func (t *told) note(e engine.Entry) {
	seen := maps.Clone(t.now[e.Actor])
	if seen == nil {
		seen = map[store.Kind]int{}
	}
	for kind, n := range t.now[""] {
		seen[kind] += n
	}
	t.before[e.Seq] = seen
	t.noted = e.Seq
}

// step has time pass an event at a time, and notes which of them tell controllers of a change, each of one.
func (w *Ours) step(d time.Duration) error {
	e := w.cluster.Engine()
	end := e.Now().Add(d)
	for {
		pending := e.Pending()
		if len(pending) == 0 {
			break
		}
		what, at, _ := strings.Cut(pending[0], " at +")
		due, err := time.ParseDuration(at)
		if err != nil {
			return fmt.Errorf("%q says no time: %w", pending[0], err)
		}
		if Epoch.Add(due).After(end) {
			break
		}
		if actor, kind, ok := watches(what); ok {
			w.told.one(actor, kind)
		}
		e.Step()
		for entry := range w.cluster.Trace().Since(w.told.noted) {
			w.told.note(entry)
		}
	}
	return w.cluster.Advance(end.Sub(e.Now()))
}
