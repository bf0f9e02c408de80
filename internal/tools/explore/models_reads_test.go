package explore

import (
	"fmt"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
)

// modelsOfReads are about reads, and what actors remember of them.
var modelsOfReads = []smallModel{
	{name: "objects", outcomes: 2, build: func(s *fixture) {
		s.does("first", func(p *proc) { label(p, "a", "1") })
		s.does("second", func(p *proc) { label(p, "a", "2") })
		s.idles()
	}},
	{name: "what the user has read", outcomes: 2, build: func(s *fixture) {
		s.does("first", func(p *proc) { label(p, "a", "1") })
		s.does("second", func(p *proc) { label(p, "a", "2") })
		s.independent("third", func(a *actor, _ *actorMemory) { a.After(pause, "third", func(p *proc) { label(p, "a", "3") }) })
		s.idles()
		s.user(func() {
			s.Advance(0)
			s.note("%s", s.labelOf("a"))
			s.Advance(3 * pause)
		})
	}},
	{name: "the time of the user's turn", outcomes: 2, build: func(s *fixture) {
		s.does("first", func(p *proc) { label(p, "b", "1") })
		s.does("second", func(p *proc) {
			wait := pause / 4
			if pv, err := p.API().Volumes.Get(p, "b"); err == nil && pv.Labels["x"] == "1" {
				wait = pause / 2
			}
			p.Sleep(wait)
		})
		s.independent("idler", func(a *actor, _ *actorMemory) { a.Background(2*pause, "idle", func(*proc) {}) })
		s.user(func() {
			_ = s.Settle(pause)
			s.note("%v", s.Now())
			// In every order the same event comes at the same time.
			s.Advance(engine.DefaultStart.Add(3 * pause).Sub(s.Now()))
		})
	}},
	{name: "calls to an opaque backend", outcomes: 2, build: func(s *fixture) {
		s.does("first", func(p *proc) { s.call(p, "1") })
		s.does("second", func(p *proc) { s.call(p, "2") })
		s.idles()
		s.user(func() {
			s.Advance(3 * pause)
			s.note("%s", lastCalls(s))
		})
	}},
	{name: "the result of a call", outcomes: 2, build: func(s *fixture) {
		s.does("reader", func(p *proc) {
			pv, _ := p.API().Volumes.Get(p, "a")
			p.Sleep(pause)
			label(p, "b", "saw"+pv.Labels["x"])
		})
		s.does("writer", func(p *proc) { label(p, "a", "1") })
	}},
	{name: "the result of a list", outcomes: 2, build: func(s *fixture) {
		s.does("reader", func(p *proc) {
			list, _ := p.API().Volumes.List(p, "")
			p.Sleep(pause)
			label(p, "b", fmt.Sprint(len(list)))
		})
		s.does("writer", func(p *proc) { _, _ = p.API().Volumes.Create(p, fake.Volume("d", "1Gi")) })
	}},
	{name: "the error of a rejected call", outcomes: 3, build: func(s *fixture) {
		s.does("updater", func(p *proc) {
			n, _ := p.API().Nodes.Get(p, "n")
			n = n.DeepCopy()
			n.Labels = map[string]string{"x": "mine"}
			p.Sleep(pause)
			_, err := p.API().Nodes.Update(p, n)
			p.Sleep(pause)
			label(p, "b", reason(err))
		})
		s.independent("writer", func(a *actor, _ *actorMemory) {
			a.After(pause, "writer", func(p *proc) {
				labelNode(p, "1")
				_, _ = p.API().Nodes.Delete(p, "n", api.DeleteOptions{})
			})
		})
		s.independent("idler", func(a *actor, _ *actorMemory) { a.After(pause*3/2, "idle", func(*proc) {}) })
	}},
	{name: "the results of a backend, for equal processes", outcomes: 3, build: func(s *fixture) {
		s.independent("caller", func(a *actor, m *actorMemory) {
			var q *engine.Queue
			q = a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, _ string) error {
				a.Go("call", func(p *proc) {
					n := s.call(p, "disk")
					label(p, "a", fmt.Sprint(n))
				})
				return nil
			}})
			q.Add("x")
			a.Go("again", func(p *proc) { q.Add("x") })
		})
		s.user(func() {
			s.Advance(3 * pause)
			s.note("%s", lastCalls(s))
		})
	}},
	{name: "reads of an informer", outcomes: 2, build: func(s *fixture) {
		s.independent("reader", func(a *actor, _ *actorMemory) {
			view := engine.NewInformer(a, s.Store().Volumes)
			a.Go("read", func(p *proc) {
				pv, _ := view.Get("a")
				p.Sleep(pause)
				label(p, "b", "saw"+pv.Labels["x"])
			})
		})
		s.user(func() {
			label(s.User(), "a", "1")
			s.Advance(3 * pause)
		})
	}},
	{name: "the number of reads of each informer", outcomes: 4, build: func(s *fixture) {
		s.independent("reader", func(a *actor, _ *actorMemory) {
			// Two actors with equal reads.
			only := func(pv *volume) bool { return pv.Name == "d" }
			one, two := engine.NewSelectiveInformer(a, s.Store().Volumes, only), engine.NewSelectiveInformer(a, s.Store().Volumes, only)
			a.Go("read", func(p *proc) {
				n, m := len(one.List()), len(two.List())
				p.Sleep(pause)
				label(p, "b", fmt.Sprint(n, "-", m))
			})
		})
		s.user(func() {
			s.create(fake.Volume("d", "1Gi"))
			s.Advance(3 * pause)
		})
	}},
	{name: "reads of the actor's memory", outcomes: 2, build: func(s *fixture) {
		s.independent("rememberer", func(a *actor, m *actorMemory) {
			a.Go("read", func(p *proc) {
				text := m.Text
				p.Sleep(pause)
				label(p, "a", "saw"+text)
			})
			a.Go("write", func(p *proc) { m.Text = "1" })
		})
	}},
	{name: "registered memory of an actor", outcomes: 2, build: func(s *fixture) {
		s.independent("rememberer", func(a *actor, m *actorMemory) {
			for _, text := range []string{"1", "2"} {
				a.Go("write", func(p *proc) { m.Text = text })
			}
			a.After(pause, "read", func(p *proc) { label(p, "a", m.Text) })
		})
	}},
	{name: "unregistered memory of an actor", outcomes: 2, build: func(s *fixture) {
		s.run.Independent = append(s.run.Independent, "rememberer")
		s.actor("rememberer", func(a *actor) {
			memory := ""
			for _, text := range []string{"1", "2"} {
				a.Go("write", func(p *proc) { memory = text })
			}
			a.After(pause, "read", func(p *proc) { label(p, "a", memory) })
		})
	}},
	{name: "the past of dependent actors", outcomes: 2, build: func(s *fixture) {
		memory := ""
		for _, text := range []string{"1", "2"} {
			s.actor("actor-"+text, func(a *actor) {
				a.Go("write", func(p *proc) { memory += text })
			})
		}
		s.idles()
		s.user(func() {
			s.Advance(3 * pause)
			s.note("%s", memory)
		})
	}},
	{name: "objects that a dependent actor has read", outcomes: 2, build: func(s *fixture) {
		s.actor("reader", func(a *actor) {
			a.Go("read", func(p *proc) {
				seen := s.labelOf("a")
				p.Sleep(pause)
				label(p, "b", "saw"+seen)
			})
		})
		s.does("writer", func(p *proc) { label(p, "a", "1") })
	}},
	{name: "results of a backend that a dependent actor has read", outcomes: 2, build: func(s *fixture) {
		s.actor("reader", func(a *actor) {
			a.Go("read", func(p *proc) {
				seen := lastCalls(s)
				p.Sleep(pause)
				label(p, "b", "saw"+seen)
			})
		})
		s.does("caller", func(p *proc) { s.call(p, "1") })
	}},
	{name: "calls of a dependent actor to a backend", outcomes: 2, build: func(s *fixture) {
		s.actor("filler", func(a *actor) {
			a.Go("fill", func(p *proc) { s.calls = append(s.calls, "filled") })
		})
		s.does("caller", func(p *proc) {
			n := s.call(p, "1")
			p.Sleep(pause)
			label(p, "b", fmt.Sprint(n))
		})
	}},
	{name: "objects of a kind, for a dependent actor", outcomes: 2, build: func(s *fixture) {
		s.actor("reader", func(a *actor) {
			a.Go("read", func(p *proc) {
				seen := s.Store().Volumes.Len()
				p.Sleep(pause)
				label(p, "b", fmt.Sprint(seen))
			})
		})
		s.does("writer", func(p *proc) { _, _ = p.API().Volumes.Create(p, fake.Volume("d", "1Gi")) })
	}},
}
