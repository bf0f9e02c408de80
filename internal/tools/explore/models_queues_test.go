package explore

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
)

// modelsOfQueues are about queues and timers.
var modelsOfQueues = []smallModel{
	{name: "a key that is added again", outcomes: 2, build: func(s *fixture) {
		s.independent("watcher", func(a *actor, m *actorMemory) {
			q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, key string) error {
				m.Count++
				return nil
			}})
			engine.NewInformer(a, s.Store().Nodes).Handle(engine.Handler[*corev1.Node]{Update: func(_, n *corev1.Node) { q.Add(n.Name) }})
			a.After(pause, "report", func(p *proc) { label(p, "c", fmt.Sprint(m.Count)) })
		})
		s.user(func() {
			labelNode(s.User(), "1")
			labelNode(s.User(), "2")
			s.Advance(2 * pause)
		})
	}},
	{name: "the length of a queue", outcomes: 2, build: func(s *fixture) {
		s.independent("watcher", func(a *actor, _ *actorMemory) {
			q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(*proc, string) error { return nil }})
			engine.NewInformer(a, s.Store().Nodes).Handle(engine.Handler[*corev1.Node]{Update: func(_, n *corev1.Node) { q.Add(n.Name) }})
			a.Go("read", func(p *proc) {
				n := q.Len()
				p.Sleep(pause)
				label(p, "c", fmt.Sprint(n))
			})
		})
		s.user(func() {
			labelNode(s.User(), "1")
			s.Advance(2 * pause)
		})
	}},
	{name: "the result of stopping a timer", outcomes: 2, build: func(s *fixture) {
		s.independent("stopper", func(a *actor, _ *actorMemory) {
			a.Go("stop", func(p *proc) {
				t := a.After(pause, "nothing", func(*proc) {})
				p.Sleep(pause)
				stopped := t.Stop()
				p.Sleep(pause)
				label(p, "a", fmt.Sprint(stopped))
			})
		})
	}},
	{name: "the delay of a key", outcomes: 2, build: func(s *fixture) {
		s.independent("worker", func(a *actor, m *actorMemory) {
			limited := engine.NewLimiter(0, 0, 1, 1)
			var q *engine.Queue
			q = a.NewQueue(engine.QueueConfig{Name: "q", Limiter: limited, Sync: func(p *proc, key string) error {
				label(p, "b", key)
				return nil
			}})
			q.AddRateLimited("x")
			a.Go("fail", func(p *proc) {
				p.Sleep(pause / 4)
				q.AddRateLimited("y")
			})
			a.After(pause/4, "fail too", func(*proc) { q.AddRateLimited("z") })
		})
	}},
	{name: "the process that a request starts", outcomes: 2, build: func(s *fixture) {
		s.independent("asker", func(a *actor, _ *actorMemory) {
			var signal engine.Signal
			a.Go("wait", func(p *proc) { signal.Wait(p, 0) })
			a.Go("ask", func(p *proc) {
				signal.Broadcast()
				for _, text := range []string{"1", "2"} {
					a.After(pause, "same", func(p *proc) { label(p, "a", text) })
				}
			})
		})
	}},
	{name: "the order of keys", outcomes: 2, build: func(s *fixture) {
		s.independent("worker", func(a *actor, m *actorMemory) {
			q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, key string) error {
				p.Sleep(pause)
				m.Text = key
				return nil
			}})
			q.Add("first")
			for _, key := range []string{"x", "y"} {
				a.Go("add", func(p *proc) { q.Add(key) })
			}
			a.After(pause/2, "idle", func(*proc) {})
			a.After(4*pause, "report", func(p *proc) { label(p, "a", m.Text) })
		})
		s.user(func() { s.Advance(5 * pause) })
	}},
	{name: "a key that is added while it is processed", outcomes: 2, build: func(s *fixture) {
		s.independent("worker", func(a *actor, m *actorMemory) {
			q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, key string) error {
				p.Sleep(pause)
				m.Count++
				return nil
			}})
			q.Add("x")
			a.Go("add", func(p *proc) { q.Add("x") })
			a.After(pause/2, "idle", func(*proc) {})
			a.After(4*pause, "report", func(p *proc) { label(p, "a", fmt.Sprint(m.Count)) })
		})
		s.user(func() { s.Advance(5 * pause) })
	}},
	{name: "the failures of a key", outcomes: 2, build: func(s *fixture) {
		s.independent("worker", func(a *actor, m *actorMemory) {
			var q *engine.Queue
			q = a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, key string) error {
				label(p, "b", fmt.Sprint(q.Failures(key)))
				return nil
			}})
			a.Go("fail", func(p *proc) { q.AddRateLimited("x") })
			s.sees(a, func(*proc) { q.AddRateLimited("x") })
			a.After(time.Millisecond, "idle", func(*proc) {})
		})
		s.does("writer", func(p *proc) { label(p, "a", "1") })
	}},
	{name: "the key that failed", outcomes: 2, build: func(s *fixture) {
		s.independent("worker", func(a *actor, m *actorMemory) {
			var q *engine.Queue
			q = a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, key string) error {
				label(p, "b", fmt.Sprint(q.Failures("x"), "-", q.Failures("y")))
				return nil
			}})
			a.Go("fail", func(p *proc) {
				q.AddRateLimited("x")
				q.AddRateLimited("y")
				pv, _ := p.API().Volumes.Get(p, "a")
				if pv.Labels["x"] == "1" {
					q.AddRateLimited("x")
				} else {
					q.AddRateLimited("y")
				}
			})
			a.After(time.Millisecond, "idle", func(*proc) {})
			a.After(2*time.Millisecond, "add", func(p *proc) { q.Add("z") })
		})
		s.does("writer", func(p *proc) { label(p, "a", "1") })
		s.user(func() { s.Advance(4 * time.Millisecond) })
	}},
	{name: "the remaining tokens of a queue", outcomes: 2, build: func(s *fixture) {
		s.independent("worker", func(a *actor, m *actorMemory) {
			limited := engine.NewLimiter(0, 0, 1, 1)
			var q *engine.Queue
			q = a.NewQueue(engine.QueueConfig{Name: "q", Limiter: limited, Sync: func(p *proc, key string) error {
				if key == "y" {
					label(p, "b", p.Now().Format("05.000"))
				}
				return nil
			}})
			a.Go("fail", func(p *proc) {
				if pv, _ := p.API().Volumes.Get(p, "a"); pv.Labels["x"] == "1" {
					q.AddRateLimited("x")
				} else {
					q.Add("x")
				}
			})
			a.After(pause/4, "idle", func(*proc) {})
			a.After(pause/2, "add", func(p *proc) { q.AddRateLimited("y") })
		})
		s.does("writer", func(p *proc) { label(p, "a", "1") })
	}},
}
