package differential

import (
	"maps"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// planner notes what the controllers ask for, and what they have been told of by then. It is an engine.Observer.
type planner struct {
	engine   *engine.Engine
	requests []Request
	changes  map[api.Kind][]string // the key of the object of each change that there has been
	asked    map[asker][]Asked     // what has been asked for and not had its effect
	places   int
	begun    map[api.Call]int // calls to backends that take time
	noted    uint64           // of the trace
	looked   map[string]map[api.Kind]int
}

// asker says who asked for what.
type asker struct {
	actor, verb string
	object      api.Ref
}

// follow has what is asked for in a cluster noted.
func (t *planner) follow(e *engine.Engine) error {
	t.engine, t.changes, t.asked = e, map[api.Kind][]string{}, map[asker][]Asked{}
	t.begun, t.looked = map[api.Call]int{}, map[string]map[api.Kind]int{}
	s := e.Store()
	for _, err := range []error{
		noteChanges(t, s.Volumes), noteChanges(t, s.Claims), noteChanges(t, s.Classes), noteChanges(t, s.AttributesClasses), noteChanges(t, s.Pods),
		noteChanges(t, s.Nodes), noteChanges(t, s.Attachments), noteChanges(t, s.CSIDrivers), noteChanges(t, s.CSINodes), noteChanges(t, s.Capacities),
	} {
		if err != nil {
			return err
		}
	}
	e.Observe(t)
	return nil
}

func noteChanges[T api.Object](t *planner, table *store.Table[T]) error {
	_, err := table.Watch(store.WatchOptions[T]{}, func(c store.Change[T]) {
		t.changes[table.Kind()] = append(t.changes[table.Kind()], c.Key)
	})
	return err
}

// ask notes a call that is about to be made.
func (t *planner) ask(call api.Call) {
	if t.engine == nil {
		return
	}
	who := askerOf(call)
	t.places++
	t.asked[who] = append(t.asked[who], Asked{t.places, t.engine.Now(), t.seen(call.Actor)})
}

func askerOf(call api.Call) asker {
	who := asker{call.Actor, call.Verb, api.Ref{Kind: api.Kind(call.Kind), Key: call.Key}}
	if call.Target != api.APIServer {
		who.verb, who.object = CallOf(call)
	}
	if call.Verb == "list" {
		who.object.Key = ""
	}
	return who
}

// seen is what a controller has been told of. What a kubelet has been told of is not counted, for its watches see only a part of a kind.
func (t *planner) seen(actor string) map[api.Kind]int {
	a, ok := t.engine.Actor(actor)
	if !ok || isKubelet(actor) {
		return nil
	}
	seen := map[api.Kind]int{}
	for _, view := range a.Views() {
		n := len(t.changes[view.Kind()])
		for range view.Late {
			n--
		}
		seen[view.Kind()] = n
	}
	return seen
}

// Begin, End and Return follow the engine.
func (t *planner) Begin(engine.Due) {}

// Return is the end of a drive.
func (t *planner) Return() {}

// End notes what an event has brought: what was looked at in it first.
func (t *planner) End(f *engine.Footprint) {
	if f.Code {
		t.look(f)
	}
	var entries []trace.Entry
	for e := range t.engine.Trace().Since(t.noted) {
		entries = append(entries, e)
	}
	t.noted = t.engine.Trace().Seq()
	for _, effect := range f.Calls {
		who := askerOf(effect.Call)
		if who.actor = effect.Proc.Actor().Name(); who.verb == "get" || who.verb == "list" {
			t.add(t.engine.Now(), who)
			continue
		}
		for len(entries) > 0 {
			done := t.entry(entries[0]) == who
			if entries = entries[1:]; done {
				break
			}
		}
	}
	for _, e := range entries {
		t.entry(e)
	}
}

// look notes what a controller has looked at, if it has been told of more by now than when it looked last.
func (t *planner) look(f *engine.Footprint) {
	if f.Event.Actor == nil || len(f.Looks) == 0 || isKubelet(f.Event.Actor.Name()) {
		return
	}
	actor := f.Event.Actor.Name()
	seen, needed := t.seen(actor), map[api.Kind]int{}
	for _, look := range f.Looks {
		kind := look.View.Kind()
		n := seen[kind]
		for look.Key != "" && n > 0 && t.changes[kind][n-1] != look.Key {
			n--
		}
		if n > max(needed[kind], t.looked[actor][kind]) {
			needed[kind] = n
		}
	}
	if len(needed) == 0 {
		return
	}
	// Nobody does anything because of a class; but what is done with the rest may depend on it.
	if n := seen[api.StorageClass]; n > t.looked[actor][api.StorageClass] {
		needed[api.StorageClass] = n
	}
	if t.looked[actor] == nil {
		t.looked[actor] = map[api.Kind]int{}
	}
	maps.Copy(t.looked[actor], needed)
	t.requests = append(t.requests, Request{Time: t.engine.Now(), Actor: actor, Asked: Asked{Seen: needed}})
}

// entry notes an entry of the trace, and tells what that was.
func (t *planner) entry(e trace.Entry) asker {
	who := asker{e.Actor, e.Verb, e.Object}
	switch {
	case e.Actor == api.User:
		return asker{}
	case e.Type == trace.Injected && e.Call.Target == api.APIServer:
		// Such a call was made to fail before the injector of the configuration was asked.
		t.ask(e.Call)
		return asker{}
	case e.Type == trace.Write && e.Object.Kind != api.Event:
	case e.Type == trace.Storage && e.Verb == "begin":
		t.begun[e.Call]++
		who.verb, who.object = CallOf(e.Call)
	case e.Type == trace.Storage && t.begun[e.Call] > 0:
		t.begun[e.Call]--
		return asker{}
	case e.Type == trace.Storage:
		who.verb, who.object = CallOf(e.Call)
	case e.Type == trace.Emitted && !isKubelet(e.Actor):
		who.verb, who.object = EmissionOf(e)
		t.places++
		t.asked[who] = append(t.asked[who], Asked{t.places, e.Time, t.seen(e.Actor)})
	default:
		return asker{}
	}
	t.add(e.Time, who)
	return who
}

// add notes that what somebody asked for has its effect.
func (t *planner) add(at time.Time, who asker) {
	r := Request{Time: at, Actor: who.actor, Verb: who.verb, Object: who.object}
	if asked := t.asked[who]; len(asked) > 0 {
		r.Asked, t.asked[who] = asked[0], asked[1:]
	}
	t.requests = append(t.requests, r)
}

// Inject notes a call, and has it go as the injector says, if there is one.
func (w *Ours) Inject(call api.Call) api.Fault {
	w.plan.ask(call)
	if w.injector != nil {
		return w.injector.Inject(call)
	}
	return api.Fault{}
}

// Awaits is that of the driver on nodes: nothing else fails.
func (w *Ours) Awaits(call api.Call) bool {
	foresight, ok := w.injector.(engine.Foresight)
	return ok && foresight.Awaits(call)
}

// OnFault is that of the driver on nodes.
func (w *Ours) OnFault(fn func()) {
	if foresight, ok := w.injector.(engine.Foresight); ok {
		foresight.OnFault(fn)
	}
}
