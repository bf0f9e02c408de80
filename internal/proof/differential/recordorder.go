package differential

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// orderRecorder records what our components do, and which changes they have received by then. It is an engine.Observer.
type orderRecorder struct {
	engine  *engine.Engine
	actions []Action
	changes map[api.Kind][]string        // the key of the object of each change
	numbers map[string]int               // by the resourceVersion after a change: its number among those of its kind
	asked   map[asker][]map[api.Kind]int // Action.Seen of requests that have not taken effect
	begun   map[api.Call]int             // storage calls that take time
	noted   uint64                       // the last entry of the trace that was recorded
	viewed  map[string]map[api.Kind]int  // by component: the changes that it has viewed
	arrived map[string]map[api.Kind]int  // by component, "" for all but kubelets: the changes that have arrived
}

// asker identifies a request.
type asker struct {
	actor, verb string
	object      api.Ref
}

// observe records the actions of a cluster.
func (t *orderRecorder) observe(e *engine.Engine) error {
	t.engine, t.changes, t.asked = e, map[api.Kind][]string{}, map[asker][]map[api.Kind]int{}
	t.begun, t.viewed, t.arrived = map[api.Call]int{}, map[string]map[api.Kind]int{}, map[string]map[api.Kind]int{"": {}}
	t.numbers = map[string]int{}
	s := e.Store()
	for _, err := range []error{
		noteChanges(t, s.Volumes), noteChanges(t, s.Claims), noteChanges(t, s.Classes), noteChanges(t, s.AttributesClasses), noteChanges(t, s.Pods),
		noteChanges(t, s.Nodes), noteChanges(t, s.Attachments), noteChanges(t, s.CSIDrivers), noteChanges(t, s.CSINodes), noteChanges(t, s.Capacities),
	} {
		if err != nil {
			return err
		}
	}
	var failed error
	s.OnOther(func(table store.Table[*plain.Object]) {
		if err := noteChanges(t, table); err != nil {
			failed = err
		}
	})
	e.Observe(t)
	return failed
}

func noteChanges[T api.Object](t *orderRecorder, table store.Table[T]) error {
	_, err := table.Watch(store.WatchOptions[T]{}, func(c api.Change[T]) {
		t.changes[table.Kind()] = append(t.changes[table.Kind()], c.Key)
		t.numbers[c.Object.GetResourceVersion()] = len(t.changes[table.Kind()])
	})
	return err
}

// ask records a call that is about to be made.
func (t *orderRecorder) ask(call api.Call) {
	if t.engine == nil {
		return
	}
	who := askerOf(call)
	t.asked[who] = append(t.asked[who], t.seen(call.Actor))
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

// seen counts the changes that a controller has received. Kubelets are not counted, because their watches select a part of a kind.
func (t *orderRecorder) seen(actor string) map[api.Kind]int {
	a, ok := t.engine.Actor(actor)
	if !ok || IsKubelet(actor) {
		return nil
	}
	seen := map[api.Kind]int{}
	for _, view := range a.Views() {
		n := len(t.changes[view.Kind()])
		for range view.Undelivered {
			n--
		}
		seen[view.Kind()] = n
	}
	return seen
}

// Begin implements engine.Observer.
func (t *orderRecorder) Begin(engine.Due) bool { return true }

// Return implements engine.Observer.
func (t *orderRecorder) Return() {}

// End records what happened in an event: first what was viewed, then requests and calls.
func (t *orderRecorder) End(f *engine.Footprint) {
	if f.Code {
		t.view(f)
	}
	t.handled(f)
	t.arrive(f)
	var entries []trace.Entry
	for e := range t.engine.Trace().Since(t.noted) {
		entries = append(entries, e)
	}
	t.noted = t.engine.Trace().Seq()
	for _, effect := range f.Calls {
		who := askerOf(effect.Call)
		if who.actor = effect.Process.Actor().Name(); inCollection(who) {
			continue
		}
		if who.verb == "get" || who.verb == "list" || who.verb == "deletecollection" {
			t.add(t.engine.Now(), who)
			t.note(effect.Process)
			continue
		}
		for len(entries) > 0 {
			done := t.entry(entries[0]) == who
			if entries = entries[1:]; done {
				t.note(effect.Process)
				break
			}
		}
	}
	for _, e := range entries {
		t.entry(e)
	}
}

// forget records that an actor ended: it views everything again.
func (t *orderRecorder) forget(actor string) { delete(t.viewed, actor) }

// note records which process made the last action. The keys of the garbage collector are nodes of its graph.
func (t *orderRecorder) note(p *engine.Process) {
	key := p.Object().Key
	if p.Actor().Name() == actors.GarbageCollector {
		key = p.QueueKey()
	}
	t.actions[len(t.actions)-1].Key = key
}

// view records what a controller viewed, if it has received more changes since its last view.
func (t *orderRecorder) view(f *engine.Footprint) {
	if f.Event.Actor == nil || IsKubelet(f.Event.Actor.Name()) || len(f.Reads) == 0 && f.Event.Actor.Name() != actors.GarbageCollector {
		return
	}
	actor := f.Event.Actor.Name()
	seen, needed := t.seen(actor), map[api.Kind]int{}
	if actor == actors.GarbageCollector {
		// It acts on the graph that it made of all changes.
		needed = maps.Clone(seen)
		maps.DeleteFunc(needed, func(kind api.Kind, n int) bool { return n <= t.viewed[actor][kind] })
	}
	for _, look := range f.Reads {
		kind := look.View.Kind()
		n := seen[kind]
		for look.Key != "" && !slices.Contains(consistent, actor) && n > 0 && t.changes[kind][n-1] != look.Key {
			n--
		}
		if n > max(needed[kind], t.viewed[actor][kind]) {
			needed[kind] = n
		}
	}
	pass := slices.ContainsFunc(f.Processes, isPass)
	if len(needed) == 0 && !pass {
		if f.Event.Kind == engine.DueTurn && len(f.Processes) > 0 {
			t.addView(Action{Time: t.engine.Now(), Actor: actor, Exact: true})
			t.note(f.Processes[0])
		}
		return
	}
	// No controller acts because a class changed, but what it does with other objects may depend on it.
	if n := seen[api.StorageClass]; n > t.viewed[actor][api.StorageClass] {
		needed[api.StorageClass] = n
	}
	t.addView(Action{Time: t.engine.Now(), Actor: actor, Seen: needed, Pass: pass})
	if len(f.Processes) > 0 {
		t.note(f.Processes[0])
	}
}

// consistent are the controllers that wait for their own writes: what they do depends on how far their informers are (WORK-005).
var consistent = []string{actors.StatefulSet, actors.ReplicaSet, actors.DaemonSet, actors.Job}

// handled records what handlers of the disruption controller viewed: the budgets that a pod has when it arrives decide which of them is
// queued, and about which the pod gets an Event.
func (t *orderRecorder) handled(f *engine.Footprint) {
	if f.Event.Actor != nil || len(f.Reads) == 0 {
		return
	}
	a, ok := t.engine.Actor(actors.Disruption)
	if !ok {
		return
	}
	views, seen, needed := a.Views(), t.seen(actors.Disruption), map[api.Kind]int{}
	for _, look := range f.Reads {
		if kind := look.View.Kind(); slices.Contains(views, look.View) && seen[kind] > t.viewed[actors.Disruption][kind] {
			needed[kind] = seen[kind]
		}
	}
	if len(needed) == 0 {
		return
	}
	t.addView(Action{Time: t.engine.Now(), Actor: actors.Disruption, Seen: needed, Handler: true})
}

// arrive records which changes informers have delivered.
func (t *orderRecorder) arrive(f *engine.Footprint) {
	if f.Event.Actor != nil && f.Event.Kind != engine.DueDelivery {
		return
	}
	delivered := map[string]map[api.Kind]int{}
	for _, a := range t.engine.Actors() {
		who := ""
		if IsKubelet(a.Name()) {
			who = a.Name()
		}
		if delivered[who] == nil {
			delivered[who] = map[api.Kind]int{}
		}
		for _, view := range a.Views() {
			n := t.delivered(view)
			if least, ok := delivered[who][view.Kind()]; ok {
				n = min(n, least)
			}
			delivered[who][view.Kind()] = n
		}
	}
	for _, who := range slices.Sorted(maps.Keys(delivered)) {
		news := delivered[who]
		maps.DeleteFunc(news, func(kind api.Kind, n int) bool { return n <= t.arrived[who][kind] })
		if len(news) == 0 {
			continue
		}
		t.actions = append(t.actions, Action{Time: t.engine.Now(), Actor: who, Seen: news, Handler: true, Exact: true})
		if t.arrived[who] == nil {
			t.arrived[who] = map[api.Kind]int{}
		}
		maps.Copy(t.arrived[who], news)
	}
}

// delivered is the number of the last change that an informer needs no more. Its watch may select a part of the kind.
func (t *orderRecorder) delivered(view engine.View) int {
	for late := range view.Undelivered {
		return t.numbers[late.Object.GetResourceVersion()] - 1
	}
	return len(t.changes[view.Kind()])
}

// addView records a view.
func (t *orderRecorder) addView(view Action) {
	if t.viewed[view.Actor] == nil {
		t.viewed[view.Actor] = map[api.Kind]int{}
	}
	maps.Copy(t.viewed[view.Actor], view.Seen)
	t.actions = append(t.actions, view)
}

// isPass reports whether a process is a pass that waits for its permit on the real side.
func isPass(p *engine.Process) bool {
	switch p.Actor().Name() {
	case actors.NodeLifecycle:
		return p.String() == "node monitor"
	case actors.PodGC:
		return p.String() == "collect"
	}
	return false
}

// entry records an entry of the trace, and returns the request that it reports.
func (t *orderRecorder) entry(e trace.Entry) asker {
	who := asker{e.Actor, e.Verb, e.Object}
	switch {
	case e.Actor == api.User:
		return asker{}
	case e.Type == trace.Injected && e.Call.Target == api.APIServer:
		// A fault rule made this call fail before the injector of the configuration was asked.
		t.ask(e.Call)
		return asker{}
	case inCollection(who):
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
	default:
		return asker{}
	}
	if e.Verb == "create" && e.New != nil && len(t.asked[who]) == 0 {
		// The request did not know the name, which was generated.
		who.object.Key = api.Key(e.New.GetNamespace(), "")
		t.add(e.Time, who)
		last := &t.actions[len(t.actions)-1]
		last.Object.Key += e.New.GetGenerateName()
		if pod, ok := e.New.(*corev1.Pod); ok {
			last.Node = RequiredNode(pod)
		}
		return who
	}
	t.add(e.Time, who)
	return who
}

// inCollection reports whether a deletion is part of a deletecollection, which is the request: all of those by the namespace controller are.
func inCollection(who asker) bool { return who.actor == actors.Namespace && who.verb == "delete" }

// add records that a request takes effect.
func (t *orderRecorder) add(at time.Time, who asker) {
	a := Action{Time: at, Actor: who.actor, Verb: who.verb, Object: who.object}
	if asked := t.asked[who]; len(asked) > 0 {
		a.Seen, t.asked[who] = asked[0], asked[1:]
	}
	t.actions = append(t.actions, a)
}

// Inject records a call. The injector decides about faults, if there is one.
func (w *Ours) Inject(call api.Call) api.Fault {
	w.order.ask(call)
	if w.injector != nil {
		return w.injector.Inject(call)
	}
	return api.Fault{}
}

// Active implements engine.FaultPredictor: only calls of the node driver fail.
func (w *Ours) Active(string) bool { return false }
