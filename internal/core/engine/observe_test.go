package engine_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/trace"
)

// step records one event as an observer receives it.
type step struct {
	kind    engine.DueKind
	code    bool
	calls   []string
	looks   []string
	queues  int
	queued  int
	process uint64
}

type observer struct {
	engine  *engine.Engine
	steps   []step
	returns int
}

func (o *observer) Begin(engine.Due) bool { return true }
func (o *observer) Return()               { o.returns++ }
func (o *observer) End(f *engine.Footprint) {
	s := step{kind: f.Event.Kind, code: f.Code, queues: len(f.Queues), queued: len(f.Queued)}
	for _, c := range f.Calls {
		s.calls = append(s.calls, c.Call.Verb+" "+c.Call.Key)
	}
	for _, l := range f.Reads {
		s.looks = append(s.looks, string(l.View.Kind())+" "+l.Key)
	}
	for _, p := range f.Processes {
		s.process = p.ID()
	}
	o.steps = append(o.steps, s)
}

// TestObserve: an observer receives each event, its reads and effects, and whether code of the actor ran in it.
func TestObserve(t *testing.T) {
	e := newEngine(t, engine.Config{Choose: func(int) int { return 0 }})
	a, err := e.NewActor("a", func(a *engine.Actor) {
		nodes := engine.NewInformer(a, e.Store().Nodes)
		q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *engine.Process, key string) error {
			n, _ := nodes.Get(key)
			n = n.DeepCopy()
			n.Spec.Unschedulable = true
			_, err := p.API().Nodes.Update(p, n)
			return err
		}})
		nodes.Handle(engine.Handler[*corev1.Node]{Add: func(n *corev1.Node) { q.Add(n.Name) }})
	})
	if err != nil {
		t.Fatal(err)
	}
	o := &observer{engine: e}
	e.Observe(o)
	mustCreate(t, e.Store().Nodes, node("n", nil))
	if len(e.Footprint().Queued) != 1 {
		t.Errorf("what the user caused: %v, want one event", e.Footprint().Queued)
	}
	e.Advance(0)
	want := []step{
		{kind: engine.DueDelivery, queues: 1, queued: 1},
		{kind: engine.DueTurn, code: true, looks: []string{"Node n"}, queues: 1, queued: 1, process: 1},
		{kind: engine.DueProcess, calls: []string{"update n"}, queued: 2, process: 1}, // the effect: a delivery, and the way back
		{kind: engine.DueDelivery},
		{kind: engine.DueProcess, code: true, queues: 1, process: 1},
	}
	equal := func(a, b step) bool {
		return a.kind == b.kind && a.code == b.code && slices.Equal(a.calls, b.calls) && slices.Equal(a.looks, b.looks) && a.queues == b.queues && a.queued == b.queued && a.process == b.process
	}
	if !slices.EqualFunc(o.steps, want, equal) {
		t.Errorf("steps\n%+v\nwant\n%+v", o.steps, want)
	}
	if drive, end := e.RunMode(); drive != engine.Advancing || end != 0 || o.returns != 1 {
		t.Errorf("RunMode() = %v, %v and %d returns, want one of Advance", drive, end, o.returns)
	}
	e.Observe(nil)
	a.After(time.Second, "later", func(*engine.Process) {})
	if later := e.Later(); len(later) != 1 || later[0].Name != "later" || later[0].At != time.Second {
		t.Errorf("Later() = %+v", later)
	}
	e.Advance(time.Minute)
	if len(o.steps) != len(want) || e.Footprint() != nil {
		t.Errorf("it is still observed")
	}
}

// TestUndelivered: the changes that an informer has not delivered.
func TestUndelivered(t *testing.T) {
	e := newEngine(t, engine.Config{Lag: map[string]time.Duration{"a": time.Minute}})
	a, err := e.NewActor("a", func(a *engine.Actor) {
		engine.NewInformer(a, e.Store().Nodes)
		a.Keeps(new(int))
	})
	if err != nil {
		t.Fatal(err)
	}
	n := mustCreate(t, e.Store().Nodes, node("n", nil))
	if _, err := e.Store().Nodes.Delete("n", api.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	var late []engine.UndeliveredChange
	for c := range a.Views()[0].Undelivered {
		late = append(late, c)
	}
	if len(late) != 2 || late[0].Type != api.Added || late[0].Old != nil || late[0].Object != api.Object(n) || late[1].Type != api.Deleted || late[1].Key != "n" {
		t.Errorf("Late = %+v", late)
	}
	if len(a.Memory()) != 1 {
		t.Errorf("Memory() = %v, want what it keeps", a.Memory())
	}
	a.Crash()
	if a.Views() != nil || a.Queues() != nil || a.Memory() != nil || a.Lives() != 1 {
		t.Errorf("a crash leaves %v %v %v", a.Views(), a.Queues(), a.Memory())
	}
}

// TestActivity: an entry has the number of the process that made it, and of the one that asked for that.
func TestActivity(t *testing.T) {
	log := &trace.Trace{}
	e := newEngine(t, engine.Config{Trace: log})
	n := mustCreate(t, e.Store().Nodes, node("n", nil))
	_, err := e.NewActor("a", func(a *engine.Actor) {
		ops := a.NewNestedOperations()
		a.Go("sync", func(p *engine.Process) {
			p.Decide("X", n, "sync")
			_ = ops.Run(engine.OperationKey{}, "op", func(p *engine.Process) error { p.Decide("X", n, "operation"); return nil })
		})
		a.Go("other", func(p *engine.Process) { p.Decide("X", n, "other") })
	})
	if err != nil {
		t.Fatal(err)
	}
	e.User().Decide("X", n, "user")
	e.Advance(0)
	want := map[string][2]uint64{"started": {}, "user": {}, "sync": {1, 0}, "other": {2, 0}, "operation": {3, 1}}
	got := map[string][2]uint64{}
	for entry := range log.Entries() {
		got[entry.Text] = [2]uint64{entry.Activity, entry.Cause}
	}
	if len(got) != len(want) {
		t.Errorf("entries %v, want %v", got, want)
	}
	for text, by := range want {
		if got[text] != by {
			t.Errorf("entry %q is by %v, want %v", text, got[text], by)
		}
	}
}

// TestSince: entries are found by their numbers, also when the trace has dropped the oldest.
func TestSince(t *testing.T) {
	for _, limit := range []int{0, 1, 4, 100} {
		log := &trace.Trace{Limit: limit}
		e := newEngine(t, engine.Config{Trace: log})
		for range log.Since(0) {
			t.Errorf("limit %d: an empty trace has an entry", limit)
		}
		n := mustCreate(t, e.Store().Nodes, node("n", nil))
		for range 10 {
			e.User().Decide("X", n, "text")
		}
		oldest := uint64(1)
		if limit > 0 && limit < 10 {
			oldest = uint64(11 - limit)
		}
		for since := range uint64(13) {
			var got, want []uint64
			for entry := range log.Since(since) {
				got = append(got, entry.Seq)
			}
			for seq := max(oldest, since+1); seq <= 10; seq++ {
				want = append(want, seq)
			}
			if !slices.Equal(got, want) {
				t.Errorf("limit %d: Since(%d) = %v, want %v", limit, since, got, want)
			}
		}
	}
}
