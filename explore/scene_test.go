package explore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/engine"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/store"
)

// scene is a world of one piece: the smallest in which something would be missed if a state or a footprint did not have it in it.
type scene struct {
	*engine.Engine
	t   *testing.T
	run *Run
	// said is what the user noted. It is no memory of an actor.
	said []string
	// calls are the calls that the disk has had. Nobody is told of them but by asking.
	calls []string
}

type (
	actor    = engine.Actor
	proc     = engine.Proc
	volume   = corev1.PersistentVolume
	informer = engine.Informer[*corev1.PersistentVolume]
)

// remembered is what an actor of a scene keeps.
type remembered struct {
	Text  string
	Count int
}

// stage makes a world of a scene: the volumes a, b and c and the node n are there.
func stage(t *testing.T, build func(s *scene), change ...func(*engine.Config)) World {
	return func(choose func(n int) int) (*Run, error) {
		begun := false
		cfg := engine.Config{Choose: func(n int) int {
			if !begun || choose == nil {
				return 0
			}
			return choose(n)
		}}
		for _, fn := range change {
			fn(&cfg)
		}
		e, err := engine.New(cfg)
		if err != nil {
			return nil, err
		}
		s := &scene{Engine: e, t: t, run: &Run{Engine: e}}
		s.create(fake.Volume("a", "1Gi"), fake.Volume("b", "1Gi"), fake.Volume("c", "1Gi"))
		s.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
		build(s)
		begun = true
		s.run.Report = func(failure error, choices []engine.Choice) Report {
			var out strings.Builder
			for _, kind := range kindsOfOutcome() {
				for _, obj := range e.Store().List(kind) {
					fmt.Fprintf(&out, "%s %v\n", store.RefTo(obj), obj.GetLabels())
				}
			}
			fmt.Fprintf(&out, "%q %v", s.said, failure)
			var r Report
			sample := Sample{Choices: choices, Outcome: Outcome(out.String())}
			sample.Violations = s.run.violations()
			r.add(sample)
			return r
		}
		if s.run.Play == nil {
			s.run.Play = func() error { s.Advance(3 * time.Second); return nil }
		}
		return s.run, nil
	}
}

func (s *scene) create(objs ...store.Object) {
	for _, obj := range objs {
		_, err := s.API().Create(s.User(), obj, store.CreateOptions{})
		require.NoError(s.t, err)
	}
}

func (s *scene) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

// play is what the user does.
func (s *scene) play(fn func()) { s.run.Play = func() error { fn(); return nil } }

// actor adds an actor that is not discreet, discreet one that is and whose memory is told.
func (s *scene) actor(name string, start func(a *actor)) *actor {
	a, err := s.NewActor(name, start)
	require.NoError(s.t, err)
	return a
}

func (s *scene) discreet(name string, start func(a *actor, m *remembered)) *actor {
	s.run.Discreet = append(s.run.Discreet, name)
	return s.actor(name, func(a *actor) {
		m := &remembered{}
		a.Keeps(m)
		start(a, m)
	})
}

// does adds a discreet actor that does one thing at the beginning.
func (s *scene) does(name string, fn func(p *proc)) *actor {
	return s.discreet(name, func(a *actor, _ *remembered) { a.Go(name, fn) })
}

// does after a second, when all else is over, so that what is to be seen is in what the state has in it of the past.
const pause = time.Second

// idles has something happen at a later time, at which states are compared.
func (s *scene) idles() {
	s.discreet("idler", func(a *actor, _ *remembered) { a.After(2*pause, "idle", func(*proc) {}) })
}

func label(p *proc, name, value string) {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"x":%q}}}`, value)
	_, _ = p.API().Volumes.Patch(p, name, patch, store.Main)
}

func labelNode(p *proc, value string) {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"x":%q}}}`, value)
	_, _ = p.API().Nodes.Patch(p, "n", patch, store.Main)
}

func (s *scene) labelOf(name string) string {
	pv, err := s.Store().Volumes.Get(name)
	if err != nil {
		return err.Error()
	}
	return pv.Labels["x"]
}

// call calls the disk, and returns how many calls there were.
func (s *scene) call(p *proc, key string) (n int) {
	_ = p.Backend(engine.Call{Target: "disk", Verb: "Create", Key: key}, 0, func() error {
		s.calls = append(s.calls, key)
		n = len(s.calls)
		return nil
	})
	return n
}

func lastCalls(s *scene) string { return strings.Join(s.calls, ",") }

// scenes are the worlds, by what the state or the footprint has in it that is needed, with how many outcomes there are.
var scenes = []struct {
	name     string
	outcomes int
	build    func(s *scene)
	change   func(*engine.Config)
}{
	{name: "objects", outcomes: 2, build: func(s *scene) {
		s.does("first", func(p *proc) { label(p, "a", "1") })
		s.does("second", func(p *proc) { label(p, "a", "2") })
		s.idles()
	}},
	{name: "what the user has seen", outcomes: 2, build: func(s *scene) {
		s.does("first", func(p *proc) { label(p, "a", "1") })
		s.does("second", func(p *proc) { label(p, "a", "2") })
		s.discreet("third", func(a *actor, _ *remembered) { a.After(pause, "third", func(p *proc) { label(p, "a", "3") }) })
		s.idles()
		s.play(func() {
			s.Advance(0)
			s.say("%s", s.labelOf("a"))
			s.Advance(3 * pause)
		})
	}},
	{name: "when the user comes to act", outcomes: 2, build: func(s *scene) {
		s.does("first", func(p *proc) { label(p, "b", "1") })
		s.does("second", func(p *proc) {
			wait := pause / 4
			if pv, err := p.API().Volumes.Get(p, "b"); err == nil && pv.Labels["x"] == "1" {
				wait = pause / 2
			}
			p.Sleep(wait)
		})
		s.discreet("idler", func(a *actor, _ *remembered) { a.Background(2*pause, "idle", func(*proc) {}) })
		s.play(func() {
			_ = s.Settle(pause)
			s.say("%v", s.Now())
			// Whenever it is, the same comes at the same time.
			s.Advance(engine.DefaultStart.Add(3 * pause).Sub(s.Now()))
		})
	}},
	{name: "calls to a backend that tells nothing", outcomes: 2, build: func(s *scene) {
		s.does("first", func(p *proc) { s.call(p, "1") })
		s.does("second", func(p *proc) { s.call(p, "2") })
		s.idles()
		s.play(func() {
			s.Advance(3 * pause)
			s.say("%s", lastCalls(s))
		})
	}},
	{name: "what a call has returned", outcomes: 2, build: func(s *scene) {
		s.does("reader", func(p *proc) {
			pv, _ := p.API().Volumes.Get(p, "a")
			p.Sleep(pause)
			label(p, "b", "saw"+pv.Labels["x"])
		})
		s.does("writer", func(p *proc) { label(p, "a", "1") })
	}},
	{name: "what a list has returned", outcomes: 2, build: func(s *scene) {
		s.does("reader", func(p *proc) {
			list, _ := p.API().Volumes.List(p, "")
			p.Sleep(pause)
			label(p, "b", fmt.Sprint(len(list)))
		})
		s.does("writer", func(p *proc) { _, _ = p.API().Volumes.Create(p, fake.Volume("d", "1Gi")) })
	}},
	{name: "how a call was refused", outcomes: 3, build: func(s *scene) {
		s.does("updater", func(p *proc) {
			n, _ := p.API().Nodes.Get(p, "n")
			n = n.DeepCopy()
			n.Labels = map[string]string{"x": "mine"}
			p.Sleep(pause)
			_, err := p.API().Nodes.Update(p, n)
			p.Sleep(pause)
			label(p, "b", reason(err))
		})
		s.discreet("writer", func(a *actor, _ *remembered) {
			a.After(pause, "writer", func(p *proc) {
				labelNode(p, "1")
				_, _ = p.API().Nodes.Delete(p, "n", store.DeleteOptions{})
			})
		})
		s.discreet("idler", func(a *actor, _ *remembered) { a.After(pause*3/2, "idle", func(*proc) {}) })
	}},
	{name: "what a backend has answered, of processes that are alike", outcomes: 3, build: func(s *scene) {
		s.discreet("caller", func(a *actor, m *remembered) {
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
		s.play(func() {
			s.Advance(3 * pause)
			s.say("%s", lastCalls(s))
		})
	}},
	{name: "what was read of an informer", outcomes: 2, build: func(s *scene) {
		s.discreet("reader", func(a *actor, _ *remembered) {
			view := engine.NewInformer(a, s.Store().Volumes)
			a.Go("read", func(p *proc) {
				pv, _ := view.Get("a")
				p.Sleep(pause)
				label(p, "b", "saw"+pv.Labels["x"])
			})
		})
		s.play(func() {
			label(s.User(), "a", "1")
			s.Advance(3 * pause)
		})
	}},
	{name: "how much was read of which informer", outcomes: 4, build: func(s *scene) {
		s.discreet("reader", func(a *actor, _ *remembered) {
			// Two that see the same.
			only := func(pv *volume) bool { return pv.Name == "d" }
			one, two := engine.NewSelectiveInformer(a, s.Store().Volumes, only), engine.NewSelectiveInformer(a, s.Store().Volumes, only)
			a.Go("read", func(p *proc) {
				n, m := len(one.List()), len(two.List())
				p.Sleep(pause)
				label(p, "b", fmt.Sprint(n, "-", m))
			})
		})
		s.play(func() {
			s.create(fake.Volume("d", "1Gi"))
			s.Advance(3 * pause)
		})
	}},
	{name: "what was read of the actor's memory", outcomes: 2, build: func(s *scene) {
		s.discreet("rememberer", func(a *actor, m *remembered) {
			a.Go("read", func(p *proc) {
				text := m.Text
				p.Sleep(pause)
				label(p, "a", "saw"+text)
			})
			a.Go("write", func(p *proc) { m.Text = "1" })
		})
	}},
	{name: "what an actor remembers that is told", outcomes: 2, build: func(s *scene) {
		s.discreet("rememberer", func(a *actor, m *remembered) {
			for _, text := range []string{"1", "2"} {
				a.Go("write", func(p *proc) { m.Text = text })
			}
			a.After(pause, "read", func(p *proc) { label(p, "a", m.Text) })
		})
	}},
	{name: "what an actor remembers that is not told", outcomes: 2, build: func(s *scene) {
		s.run.Discreet = append(s.run.Discreet, "rememberer")
		s.actor("rememberer", func(a *actor) {
			memory := ""
			for _, text := range []string{"1", "2"} {
				a.Go("write", func(p *proc) { memory = text })
			}
			a.After(pause, "read", func(p *proc) { label(p, "a", memory) })
		})
	}},
	{name: "what actors have been through of which nothing is known", outcomes: 2, build: func(s *scene) {
		memory := ""
		for _, text := range []string{"1", "2"} {
			s.actor("actor-"+text, func(a *actor) {
				a.Go("write", func(p *proc) { memory += text })
			})
		}
		s.idles()
		s.play(func() {
			s.Advance(3 * pause)
			s.say("%s", memory)
		})
	}},
	{name: "what an actor of which nothing is known has seen of objects", outcomes: 2, build: func(s *scene) {
		s.actor("reader", func(a *actor) {
			a.Go("read", func(p *proc) {
				seen := s.labelOf("a")
				p.Sleep(pause)
				label(p, "b", "saw"+seen)
			})
		})
		s.does("writer", func(p *proc) { label(p, "a", "1") })
	}},
	{name: "what an actor of which nothing is known has seen of a backend", outcomes: 2, build: func(s *scene) {
		s.actor("reader", func(a *actor) {
			a.Go("read", func(p *proc) {
				seen := lastCalls(s)
				p.Sleep(pause)
				label(p, "b", "saw"+seen)
			})
		})
		s.does("caller", func(p *proc) { s.call(p, "1") })
	}},
	{name: "what an actor of which nothing is known does to a backend", outcomes: 2, build: func(s *scene) {
		s.actor("filler", func(a *actor) {
			a.Go("fill", func(p *proc) { s.calls = append(s.calls, "filled") })
		})
		s.does("caller", func(p *proc) {
			n := s.call(p, "1")
			p.Sleep(pause)
			label(p, "b", fmt.Sprint(n))
		})
	}},
	{name: "objects of a kind, to an actor of which nothing is known", outcomes: 2, build: func(s *scene) {
		s.actor("reader", func(a *actor) {
			a.Go("read", func(p *proc) {
				seen := s.Store().Volumes.Len()
				p.Sleep(pause)
				label(p, "b", fmt.Sprint(seen))
			})
		})
		s.does("writer", func(p *proc) { _, _ = p.API().Volumes.Create(p, fake.Volume("d", "1Gi")) })
	}},
	{name: "events that are alike but for what caused them", outcomes: 2, build: func(s *scene) {
		s.does("starter", func(p *proc) {
			for _, text := range []string{"1", "2"} {
				p.Actor().Go("same", func(p *proc) { label(p, "a", text) })
			}
		})
	}},
	{name: "events that are alike but for when the user caused them", outcomes: 2, build: func(s *scene) {
		a := s.discreet("actor", func(a *actor, _ *remembered) { a.After(pause/2, "idle", func(*proc) {}) })
		s.play(func() {
			a.After(2*pause, "same", func(p *proc) { label(p, "a", "1") })
			s.Advance(pause)
			a.After(pause, "same", func(p *proc) { label(p, "a", "2") })
			s.Advance(2 * pause)
		})
	}},
	{name: "events that are alike but for their place in what the user caused", outcomes: 2, build: func(s *scene) {
		a := s.discreet("actor", func(*actor, *remembered) {})
		s.play(func() {
			for _, text := range []string{"1", "2"} {
				a.Go("same", func(p *proc) { label(p, "a", text) })
			}
			s.Advance(pause)
		})
	}},
	{name: "turns of two queues", outcomes: 2, build: func(s *scene) {
		s.discreet("actor", func(a *actor, m *remembered) {
			for _, text := range []string{"1", "2"} {
				q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, _ string) error {
					m.Text = text
					return nil
				}})
				q.Add("x")
			}
			a.After(pause, "tell", func(p *proc) { label(p, "a", m.Text) })
		})
	}},
	{name: "turns of two actors", outcomes: 2, build: func(s *scene) {
		for _, text := range []string{"1", "2"} {
			s.discreet("actor-"+text, func(a *actor, _ *remembered) {
				a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, _ string) error {
					s.call(p, text)
					return nil
				}}).Add("x")
			})
		}
		s.play(func() {
			s.Advance(pause)
			s.say("%s", lastCalls(s))
		})
	}},
	{name: "two workers with a key each", outcomes: 2, build: func(s *scene) {
		s.discreet("actor", func(a *actor, m *remembered) {
			q := a.NewQueue(engine.QueueConfig{Name: "q", Workers: 2, Sync: func(p *proc, key string) error {
				p.Sleep(0)
				m.Text = key
				return nil
			}})
			q.Add("x")
			q.Add("y")
			a.After(pause, "tell", func(p *proc) { label(p, "a", m.Text) })
		})
	}},
	{name: "deliveries of two informers", outcomes: 2, build: func(s *scene) {
		s.twoViews(false)
		s.play(func() {
			label(s.User(), "a", "1")
			labelNode(s.User(), "1")
			s.Advance(3 * pause)
		})
	}},
	{name: "processes that are there from the beginning", outcomes: 2, build: func(s *scene) {
		s.discreet("sleeper", func(a *actor, _ *remembered) {
			for _, text := range []string{"1", "2"} {
				a.Go("same", func(p *proc) {
					p.Sleep(pause)
					label(p, "a", text)
				})
			}
		})
		s.Advance(0)
	}},
	{name: "when something was read", outcomes: 2, build: func(s *scene) {
		s.discreet("waiter", func(a *actor, _ *remembered) {
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
	{name: "an informer of a kind that is written later", outcomes: 2, build: func(s *scene) {
		s.twoViews(false)
		s.does("writer", func(p *proc) {
			label(p, "a", "1")
			labelNode(p, "1")
		})
	}},
	{name: "the order of changes on their way", outcomes: 2, build: func(s *scene) {
		s.discreet("watcher", func(a *actor, m *remembered) {
			q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, key string) error {
				m.Text = key
				return nil
			}})
			engine.NewInformer(a, s.Store().Volumes).Handle(engine.Handler[*volume]{Update: func(_, pv *volume) { q.Add(pv.Name) }})
			a.After(3*pause, "tell", func(p *proc) { label(p, "c", m.Text) })
		})
		s.does("first", func(p *proc) { label(p, "a", "1") })
		s.does("second", func(p *proc) { label(p, "b", "1") })
	}, change: lagging},
	{name: "when changes on their way were written", outcomes: 2, build: func(s *scene) {
		s.discreet("watcher", func(a *actor, m *remembered) {
			view := engine.NewInformer(a, s.Store().Volumes)
			a.After(3*pause/2, "look", func(p *proc) {
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
		s.discreet("idler", func(a *actor, _ *remembered) { a.After(pause*4/5, "idle", func(*proc) {}) })
	}, change: func(cfg *engine.Config) { cfg.Lag = map[string]time.Duration{"watcher": pause} }},
	{name: "a process that waits", outcomes: 2, build: func(s *scene) {
		s.discreet("waiter", func(a *actor, _ *remembered) {
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
	{name: "what an informer has told that an activity has started", outcomes: 2, build: func(s *scene) {
		s.discreet("watcher", func(a *actor, _ *remembered) {
			a.Go("watch", func(p *proc) {
				told := ""
				engine.NewInformer(a, s.Store().Volumes).Handle(engine.Handler[*volume]{Update: func(_, pv *volume) { told += pv.Name }})
				p.Sleep(2 * pause)
				label(p, "c", told)
			})
		})
		s.discreet("first", func(a *actor, _ *remembered) { a.After(pause, "first", func(p *proc) { label(p, "a", "1") }) })
		s.discreet("second", func(a *actor, _ *remembered) { a.After(pause, "second", func(p *proc) { label(p, "b", "1") }) })
	}},
	{name: "what Until waits for", outcomes: 2, build: func(s *scene) {
		s.does("first", func(p *proc) { label(p, "a", "1") })
		s.does("second", func(p *proc) {
			label(p, "b", "1")
			label(p, "b", "2")
		})
		s.play(func() {
			err := s.Until(func() bool { return s.labelOf("a") == "1" && s.labelOf("b") == "1" }, pause)
			s.say("%t", err == nil)
			s.Advance(pause)
		})
	}},
	{name: "what Until may wait for, and waits no more", outcomes: 2, build: func(s *scene) {
		s.does("first", func(p *proc) { label(p, "a", "1") })
		s.does("second", func(p *proc) {
			label(p, "b", "1")
			label(p, "b", "2")
		})
		waiting := false
		s.run.Waits = func() bool { return waiting }
		s.play(func() {
			waiting = true
			err := s.Until(func() bool { return s.labelOf("a") == "1" && s.labelOf("b") == "1" }, pause)
			waiting = false
			s.say("%t", err == nil)
			_ = s.Until(func() bool { return false }, pause)
		})
	}},
	{name: "what Step shows", outcomes: 2, build: func(s *scene) {
		s.does("first", func(p *proc) { label(p, "a", "1") })
		s.does("second", func(p *proc) { label(p, "b", "1") })
		s.play(func() {
			for range 3 {
				s.Step()
			}
			s.say("%s-%s", s.labelOf("a"), s.labelOf("b"))
			s.Advance(pause)
		})
	}},
	{name: "what Settle does not wait for", outcomes: 2, build: func(s *scene) {
		s.does("first", func(p *proc) {})
		s.background("second", func(*proc) {})
		s.play(s.settle)
	}},
	{name: "what Settle does not wait for, behind what it waits for", outcomes: 2, build: func(s *scene) {
		s.background("first", func(*proc) {})
		s.does("second", func(p *proc) {})
		s.play(s.settle)
	}},
	{name: "what Settle does not wait for, when a delivery is the last work", outcomes: 2, build: func(s *scene) {
		s.discreet("watcher", func(a *actor, _ *remembered) { engine.NewInformer(a, s.Store().Nodes) })
		s.background("second", nil)
		s.play(func() {
			labelNode(s.User(), "1")
			s.settle()
		})
	}},
	{name: "what Settle does not wait for and comes up, when a delivery is the last work", outcomes: 2, build: func(s *scene) {
		s.discreet("watcher", func(a *actor, _ *remembered) { engine.NewInformer(a, s.Store().Nodes) })
		s.background("second", func(*proc) {})
		s.play(func() {
			labelNode(s.User(), "1")
			s.settle()
		})
	}},
	{name: "a delivery that is not the first step", outcomes: 2, build: func(s *scene) {
		s.discreet("watcher", func(a *actor, _ *remembered) { engine.NewInformer(a, s.Store().Nodes) })
		s.does("writer", func(p *proc) { label(p, "b", "1") })
		s.play(func() {
			labelNode(s.User(), "1")
			s.Step()
			s.Step()
			s.say("%s", s.labelOf("b"))
			s.Advance(pause)
		})
	}},
	{name: "a delivery after the user has come to act", outcomes: 2, build: func(s *scene) {
		var view *engine.Informer[*corev1.Node]
		watcher := s.discreet("watcher", func(a *actor, _ *remembered) { view = engine.NewInformer(a, s.Store().Nodes) })
		s.does("writer", func(p *proc) { label(p, "b", "1") })
		s.play(func() {
			labelNode(s.User(), "1")
			_ = s.Until(func() bool { return s.labelOf("b") == "1" }, pause)
			watcher.Go("look", func(p *proc) {
				n, _ := view.Get("n")
				label(p, "c", "saw"+n.Labels["x"])
			})
			s.Advance(pause)
		})
	}},
	{name: "a delivery to one of whom nothing is known", outcomes: 2, build: func(s *scene) {
		s.actor("watcher", func(a *actor) {
			seen := ""
			engine.NewInformer(a, s.Store().Nodes).Handle(engine.Handler[*corev1.Node]{Update: func(_, _ *corev1.Node) { seen = s.labelOf("b") }})
			a.After(pause, "tell", func(p *proc) { label(p, "c", "saw"+seen) })
		})
		s.does("writer", func(p *proc) { label(p, "b", "1") })
		s.play(func() {
			labelNode(s.User(), "1")
			s.Advance(2 * pause)
		})
	}},
	{name: "a delivery to an informer that an activity has started", outcomes: 3, build: func(s *scene) {
		s.discreet("watcher", func(a *actor, _ *remembered) {
			a.Go("watch", func(p *proc) {
				told, before := uint64(0), p.Effects()
				engine.NewInformer(a, s.Store().Nodes).Handle(engine.Handler[*corev1.Node]{Update: func(_, _ *corev1.Node) { told = p.Effects() - before }})
				p.Sleep(2 * pause)
				label(p, "c", fmt.Sprint(told))
			})
		})
		s.discreet("writer", func(a *actor, _ *remembered) {
			a.After(pause, "writer", func(p *proc) {
				label(p, "a", "1")
				label(p, "b", "1")
			})
		})
		s.play(func() {
			s.Advance(pause / 2)
			labelNode(s.User(), "1")
			s.Advance(3 * pause)
		})
	}, change: func(cfg *engine.Config) { cfg.Lag = map[string]time.Duration{"watcher": pause / 2} }},
	{name: "the class that is the default", outcomes: 2, build: func(s *scene) {
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
		s.play(func() {
			s.Advance(pause)
			for _, pvc := range s.Store().Claims.List() {
				s.say("%v", pvc.Spec.StorageClassName != nil)
			}
		})
	}},
	{name: "names that are made", outcomes: 2, build: func(s *scene) {
		s.does("creator", func(p *proc) {
			_, _ = p.API().Nodes.Create(p, &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "n-"}})
		})
		s.does("writer", func(p *proc) { label(p, "a", "1") })
	}},
	{name: "an informer of a kind of which there is nothing yet", outcomes: 2, build: func(s *scene) {
		s.discreet("watcher", func(a *actor, m *remembered) {
			q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, key string) error {
				m.Text = key
				return nil
			}})
			engine.NewInformer(a, s.Store().Volumes).Handle(engine.Handler[*volume]{Update: func(_, pv *volume) { q.Add(pv.Name) }})
			engine.NewInformer(a, s.Store().Claims).Handle(engine.Handler[*corev1.PersistentVolumeClaim]{Add: func(*corev1.PersistentVolumeClaim) { q.Add("claim") }})
			a.After(2*pause, "tell", func(p *proc) { label(p, "c", m.Text) })
		})
		s.does("writer", func(p *proc) {
			label(p, "a", "1")
			_, _ = p.API().Claims.Create(p, fake.Claim("d", "1Gi"))
		})
	}},
	{name: "which call fails, of processes that are alike", outcomes: 2, build: func(s *scene) {
		s.run.Injects = true
		s.discreet("caller", func(a *actor, m *remembered) {
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
		cfg.Injector = engine.InjectorFunc(func(engine.Call) (f engine.Fault) {
			if n++; n == 1 {
				f.Err = errors.New("no luck")
			}
			return f
		})
	}},
	{name: "a key that comes again", outcomes: 2, build: func(s *scene) {
		s.discreet("watcher", func(a *actor, m *remembered) {
			q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, key string) error {
				m.Count++
				return nil
			}})
			engine.NewInformer(a, s.Store().Nodes).Handle(engine.Handler[*corev1.Node]{Update: func(_, n *corev1.Node) { q.Add(n.Name) }})
			a.After(pause, "tell", func(p *proc) { label(p, "c", fmt.Sprint(m.Count)) })
		})
		s.play(func() {
			labelNode(s.User(), "1")
			labelNode(s.User(), "2")
			s.Advance(2 * pause)
		})
	}},
	{name: "how long a queue is", outcomes: 2, build: func(s *scene) {
		s.discreet("watcher", func(a *actor, _ *remembered) {
			q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(*proc, string) error { return nil }})
			engine.NewInformer(a, s.Store().Nodes).Handle(engine.Handler[*corev1.Node]{Update: func(_, n *corev1.Node) { q.Add(n.Name) }})
			a.Go("look", func(p *proc) {
				n := q.Len()
				p.Sleep(pause)
				label(p, "c", fmt.Sprint(n))
			})
		})
		s.play(func() {
			labelNode(s.User(), "1")
			s.Advance(2 * pause)
		})
	}},
	{name: "whether a timer could be stopped", outcomes: 2, build: func(s *scene) {
		s.discreet("stopper", func(a *actor, _ *remembered) {
			a.Go("stop", func(p *proc) {
				t := a.After(pause, "nothing", func(*proc) {})
				p.Sleep(pause)
				stopped := t.Stop()
				p.Sleep(pause)
				label(p, "a", fmt.Sprint(stopped))
			})
		})
	}},
	{name: "for how long a key was put off", outcomes: 2, build: func(s *scene) {
		s.discreet("worker", func(a *actor, m *remembered) {
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
	{name: "which activity comes of what was asked for", outcomes: 2, build: func(s *scene) {
		s.discreet("asker", func(a *actor, _ *remembered) {
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
	{name: "the order of keys", outcomes: 2, build: func(s *scene) {
		s.discreet("worker", func(a *actor, m *remembered) {
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
			a.After(4*pause, "tell", func(p *proc) { label(p, "a", m.Text) })
		})
		s.play(func() { s.Advance(5 * pause) })
	}},
	{name: "a key that is added while it is worked on", outcomes: 2, build: func(s *scene) {
		s.discreet("worker", func(a *actor, m *remembered) {
			q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, key string) error {
				p.Sleep(pause)
				m.Count++
				return nil
			}})
			q.Add("x")
			a.Go("add", func(p *proc) { q.Add("x") })
			a.After(pause/2, "idle", func(*proc) {})
			a.After(4*pause, "tell", func(p *proc) { label(p, "a", fmt.Sprint(m.Count)) })
		})
		s.play(func() { s.Advance(5 * pause) })
	}},
	{name: "how often a key has failed", outcomes: 2, build: func(s *scene) {
		s.discreet("worker", func(a *actor, m *remembered) {
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
	{name: "which key has failed", outcomes: 2, build: func(s *scene) {
		s.discreet("worker", func(a *actor, m *remembered) {
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
		s.play(func() { s.Advance(4 * time.Millisecond) })
	}},
	{name: "what is left of the bucket of a queue", outcomes: 2, build: func(s *scene) {
		s.discreet("worker", func(a *actor, m *remembered) {
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
	{name: "the version of a claim that a volume names", outcomes: 2, build: func(s *scene) {
		s.create(fake.Claim("d", "1Gi"))
		s.does("binder", func(p *proc) {
			pvc, err := p.API().Claims.Get(p, "default/d")
			require.NoError(s.t, err)
			pv, _ := p.API().Volumes.Get(p, "a")
			pv = pv.DeepCopy()
			pv.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "d", UID: pvc.UID, ResourceVersion: pvc.ResourceVersion}
			_, err = p.API().Volumes.Update(p, pv)
			require.NoError(s.t, err)
		})
		s.does("writer", func(p *proc) {
			_, err := p.API().Patch(p, store.Ref{Kind: store.PersistentVolumeClaim, Key: "default/d"}, []byte(`{"metadata":{"labels":{"x":"1"}}}`), store.Main)
			require.NoError(s.t, err)
		})
		s.discreet("reader", func(a *actor, _ *remembered) {
			a.After(2*pause, "read", func(p *proc) {
				pv, _ := p.API().Volumes.Get(p, "a")
				pvc, _ := p.API().Claims.Get(p, "default/d")
				label(p, "b", fmt.Sprint(pv.Spec.ClaimRef.ResourceVersion == pvc.ResourceVersion))
			})
		})
	}},
	{name: "versions that nobody has seen in the store", outcomes: 2, build: func(s *scene) {
		s.discreet("updater", func(a *actor, _ *remembered) {
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
		s.play(func() {
			for _, text := range []string{"1", "2", "1"} {
				label(s.User(), "a", text)
			}
			s.Advance(3 * pause)
		})
	}},
	{name: "how often an object went", outcomes: 2, build: func(s *scene) {
		again := func(p *proc) {
			_, _ = p.API().Nodes.Create(p, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "d"}})
			_, _ = p.API().Nodes.Delete(p, "d", store.DeleteOptions{})
		}
		s.discreet("creator", func(a *actor, _ *remembered) {
			a.Go("create", func(p *proc) {
				again(p)
				if pv, _ := p.API().Volumes.Get(p, "a"); pv.Labels["x"] == "1" {
					again(p)
				}
			})
			a.After(pause, "look", func(p *proc) {
				n, err := p.API().Nodes.Create(p, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "d"}})
				require.NoError(s.t, err)
				label(p, "b", string(n.UID[:8]))
			})
		})
		s.does("writer", func(p *proc) { label(p, "a", "1") })
	}},
	{name: "what was done meanwhile", outcomes: 3, build: func(s *scene) {
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
	{name: "what was done since", outcomes: 2, build: func(s *scene) {
		s.discreet("counter", func(a *actor, _ *remembered) {
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
	{name: "counters of which differences are used", outcomes: 2, build: func(s *scene) {
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
	{name: "what was read of counters of which differences are used", outcomes: 2, build: func(s *scene) {
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
	{name: "what invariants have heard", outcomes: 2, build: func(s *scene) {
		s.does("first", func(p *proc) { label(p, "a", "1") })
		s.does("second", func(p *proc) { label(p, "b", "1") })
		s.idles()
		s.run.Violations = func() (all []check.Violation) {
			for e := range s.Trace().Entries() {
				if e.Type == engine.Write && e.Object.Key == "b" && e.Actor != engine.User {
					return []check.Violation{{Invariant: "order", Text: "b came first"}}
				}
				if e.Type == engine.Write && e.Object.Key == "a" && e.Actor != engine.User {
					return nil
				}
			}
			return nil
		}
	}, change: traced},
	{name: "what the user reads of the trace", outcomes: 2, build: func(s *scene) {
		s.does("first", func(p *proc) { p.Decide("RULE-1", nil, "first") })
		s.does("second", func(p *proc) { p.Decide("RULE-1", nil, "second") })
		s.idles()
		s.run.Ordered = true
		s.play(func() {
			s.Advance(3 * pause)
			for e := range s.Trace().Entries() {
				if e.Type == engine.Decision {
					s.say("%s", e.Text)
				}
			}
		})
	}, change: traced},
	{name: "which call fails", outcomes: 2, build: func(s *scene) {
		s.run.Injects = true
		s.does("first", func(p *proc) { labelNode(p, "1") })
		s.does("second", func(p *proc) { label(p, "a", "1") })
	}, change: func(cfg *engine.Config) {
		n := 0
		cfg.Injector = engine.InjectorFunc(func(engine.Call) (f engine.Fault) {
			if n++; n == 1 {
				f.Err = errors.New("no luck")
			}
			return f
		})
	}},
	{name: "which calls were made", outcomes: 2, build: func(s *scene) {
		s.run.Injects = true
		s.does("first", func(p *proc) { labelNode(p, "1") })
		s.does("second", func(p *proc) { label(p, "a", "1") })
		s.discreet("third", func(a *actor, _ *remembered) {
			a.After(pause/2, "idle", func(*proc) {})
			a.After(pause, "third", func(p *proc) { label(p, "b", "1") })
		})
	}, change: func(cfg *engine.Config) {
		last := ""
		cfg.Injector = engine.InjectorFunc(func(c engine.Call) (f engine.Fault) {
			if c.Actor == "third" && last == "first" {
				f.Err = errors.New("no luck")
			}
			last = c.Actor
			return f
		})
	}},
	{name: "an actor that crashes within a call", outcomes: 2, build: func(s *scene) {
		s.run.Injects = true
		s.discreet("crasher", func(a *actor, _ *remembered) {
			if a.Lives() > 1 {
				return
			}
			a.Go("crash", func(p *proc) { labelNode(p, "1") })
			a.Go("label", func(p *proc) { label(p, "b", "1") })
		})
	}, change: crashing},
	{name: "a volume that has the controller break its word", outcomes: 2, build: func(s *scene) {
		s.discreet(binder.ActorName, func(a *actor, _ *remembered) {
			a.After(pause, "look", func(p *proc) {
				seen := s.labelOf("a")
				p.Sleep(pause)
				label(p, "c", "saw"+seen)
			})
		})
		s.discreet("writer", func(a *actor, _ *remembered) { a.After(pause, "write", func(p *proc) { label(p, "a", "1") }) })
		s.does("admin", func(p *proc) {
			pv := fake.Volume("d", "1Gi")
			pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRecycle
			_, _ = p.API().Volumes.Create(p, pv)
		})
	}},
	{name: "a timer that is stopped when it is due", outcomes: 2, build: func(s *scene) {
		s.discreet("timer", func(a *actor, _ *remembered) {
			t := a.After(pause, "late", func(p *proc) { label(p, "a", "1") })
			a.After(pause, "stop", func(*proc) { t.Stop() })
		})
	}},
}

// background adds a discreet actor that does something and then has something done for which Settle does not wait: it labels c. With nothing
// to do before it is due from the beginning.
func (s *scene) background(name string, before func(p *proc)) {
	s.discreet(name, func(a *actor, _ *remembered) {
		after := func() { a.Background(0, "background", func(p *proc) { label(p, "c", "1") }) }
		if before == nil {
			after()
			return
		}
		a.Go(name, func(p *proc) {
			before(p)
			after()
		})
	})
}

// settle has the user look, when the world has settled, whether background has come.
func (s *scene) settle() {
	_ = s.Settle(pause)
	s.say("%s", s.labelOf("c"))
	s.Advance(pause)
}

// sees has a process of an actor do something if volume a has been labelled.
func (s *scene) sees(a *actor, fn func(p *proc)) {
	a.Go("see", func(p *proc) {
		if pv, err := p.API().Volumes.Get(p, "a"); err == nil && pv.Labels["x"] == "1" {
			fn(p)
		}
	})
}

// counted is a memory with a counter of which only differences are used.
type counted struct{ number uint64 }

func (s *scene) counting(start func(a *actor, m *counted)) {
	s.run.Discreet = append(s.run.Discreet, "counter")
	s.actor("counter", func(a *actor) {
		m := &counted{}
		a.Keeps(m)
		start(a, m)
	})
}

func traced(cfg *engine.Config) { cfg.Trace = &engine.Trace{} }

func crashing(cfg *engine.Config) {
	cfg.Injector = engine.InjectorFunc(func(c engine.Call) engine.Fault {
		return engine.Fault{Crash: c.Kind == string(store.Node), Restart: pause}
	})
}

func lagging(cfg *engine.Config) { cfg.Lag = map[string]time.Duration{"watcher": pause} }

func reason(err error) string {
	switch {
	case err == nil:
		return "done"
	case strings.Contains(err.Error(), "not found"):
		return "gone"
	}
	return "conflict"
}

// twoViews adds an actor that remembers of which of two kinds it was told last.
func (s *scene) twoViews(bool) {
	s.discreet("watcher", func(a *actor, m *remembered) {
		q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, key string) error {
			m.Text = key
			return nil
		}})
		engine.NewInformer(a, s.Store().Volumes).Handle(engine.Handler[*volume]{Update: func(_, pv *volume) { q.Add(pv.Name) }})
		engine.NewInformer(a, s.Store().Nodes).Handle(engine.Handler[*corev1.Node]{Update: func(_, n *corev1.Node) { q.Add(n.Name) }})
		a.After(2*pause, "tell", func(p *proc) { label(p, "c", m.Text) })
	})
}

// TestScenes: of each scene everything is found that there is, in all ways of exploring it.
func TestScenes(t *testing.T) {
	differences["explore.counted.number"] = true
	defer delete(differences, "explore.counted.number")
	for _, tt := range scenes {
		t.Run(tt.name, func(t *testing.T) {
			var change []func(*engine.Config)
			if tt.change != nil {
				change = append(change, tt.change)
			}
			all, complete := exploresAll(t, stage(t, tt.build, change...), 3000)
			require.True(t, complete)
			require.Len(t, all, tt.outcomes, strings.Join(all, "\n\n"))
		})
	}
}
