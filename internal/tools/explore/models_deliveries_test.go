package explore

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
)

// modelsOfDeliveries are about deliveries, and the conditions that the user waits for.
var modelsOfDeliveries = []smallModel{
	{name: "an informer of a kind that is written later", outcomes: 2, build: func(s *fixture) {
		s.twoViews(false)
		s.does("writer", func(p *proc) {
			label(p, "a", "1")
			labelNode(p, "1")
		})
	}},
	{name: "the order of undelivered changes", outcomes: 2, build: func(s *fixture) {
		s.independent("watcher", func(a *actor, m *actorMemory) {
			q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, key string) error {
				m.Text = key
				return nil
			}})
			engine.NewInformer(a, s.Store().Volumes).Handle(engine.Handler[*volume]{Update: func(_, pv *volume) { q.Add(pv.Name) }})
			a.After(3*pause, "report", func(p *proc) { label(p, "c", m.Text) })
		})
		s.does("first", func(p *proc) { label(p, "a", "1") })
		s.does("second", func(p *proc) { label(p, "b", "1") })
	}, change: lagging},
	{name: "the times of undelivered changes", outcomes: 2, build: func(s *fixture) {
		s.independent("watcher", func(a *actor, m *actorMemory) {
			view := engine.NewInformer(a, s.Store().Volumes)
			a.After(3*pause/2, "read", func(p *proc) {
				pv, _ := view.Get("b")
				label(p, "c", "saw"+pv.Labels["x"])
			})
		})
		s.does("first", func(p *proc) { label(p, "a", "1") })
		s.does("second", func(p *proc) {
			wait := pause * 2 / 5
			if pv, err := p.API().Volumes.Get(p, "a"); err == nil && pv.Labels["x"] == "1" {
				wait = pause * 3 / 5
			}
			p.Sleep(wait)
			label(p, "b", "1")
		})
		s.independent("idler", func(a *actor, _ *actorMemory) { a.After(pause*4/5, "idle", func(*proc) {}) })
	}, change: func(cfg *engine.Config) { cfg.Lag = map[string]time.Duration{"watcher": pause} }},
	{name: "a waiting process", outcomes: 2, build: func(s *fixture) {
		s.independent("waiter", func(a *actor, _ *actorMemory) {
			var signal engine.Signal
			a.Go("wait", func(p *proc) {
				pv, _ := p.API().Volumes.Get(p, "a")
				signal.Wait(p, 0)
				label(p, "b", "saw"+pv.Labels["x"])
			})
			a.After(pause, "wake", func(*proc) { signal.Broadcast() })
		})
		s.does("writer", func(p *proc) { label(p, "a", "1") })
	}},
	{name: "what an informer that a process started has delivered", outcomes: 2, build: func(s *fixture) {
		s.independent("watcher", func(a *actor, _ *actorMemory) {
			a.Go("watch", func(p *proc) {
				delivered := ""
				engine.NewInformer(a, s.Store().Volumes).Handle(engine.Handler[*volume]{Update: func(_, pv *volume) { delivered += pv.Name }})
				p.Sleep(2 * pause)
				label(p, "c", delivered)
			})
		})
		s.independent("first", func(a *actor, _ *actorMemory) { a.After(pause, "first", func(p *proc) { label(p, "a", "1") }) })
		s.independent("second", func(a *actor, _ *actorMemory) { a.After(pause, "second", func(p *proc) { label(p, "b", "1") }) })
	}},
	{name: "the condition of Until", outcomes: 2, build: func(s *fixture) {
		s.does("first", func(p *proc) { label(p, "a", "1") })
		s.does("second", func(p *proc) {
			label(p, "b", "1")
			label(p, "b", "2")
		})
		s.user(func() {
			err := s.Until(func() bool { return s.labelOf("a") == "1" && s.labelOf("b") == "1" }, pause)
			s.note("%t", err == nil)
			s.Advance(pause)
		})
	}},
	{name: "a condition of Until that no longer applies", outcomes: 2, build: func(s *fixture) {
		s.does("first", func(p *proc) { label(p, "a", "1") })
		s.does("second", func(p *proc) {
			label(p, "b", "1")
			label(p, "b", "2")
		})
		waiting := false
		s.run.Waits = func() bool { return waiting }
		s.user(func() {
			waiting = true
			err := s.Until(func() bool { return s.labelOf("a") == "1" && s.labelOf("b") == "1" }, pause)
			waiting = false
			s.note("%t", err == nil)
			_ = s.Until(func() bool { return false }, pause)
		})
	}},
	{name: "the effect of Step", outcomes: 2, build: func(s *fixture) {
		s.does("first", func(p *proc) { label(p, "a", "1") })
		s.does("second", func(p *proc) { label(p, "b", "1") })
		s.user(func() {
			for range 3 {
				s.Step()
			}
			s.note("%s-%s", s.labelOf("a"), s.labelOf("b"))
			s.Advance(pause)
		})
	}},
	{name: "a background event", outcomes: 2, build: func(s *fixture) {
		s.does("first", func(p *proc) {})
		s.background("second", func(*proc) {})
		s.user(s.settle)
	}},
	{name: "a background event after other work", outcomes: 2, build: func(s *fixture) {
		s.background("first", func(*proc) {})
		s.does("second", func(p *proc) {})
		s.user(s.settle)
	}},
	{name: "a background event, if a delivery is the last other work", outcomes: 2, build: func(s *fixture) {
		s.independent("watcher", func(a *actor, _ *actorMemory) { engine.NewInformer(a, s.Store().Nodes) })
		s.background("second", nil)
		s.user(func() {
			labelNode(s.User(), "1")
			s.settle()
		})
	}},
	{name: "a background event that becomes due, if a delivery is the last other work", outcomes: 2, build: func(s *fixture) {
		s.independent("watcher", func(a *actor, _ *actorMemory) { engine.NewInformer(a, s.Store().Nodes) })
		s.background("second", func(*proc) {})
		s.user(func() {
			labelNode(s.User(), "1")
			s.settle()
		})
	}},
	{name: "a delivery that is not the first step", outcomes: 2, build: func(s *fixture) {
		s.independent("watcher", func(a *actor, _ *actorMemory) { engine.NewInformer(a, s.Store().Nodes) })
		s.does("writer", func(p *proc) { label(p, "b", "1") })
		s.user(func() {
			labelNode(s.User(), "1")
			s.Step()
			s.Step()
			s.note("%s", s.labelOf("b"))
			s.Advance(pause)
		})
	}},
	{name: "a delivery after the user's turn", outcomes: 2, build: func(s *fixture) {
		var view engine.Informer[*corev1.Node]
		watcher := s.independent("watcher", func(a *actor, _ *actorMemory) { view = engine.NewInformer(a, s.Store().Nodes) })
		s.does("writer", func(p *proc) { label(p, "b", "1") })
		s.user(func() {
			labelNode(s.User(), "1")
			_ = s.Until(func() bool { return s.labelOf("b") == "1" }, pause)
			watcher.Go("read", func(p *proc) {
				n, _ := view.Get("n")
				label(p, "c", "saw"+n.Labels["x"])
			})
			s.Advance(pause)
		})
	}},
	{name: "a delivery to a dependent actor", outcomes: 2, build: func(s *fixture) {
		s.actor("watcher", func(a *actor) {
			seen := ""
			engine.NewInformer(a, s.Store().Nodes).Handle(engine.Handler[*corev1.Node]{Update: func(_, _ *corev1.Node) { seen = s.labelOf("b") }})
			a.After(pause, "report", func(p *proc) { label(p, "c", "saw"+seen) })
		})
		s.does("writer", func(p *proc) { label(p, "b", "1") })
		s.user(func() {
			labelNode(s.User(), "1")
			s.Advance(2 * pause)
		})
	}},
	{name: "a delivery to an informer that a process started", outcomes: 3, build: func(s *fixture) {
		s.independent("watcher", func(a *actor, _ *actorMemory) {
			a.Go("watch", func(p *proc) {
				delivered, before := uint64(0), p.Effects()
				engine.NewInformer(a,
					s.Store().Nodes).Handle(engine.Handler[*corev1.Node]{Update: func(_, _ *corev1.Node) { delivered = p.Effects() - before }})
				p.Sleep(2 * pause)
				label(p, "c", fmt.Sprint(delivered))
			})
		})
		s.independent("writer", func(a *actor, _ *actorMemory) {
			a.After(pause, "writer", func(p *proc) {
				label(p, "a", "1")
				label(p, "b", "1")
			})
		})
		s.user(func() {
			s.Advance(pause / 2)
			labelNode(s.User(), "1")
			s.Advance(3 * pause)
		})
	}, change: func(cfg *engine.Config) { cfg.Lag = map[string]time.Duration{"watcher": pause / 2} }},
}
