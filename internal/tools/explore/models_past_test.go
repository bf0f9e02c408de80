package explore

import (
	"errors"
	"fmt"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/trace"
)

// modelsOfPast are about past events, and what was observed of them.
var modelsOfPast = []smallModel{
	{name: "the version of a claim that a volume names", outcomes: 2, build: func(s *fixture) {
		s.create(fake.Claim("d", "1Gi"))
		s.does("binder", func(p *proc) {
			pvc, err := p.API().Claims.Get(p, "default/d")
			require.NoError(s.t, err)
			pv, _ := p.API().Volumes.Get(p, "a")
			pv = pv.DeepCopy()
			pv.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "d", UID: pvc.UID,
				ResourceVersion: pvc.ResourceVersion}
			_, err = p.API().Volumes.Update(p, pv)
			require.NoError(s.t, err)
		})
		s.does("writer", func(p *proc) {
			_, err := p.API().Patch(p, api.Ref{Kind: api.PersistentVolumeClaim, Key: "default/d"},
				[]byte(`{"metadata":{"labels":{"x":"1"}}}`), api.Main)
			require.NoError(s.t, err)
		})
		s.independent("reader", func(a *actor, _ *actorMemory) {
			a.After(2*pause, "read", func(p *proc) {
				pv, _ := p.API().Volumes.Get(p, "a")
				pvc, _ := p.API().Claims.Get(p, "default/d")
				label(p, "b", fmt.Sprint(pv.Spec.ClaimRef.ResourceVersion == pvc.ResourceVersion))
			})
		})
	}},
	{name: "versions in the store that no actor has read", outcomes: 2, build: func(s *fixture) {
		s.independent("updater", func(a *actor, _ *actorMemory) {
			view := engine.NewInformer(a, s.Store().Volumes)
			a.Go("update", func(p *proc) {
				pv, _ := view.Get("a")
				p.Sleep(pause)
				_, err := p.API().Volumes.Update(p, pv)
				p.Sleep(pause / 2)
				label(p, "b", reason(err))
			})
			a.After(pause/2, "idle", func(*proc) {})
		})
		s.user(func() {
			for _, text := range []string{"1", "2", "1"} {
				label(s.User(), "a", text)
			}
			s.Advance(3 * pause)
		})
	}},
	{name: "how often an object was deleted", outcomes: 2, build: func(s *fixture) {
		s.independent("creator", func(a *actor, _ *actorMemory) {
			// In both orders it has two versions.
			a.Go("create", func(p *proc) {
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "d"}}
				_, _ = p.API().Nodes.Create(p, node)
				if pv, _ := p.API().Volumes.Get(p, "a"); pv.Labels["x"] == "1" {
					_, _ = p.API().Nodes.Delete(p, "d", api.DeleteOptions{})
					_, _ = p.API().Nodes.Create(p, node)
				} else {
					_, _ = p.API().Nodes.Patch(p, "d", []byte(`{"metadata":{"labels":{"x":"1"}}}`), api.Main)
				}
				_, _ = p.API().Nodes.Delete(p, "d", api.DeleteOptions{})
			})
			a.After(pause, "read", func(p *proc) {
				n, err := p.API().Nodes.Create(p, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "d"}})
				require.NoError(s.t, err)
				label(p, "b", string(n.UID[:8]))
			})
		})
		s.does("writer", func(p *proc) { label(p, "a", "1") })
	}},
	{name: "actions since a process started", outcomes: 3, build: func(s *fixture) {
		s.does("counter", func(p *proc) {
			before := p.Effects()
			p.Sleep(0)
			after := p.Effects()
			p.Sleep(pause)
			label(p, "a", fmt.Sprint(after-before))
		})
		s.does("writer", func(p *proc) {
			labelNode(p, "1")
			labelNode(p, "2")
		})
	}},
	{name: "actions since a read", outcomes: 2, build: func(s *fixture) {
		s.independent("counter", func(a *actor, _ *actorMemory) {
			a.Go("count", func(p *proc) {
				before := p.Effects()
				p.Sleep(pause)
				label(p, "b", fmt.Sprint(p.Effects()-before))
			})
			a.After(pause/2, "idle", func(*proc) {})
		})
		s.does("writer", func(p *proc) {
			if s.run.Engine != nil {
				labelNode(p, "1")
			}
		})
	}},
	{name: "counters of which only differences are used", outcomes: 2, build: func(s *fixture) {
		s.counting(func(a *actor, m *counted) {
			a.Go("count", func(p *proc) {
				before := m.number
				p.Sleep(pause)
				label(p, "b", fmt.Sprint(m.number-before))
			})
			a.Go("up", func(p *proc) { m.number++ })
			a.After(pause/2, "idle", func(*proc) {})
		})
	}},
	{name: "readings of counters of which only differences are used", outcomes: 2, build: func(s *fixture) {
		s.counting(func(a *actor, m *counted) {
			a.Go("count", func(p *proc) {
				before := m.number
				p.Sleep(0)
				grown := m.number - before
				p.Sleep(pause)
				label(p, "b", fmt.Sprint(grown))
			})
			a.Go("up", func(p *proc) {
				p.Sleep(0)
				m.number++
			})
			a.After(pause/2, "idle", func(*proc) {})
		})
	}},
	{name: "what invariants have observed", outcomes: 2, build: func(s *fixture) {
		s.does("first", func(p *proc) { label(p, "a", "1") })
		s.does("second", func(p *proc) { label(p, "b", "1") })
		s.idles()
		s.run.Violations = func() (all []check.Violation) {
			for e := range s.Trace().Entries() {
				if e.Type == trace.Write && e.Object.Key == "b" && e.Actor != api.User {
					return []check.Violation{{Invariant: "order", Text: "b came first"}}
				}
				if e.Type == trace.Write && e.Object.Key == "a" && e.Actor != api.User {
					return nil
				}
			}
			return nil
		}
	}, change: traced},
	{name: "what the user reads from the trace", outcomes: 2, build: func(s *fixture) {
		s.does("first", func(p *proc) { p.Decide("RULE-1", nil, "first") })
		s.does("second", func(p *proc) { p.Decide("RULE-1", nil, "second") })
		s.idles()
		s.run.Ordered = true
		s.user(func() {
			s.Advance(3 * pause)
			for e := range s.Trace().Entries() {
				if e.Type == trace.Decision {
					s.note("%s", e.Text)
				}
			}
		})
	}, change: traced},
	{name: "what the user reads from Events", outcomes: 2, build: func(s *fixture) {
		for _, name := range []string{"first", "second"} {
			s.independent(name, func(a *actor, _ *actorMemory) {
				recorder := a.NewRecorder(name)
				a.Go(name, func(p *proc) {
					pv, _ := s.Store().Volumes.Get("a")
					recorder.Event(p, pv, corev1.EventTypeNormal, "Reason", name)
				})
			})
		}
		s.idles()
		s.run.Ordered = true
		s.user(func() {
			s.Advance(3 * pause)
			for _, event := range s.Store().Events.List() {
				s.note("%s", event.Message)
			}
		})
	}, change: traced},
	{name: "the objects of Events", outcomes: 3, build: func(s *fixture) {
		s.independent("emitter", func(a *actor, _ *actorMemory) {
			recorder, view := a.NewRecorder("emitter"), engine.NewInformer(a, s.Store().Nodes)
			a.Go("emit", func(p *proc) {
				if n, ok := view.Get("n"); ok {
					recorder.Event(p, n, corev1.EventTypeNormal, "Reason", "text")
				}
			})
		})
		s.idles()
		s.run.Ordered = true
		s.user(func() {
			_, _ = s.API().Nodes.Delete(s.User(), "n", api.DeleteOptions{})
			s.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
			s.Advance(3 * pause)
			for _, event := range s.Store().Events.List() {
				s.note("%s", event.InvolvedObject.UID)
			}
		})
	}, change: traced},
	{name: "the failing call", outcomes: 2, build: func(s *fixture) {
		s.run.Injects = true
		s.does("first", func(p *proc) { labelNode(p, "1") })
		s.does("second", func(p *proc) { label(p, "a", "1") })
	}, change: func(cfg *engine.Config) {
		n := 0
		cfg.Injector = engine.InjectorFunc(func(api.Call) (f api.Fault) {
			if n++; n == 1 {
				f.Err = errors.New("no luck")
			}
			return f
		})
	}},
	{name: "the calls that were made", outcomes: 2, build: func(s *fixture) {
		s.run.Injects = true
		s.does("first", func(p *proc) { labelNode(p, "1") })
		s.does("second", func(p *proc) { label(p, "a", "1") })
		s.independent("third", func(a *actor, _ *actorMemory) {
			a.After(pause/2, "idle", func(*proc) {})
			a.After(pause, "third", func(p *proc) { label(p, "b", "1") })
		})
	}, change: func(cfg *engine.Config) {
		last := ""
		cfg.Injector = engine.InjectorFunc(func(c api.Call) (f api.Fault) {
			if c.Actor == "third" && last == "first" {
				f.Err = errors.New("no luck")
			}
			last = c.Actor
			return f
		})
	}},
	{name: "an actor that crashes during a call", outcomes: 2, build: func(s *fixture) {
		s.run.Injects = true
		s.independent("crasher", func(a *actor, _ *actorMemory) {
			if a.Lives() > 1 {
				return
			}
			a.Go("crash", func(p *proc) { labelNode(p, "1") })
			a.Go("label", func(p *proc) { label(p, "b", "1") })
		})
	}, change: crashing},
	{name: "a volume that makes the controller a dependent actor", outcomes: 2, build: func(s *fixture) {
		s.independent(actors.PersistentVolume, func(a *actor, _ *actorMemory) {
			a.After(pause, "read", func(p *proc) {
				seen := s.labelOf("a")
				p.Sleep(pause)
				label(p, "c", "saw"+seen)
			})
		})
		s.independent("writer", func(a *actor, _ *actorMemory) { a.After(pause, "write", func(p *proc) { label(p, "a", "1") }) })
		s.does("admin", func(p *proc) {
			pv := fake.Volume("d", "1Gi")
			pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRecycle
			_, _ = p.API().Volumes.Create(p, pv)
		})
	}},
	{name: "a timer that is stopped when it is due", outcomes: 2, build: func(s *fixture) {
		s.independent("timer", func(a *actor, _ *actorMemory) {
			t := a.After(pause, "late", func(p *proc) { label(p, "a", "1") })
			a.After(pause, "stop", func(*proc) { t.Stop() })
		})
	}},
}
