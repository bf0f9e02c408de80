package explore

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
)

// modelsOfEvents are about equal events and generated names.
var modelsOfEvents = []smallModel{
	{name: "equal events with different causes", outcomes: 2, build: func(s *fixture) {
		s.does("starter", func(p *proc) {
			for _, text := range []string{"1", "2"} {
				p.Actor().Go("same", func(p *proc) { label(p, "a", text) })
			}
		})
	}},
	{name: "equal events that the user caused at different times", outcomes: 2, build: func(s *fixture) {
		a := s.independent("actor", func(a *actor, _ *actorMemory) { a.After(pause/2, "idle", func(*proc) {}) })
		s.user(func() {
			a.After(2*pause, "same", func(p *proc) { label(p, "a", "1") })
			s.Advance(pause)
			a.After(pause, "same", func(p *proc) { label(p, "a", "2") })
			s.Advance(2 * pause)
		})
	}},
	{name: "equal events at different positions among those that the user caused", outcomes: 2, build: func(s *fixture) {
		a := s.independent("actor", func(*actor, *actorMemory) {})
		s.user(func() {
			for _, text := range []string{"1", "2"} {
				a.Go("same", func(p *proc) { label(p, "a", text) })
			}
			s.Advance(pause)
		})
	}},
	{name: "the turns of two queues", outcomes: 2, build: func(s *fixture) {
		s.independent("actor", func(a *actor, m *actorMemory) {
			for _, text := range []string{"1", "2"} {
				q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, _ string) error {
					m.Text = text
					return nil
				}})
				q.Add("x")
			}
			a.After(pause, "report", func(p *proc) { label(p, "a", m.Text) })
		})
	}},
	{name: "the turns of two actors", outcomes: 2, build: func(s *fixture) {
		for _, text := range []string{"1", "2"} {
			s.independent("actor-"+text, func(a *actor, _ *actorMemory) {
				a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, _ string) error {
					s.call(p, text)
					return nil
				}}).Add("x")
			})
		}
		s.user(func() {
			s.Advance(pause)
			s.note("%s", lastCalls(s))
		})
	}},
	{name: "two workers with a key each", outcomes: 2, build: func(s *fixture) {
		s.independent("actor", func(a *actor, m *actorMemory) {
			q := a.NewQueue(engine.QueueConfig{Name: "q", Workers: 2, Sync: func(p *proc, key string) error {
				p.Sleep(0)
				m.Text = key
				return nil
			}})
			q.Add("x")
			q.Add("y")
			a.After(pause, "report", func(p *proc) { label(p, "a", m.Text) })
		})
	}},
	{name: "deliveries of two informers", outcomes: 2, build: func(s *fixture) {
		s.twoViews(false)
		s.user(func() {
			label(s.User(), "a", "1")
			labelNode(s.User(), "1")
			s.Advance(3 * pause)
		})
	}},
	{name: "processes that exist from the start", outcomes: 2, build: func(s *fixture) {
		s.independent("sleeper", func(a *actor, _ *actorMemory) {
			for _, text := range []string{"1", "2"} {
				a.Go("same", func(p *proc) {
					p.Sleep(pause)
					label(p, "a", text)
				})
			}
		})
		s.Advance(0)
	}},
	{name: "the time of a read", outcomes: 2, build: func(s *fixture) {
		s.independent("waiter", func(a *actor, _ *actorMemory) {
			var signal engine.Signal
			a.Go("wait", func(p *proc) {
				signal.Wait(p, 0)
				then := p.Now()
				signal.Wait(p, 0)
				label(p, "b", then.Format("05.000"))
			})
			a.Go("wake", func(p *proc) {
				wait := pause / 4
				if pv, err := p.API().Volumes.Get(p, "a"); err == nil && pv.Labels["x"] == "1" {
					wait = pause / 2
				}
				p.Sleep(wait)
				signal.Broadcast()
			})
			a.After(2*pause, "wake again", func(p *proc) { signal.Broadcast() })
		})
		s.does("writer", func(p *proc) { label(p, "a", "1") })
	}},
	{name: "the default class", outcomes: 2, build: func(s *fixture) {
		s.does("claimer", func(p *proc) {
			pvc := fake.Claim("d", "1Gi")
			pvc.Spec.StorageClassName = nil
			_, _ = p.API().Claims.Create(p, pvc)
		})
		s.does("admin", func(p *proc) {
			class := fake.Class("standard", "disk")
			class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
			_, _ = p.API().Classes.Create(p, class)
		})
		s.user(func() {
			s.Advance(pause)
			for _, pvc := range s.Store().Claims.List() {
				s.note("%v", pvc.Spec.StorageClassName != nil)
			}
		})
	}},
	{name: "generated names", outcomes: 2, build: func(s *fixture) {
		s.does("creator", func(p *proc) {
			_, _ = p.API().Nodes.Create(p, &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "n-"}})
		})
		s.does("writer", func(p *proc) { label(p, "a", "1") })
	}},
	{name: "an informer of a kind without objects", outcomes: 2, build: func(s *fixture) {
		s.independent("watcher", func(a *actor, m *actorMemory) {
			q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, key string) error {
				m.Text = key
				return nil
			}})
			engine.NewInformer(a, s.Store().Volumes).Handle(engine.Handler[*volume]{Update: func(_, pv *volume) { q.Add(pv.Name) }})
			engine.NewInformer(a,
				s.Store().Claims).Handle(engine.Handler[*corev1.PersistentVolumeClaim]{Add: func(*corev1.PersistentVolumeClaim) { q.Add("claim") }})
			a.After(2*pause, "report", func(p *proc) { label(p, "c", m.Text) })
		})
		s.does("writer", func(p *proc) {
			label(p, "a", "1")
			_, _ = p.API().Claims.Create(p, fake.Claim("d", "1Gi"))
		})
	}},
	{name: "the failing call of equal processes", outcomes: 2, build: func(s *fixture) {
		s.run.Injects = true
		s.independent("caller", func(a *actor, m *actorMemory) {
			var q *engine.Queue
			q = a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, _ string) error {
				a.Go("call", func(p *proc) {
					if _, err := p.API().Nodes.Get(p, "n"); err != nil {
						label(p, "c", "failed"+m.Text)
					} else {
						m.Text = "done"
					}
				})
				return nil
			}})
			q.Add("x")
			a.Go("again", func(p *proc) { q.Add("x") })
		})
	}, change: func(cfg *engine.Config) {
		n := 0
		cfg.Injector = engine.InjectorFunc(func(api.Call) (f api.Fault) {
			if n++; n == 1 {
				f.Err = errors.New("no luck")
			}
			return f
		})
	}},
}
