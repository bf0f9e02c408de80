package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
)

// nodes is the content of a view, by key.
type nodes map[string]*corev1.Node

func (n nodes) list() []*corev1.Node {
	var list []*corev1.Node
	for _, key := range slices.Sorted(maps.Keys(n)) {
		list = append(list, n[key])
	}
	return list
}

func (n nodes) only(match func(*corev1.Node) bool) nodes {
	if match == nil {
		return n
	}
	rest := nodes{}
	for key, node := range n {
		if match(node) {
			rest[key] = node
		}
	}
	return rest
}

// watcher is an informer with a second copy of its cache, maintained by its handlers.
type watcher struct {
	inf   engine.Informer[*corev1.Node]
	match func(*corev1.Node) bool
	told  nodes
}

func newWatcher(t *rapid.T, inf engine.Informer[*corev1.Node], match func(*corev1.Node) bool) *watcher {
	w := &watcher{inf: inf, match: match, told: nodes{}}
	w.inf.Handle(engine.Handler[*corev1.Node]{
		Add: func(n *corev1.Node) {
			if old := w.told[n.Name]; old != nil {
				t.Errorf("Add of %s, which is there", n.Name)
			}
			w.told[n.Name] = n
		},
		Update: func(old, n *corev1.Node) {
			if w.told[n.Name] != old || old == nil {
				t.Errorf("Update of %s from another version than that of the view", n.Name)
			}
			w.told[n.Name] = n
		},
		Delete: func(n *corev1.Node) {
			if w.told[n.Name] == nil {
				t.Errorf("Delete of %s, which is not there", n.Name)
			}
			delete(w.told, n.Name)
		},
	})
	return w
}

// check compares the view with the objects that it should hold.
func (w *watcher) check(t *rapid.T, all nodes, zones store.Index[*corev1.Node]) {
	want := all.only(w.match)
	if got := w.inf.List(); !slices.Equal(got, want.list()) {
		t.Fatalf("List() = %v, want %v", names(got), names(want.list()))
	}
	if got := w.inf.List(); !slices.Equal(got, want.list()) {
		t.Fatalf("All() = %v, want %v", names(got), names(want.list()))
	}
	if !maps.Equal(w.told, want) {
		t.Fatalf("handlers were told of %v, want %v", names(w.told.list()), names(want.list()))
	}
	for _, key := range nodeNames {
		if got, ok := w.inf.Get(key); got != want[key] || ok != (want[key] != nil) {
			t.Fatalf("Get(%s) = %v, %v, want %v", key, got, ok, want[key])
		}
		if got, ok := w.inf.GetNamed("", key); got != want[key] || ok != (want[key] != nil) {
			t.Fatalf("GetNamed(%s) = %v, %v, want %v", key, got, ok, want[key])
		}
	}
	for _, zone := range []string{"x", "y", "none"} {
		in := want.only(func(n *corev1.Node) bool { return n.Labels["zone"] == zone })
		if got := w.inf.ByIndex(zones, zone); !slices.Equal(got, in.list()) {
			t.Fatalf("ByIndex(%s) = %v, want %v", zone, names(got), names(in.list()))
		}
		var first *corev1.Node
		if len(in) > 0 {
			first = in.list()[0]
		}
		if got, ok := w.inf.FirstByIndex(zones, zone); got != first || ok != (first != nil) {
			t.Fatalf("FirstByIndex(%s) = %v, %v, want %v", zone, got, ok, first)
		}
	}
}

var nodeNames = []string{"a", "b", "c", "d"}

func names(list []*corev1.Node) []string {
	texts := []string{}
	for _, n := range list {
		texts = append(texts, n.Name+"@"+n.ResourceVersion)
	}
	return texts
}

func indexZones(e *engine.Engine) store.Index[*corev1.Node] {
	return e.Store().Nodes.NewIndex(func(n *corev1.Node, list []string) []string {
		if zone, ok := n.Labels["zone"]; ok {
			list = append(list, zone)
		}
		return list
	})
}

// An informer shows the store as it was lag ago, for all writes and crashes of its actor.
func TestInformerShowsThePast(t *testing.T) {
	inX := func(n *corev1.Node) bool { return n.Labels["zone"] == "x" }
	rapid.Check(t, func(rt *rapid.T) {
		lag := time.Duration(rapid.IntRange(0, 5).Draw(rt, "lag"))
		e, err := engine.New(engine.Config{
			Seed: int64(rapid.IntRange(0, 2).Draw(rt, "seed")),
			Lag:  map[string]time.Duration{"a": lag},
		})
		if err != nil {
			rt.Fatal(err)
		}
		zones := indexZones(e)
		table := e.Store().Nodes

		// states are the contents of the store, by the time at which they were reached; at is that of the view.
		type state struct {
			at      time.Duration
			content nodes
		}
		states := []state{{content: nodes{}}}
		at := 0
		var watchers []*watcher
		actor, err := e.NewActor("a", func(a *engine.Actor) {
			watchers = []*watcher{
				newWatcher(rt, engine.NewInformer(a, table), nil),
				newWatcher(rt, engine.NewKeyedInformer(a, table, zones, "x"), inX),
				newWatcher(rt, engine.NewSelectiveInformer(a, table, inX), inX),
				newWatcher(rt, engine.NewKeyedInformer(a, table, zones, "y"), func(n *corev1.Node) bool { return n.Labels["zone"] == "y" }),
			}
			at = len(states) - 1
		})
		if err != nil {
			rt.Fatal(err)
		}
		wrote := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
			now := nodes{}
			for _, n := range table.List() {
				now[n.Name] = n
			}
			states = append(states, state{since(e), now})
		}
		rt.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				key := rapid.SampledFrom(nodeNames).Draw(t, "key")
				labels := map[string]string{}
				if zone := rapid.SampledFrom([]string{"x", "y", ""}).Draw(t, "zone"); zone != "" {
					labels["zone"] = zone
				}
				old, exists := table.Lookup(key)
				switch {
				case !exists:
					_, err := table.Create(node(key, labels))
					wrote(err)
				case rapid.IntRange(0, 2).Draw(t, "delete") == 0:
					_, err := table.Delete(key, api.DeleteOptions{})
					wrote(err)
				default:
					changed := old.DeepCopy()
					changed.Labels = labels
					_, err := table.Update(changed)
					wrote(err)
				}
			},
			"advance": func(t *rapid.T) {
				e.Advance(time.Duration(rapid.IntRange(0, 4).Draw(t, "d")))
				for at+1 < len(states) && states[at+1].at+lag <= since(e) {
					at++
				}
			},
			"crash": func(t *rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "really") > 0 {
					return
				}
				actor.Crash()
				e.Advance(time.Duration(rapid.IntRange(0, 1).Draw(t, "down")))
				actor.Start()
			},
			"": func(t *rapid.T) {
				for _, w := range watchers {
					w.check(t, states[at].content, zones)
				}
			},
		})
	})
}

func TestInformerBeginsWithWhatIsThere(t *testing.T) {
	e := newEngine(t, engine.Config{Lag: map[string]time.Duration{"a": time.Second}})
	zones := indexZones(e)
	for _, name := range []string{"b", "a"} {
		mustCreate(t, e.Store().Nodes, node(name, map[string]string{"zone": "x"}))
	}
	d := &diary{e: e}
	var inf engine.Informer[*corev1.Node]
	startActor(t, e, "a", func(a *engine.Actor) {
		inf = engine.NewInformer(a, e.Store().Nodes)
		inf.Handle(engine.Handler[*corev1.Node]{Add: func(n *corev1.Node) { d.note("add " + n.Name) }})
		inf.Handle(engine.Handler[*corev1.Node]{}) // one that ignores everything
	})
	if got := inf.ByIndex(zones, "x"); len(got) != 2 || len(inf.List()) != 2 {
		t.Errorf("the view begins with %v, by index %v; want both nodes", names(inf.List()), names(got))
	}
	mustCreate(t, e.Store().Nodes, node("c", nil))
	if got, want := fmt.Sprint(e.Pending()), "[a: watch of Node at +1s]"; got != want {
		t.Errorf("Pending() = %s, want %s", got, want)
	}
	e.Advance(time.Minute)
	d.want(t, "0s add a", "0s add b", "1s add c")
}

// Each change arrives after the lag, in the order of versions, and Settle waits for it.
func TestInformerLag(t *testing.T) {
	e := newEngine(t, engine.Config{Lag: map[string]time.Duration{"late": 3 * time.Second}})
	d := &diary{e: e}
	handler := func(who string) engine.Handler[*corev1.Node] {
		return engine.Handler[*corev1.Node]{
			Add:    func(n *corev1.Node) { d.note(who + " adds " + n.Name) },
			Update: func(_, n *corev1.Node) { d.note(who + " updates " + n.Name) },
			Delete: func(n *corev1.Node) { d.note(who + " deletes " + n.Name) },
		}
	}
	for _, who := range []string{"late", "early"} {
		startActor(t, e, who, func(a *engine.Actor) {
			engine.NewInformer(a, e.Store().Nodes).Handle(handler(who))
		})
	}
	n := mustCreate(t, e.Store().Nodes, node("n", nil))
	e.Advance(time.Second)
	changed := n.DeepCopy()
	changed.Labels = map[string]string{"a": "b"}
	if _, err := e.Store().Nodes.Update(changed); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Store().Nodes.Delete("n", api.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, e.Store().Nodes, node("n", nil))
	if err := e.Settle(time.Minute); err != nil {
		t.Errorf("Settle: %v", err)
	}
	d.want(t, "0s early adds n", "1s early updates n", "1s early deletes n", "1s early adds n",
		"3s late adds n", "4s late updates n", "4s late deletes n", "4s late adds n")
}

// Late views keep the order of keys also where it is not that of namespaces: '-' comes before '/'.
func TestInformerOrderOfKeys(t *testing.T) {
	e := newEngine(t, engine.Config{Lag: map[string]time.Duration{"a": time.Second}})
	for _, key := range []string{"a/x", "a-b/x", "a-b/y", "b/x"} {
		mustCreate(t, e.Store().Claims, claim(key))
	}
	var inf engine.Informer[*corev1.PersistentVolumeClaim]
	startActor(t, e, "a", func(a *engine.Actor) { inf = engine.NewInformer(a, e.Store().Claims) })
	for _, key := range []string{"b/x", "a-b/x"} {
		if _, err := e.Store().Claims.Patch(key, []byte(`{"metadata":{"labels":{"a":"b"}}}`), api.Main); err != nil {
			t.Fatal(err)
		}
	}
	mustCreate(t, e.Store().Claims, claim("a-c/x"))
	get := func(namespace, name, want string) {
		t.Helper()
		got := ""
		if obj, ok := inf.GetNamed(namespace, name); ok {
			got = api.KeyOf(obj) + "@" + obj.ResourceVersion
		}
		if got != want {
			t.Errorf("GetNamed(%s, %s) = %s, want %s", namespace, name, got, want)
		}
	}
	keys := func() string {
		var keys []string
		for _, obj := range inf.List() {
			keys = append(keys, api.KeyOf(obj)+"@"+obj.ResourceVersion)
		}
		return strings.Join(keys, " ")
	}
	if got, want := keys(), "a-b/x@2 a-b/y@3 a/x@1 b/x@4"; got != want {
		t.Errorf("before the changes arrive: %s, want %s", got, want)
	}
	get("a-b", "x", "a-b/x@2")
	get("a", "x", "a/x@1")
	get("a-c", "x", "")
	get("a", "y", "")
	e.Advance(time.Second)
	if got, want := keys(), "a-b/x@6 a-b/y@3 a-c/x@7 a/x@1 b/x@5"; got != want {
		t.Errorf("after the changes arrived: %s, want %s", got, want)
	}
	get("a-b", "x", "a-b/x@6")
	get("a-c", "x", "a-c/x@7")
	get("a", "y", "")
	for range inf.List() {
		break // a walk may end early
	}
}

// What is on its way when the actor crashes never arrives.
func TestInformerAfterCrash(t *testing.T) {
	e := newEngine(t, engine.Config{Lag: map[string]time.Duration{"a": time.Second}})
	added := 0
	a := startActor(t, e, "a", func(a *engine.Actor) {
		engine.NewInformer(a, e.Store().Nodes).Handle(engine.Handler[*corev1.Node]{Add: func(*corev1.Node) { added++ }})
	})
	mustCreate(t, e.Store().Nodes, node("a", nil))
	a.Crash()
	mustCreate(t, e.Store().Nodes, node("b", nil))
	if err := e.Settle(0); err != nil || added != 0 {
		t.Errorf("Settle: %v, and %d nodes arrived; want none", err, added)
	}
	e.Advance(time.Hour)
	if added != 0 {
		t.Errorf("%d nodes arrived at a dead actor", added)
	}
}
