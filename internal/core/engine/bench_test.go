package engine_test

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
)

func benchActor(b *testing.B, e *engine.Engine, start func(*engine.Actor)) *engine.Actor {
	b.Helper()
	a, err := e.NewActor("a", start)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	return a
}

// One timer: scheduled among 1,000 others, and run.
func BenchmarkEvent(b *testing.B) {
	e := newEngine(b, engine.Config{})
	var a *engine.Actor
	var again func(p *engine.Process)
	again = func(p *engine.Process) { a.After(time.Second, "again", again) }
	a = benchActor(b, e, func(a *engine.Actor) {
		for i := range 1000 {
			a.After(time.Duration(i)*time.Millisecond, "again", again)
		}
	})
	for b.Loop() {
		e.Step()
	}
}

// A process that waits: to the engine and back.
func BenchmarkSwitch(b *testing.B) {
	e := newEngine(b, engine.Config{})
	benchActor(b, e, func(a *engine.Actor) {
		a.Go("loop", func(p *engine.Process) {
			for {
				p.Sleep(0)
			}
		})
	})
	for b.Loop() {
		e.Step()
	}
	e.Close()
}

// A key: added, taken by a worker, done.
func BenchmarkQueueTurn(b *testing.B) {
	e := newEngine(b, engine.Config{})
	var queue *engine.Queue
	benchActor(b, e, func(a *engine.Actor) {
		queue = a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(*engine.Process, string) error { return nil }})
	})
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = "default/claim-" + strconv.Itoa(i)
	}
	for i := 0; b.Loop(); i++ {
		queue.Add(keys[i%len(keys)])
		e.Step()
	}
}

// A change: written to the store and delivered to one informer. BenchmarkWrite is the same without the informer.
func BenchmarkInformerDelivery(b *testing.B) {
	e := newEngine(b, engine.Config{})
	delivered := 0
	benchActor(b, e, func(a *engine.Actor) {
		engine.NewInformer(a, e.Store().Nodes).Handle(engine.Handler[*corev1.Node]{Update: func(_, _ *corev1.Node) { delivered++ }})
	})
	writeNodes(b, e)
	if delivered != b.N {
		b.Errorf("%d changes were delivered, want %d", delivered, b.N)
	}
}

func BenchmarkWrite(b *testing.B) {
	e := newEngine(b, engine.Config{})
	benchActor(b, e, func(*engine.Actor) {})
	writeNodes(b, e)
}

func writeNodes(b *testing.B, e *engine.Engine) {
	n := mustCreate(b, e.Store().Nodes, node("n", nil))
	e.Step()
	for b.Loop() {
		changed := *n
		changed.Spec.Unschedulable = !n.Spec.Unschedulable
		var err error
		if n, err = e.Store().Nodes.Update(&changed); err != nil {
			b.Fatal(err)
		}
		e.Step()
	}
}

// The same Event again and again, as often as the correlator lets it pass.
func BenchmarkEventRecorder(b *testing.B) {
	for _, bench := range []struct {
		name string
		rest time.Duration
	}{{"stored", 300 * time.Second}, {"counted", 0}} {
		b.Run(bench.name, func(b *testing.B) {
			e := newEngine(b, engine.Config{})
			n := mustCreate(b, e.Store().Nodes, node("n", nil))
			var recorder *engine.Recorder
			benchActor(b, e, func(a *engine.Actor) { recorder = a.NewRecorder("a") })
			for b.Loop() {
				recorder.Event(e.User(), n, corev1.EventTypeWarning, "Failed", "text")
				e.Advance(bench.rest)
			}
		})
	}
}
