package bench

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
)

// BenchmarkStore measures one write to a store with 10,000 volumes, with all checks.
func BenchmarkStore(b *testing.B) {
	const volumes = 10_000
	run := func(name string, write func(s *store.Store, pv *corev1.PersistentVolume, i int) error) {
		b.Run(name, func(b *testing.B) {
			s := store.New(store.Config{})
			for i := range volumes {
				_, err := s.Volumes.Create(fake.Volume(volumeName(i), "1Gi"))
				must(b, err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				pv, _ := s.Volumes.Lookup(volumeName(i % volumes))
				must(b, write(s, pv, i))
			}
		})
	}
	run("create", func(s *store.Store, _ *corev1.PersistentVolume, i int) error {
		_, err := s.Volumes.Create(fake.Volume(fmt.Sprintf("new-%09d", i), "1Gi"))
		return err
	})
	run("update", func(s *store.Store, pv *corev1.PersistentVolume, _ int) error {
		changed := *pv
		changed.Spec.ClaimRef = &corev1.ObjectReference{Name: "data", ResourceVersion: pv.ResourceVersion}
		_, err := s.Volumes.UpdateWith(&changed, api.Main, store.UpdateOptions{})
		return err
	})
	run("update-status", func(s *store.Store, pv *corev1.PersistentVolume, _ int) error {
		changed := *pv
		changed.Status.Message = pv.ResourceVersion
		_, err := s.Volumes.UpdateWith(&changed, api.Status, store.UpdateOptions{})
		return err
	})
	run("patch", func(s *store.Store, pv *corev1.PersistentVolume, _ int) error {
		_, err := s.Volumes.Patch(pv.Name, []byte(`{"status":{"message":"`+pv.ResourceVersion+`"}}`), api.Status)
		return err
	})
}

// BenchmarkEngine measures one basic operation of the engine.
func BenchmarkEngine(b *testing.B) {
	actor := func(b *testing.B, start func(*engine.Actor)) *engine.Engine {
		e, err := engine.New(engine.Config{})
		must(b, err)
		_, err = e.NewActor("actor", start)
		must(b, err)
		b.ReportAllocs()
		return e
	}
	// A timer among 1,000 others: set and fired.
	b.Run("event", func(b *testing.B) {
		e := actor(b, func(a *engine.Actor) {
			var again func(*engine.Process)
			again = func(*engine.Process) { a.After(time.Second, "again", again) }
			for i := range 1000 {
				a.After(time.Duration(i)*time.Millisecond, "again", again)
			}
		})
		for b.Loop() {
			e.Step()
		}
	})
	// A key: queued, taken by a worker, done.
	b.Run("queue-turn", func(b *testing.B) {
		var queue *engine.Queue
		e := actor(b, func(a *engine.Actor) {
			queue = a.NewQueue(engine.QueueConfig{Name: "queue", Sync: func(*engine.Process, string) error { return nil }})
		})
		for b.Loop() {
			queue.Add("default/claim")
			e.Step()
		}
	})
	// A write without watchers and with ten informers: the difference is ten deliveries.
	for _, informers := range []int{0, 10} {
		b.Run(fmt.Sprintf("write/informers=%d", informers), func(b *testing.B) {
			delivered := 0
			e := actor(b, func(a *engine.Actor) {
				for range informers {
					engine.NewInformer(a, a.Engine().Store().Volumes).Handle(engine.Handler[*corev1.PersistentVolume]{
						Update: func(_, _ *corev1.PersistentVolume) { delivered++ },
					})
				}
			})
			pv, err := e.Store().Volumes.Create(fake.Volume("v", "1Gi"))
			must(b, err)
			must(b, e.Settle(0))
			for b.Loop() {
				changed := *pv
				changed.Status.Message = pv.ResourceVersion
				pv, err = e.Store().Volumes.UpdateWith(&changed, api.Status, store.UpdateOptions{})
				must(b, err)
				must(b, e.Settle(0))
			}
			if delivered != b.N*informers {
				b.Fatalf("%d deliveries, want %d", delivered, b.N*informers)
			}
		})
	}
}
