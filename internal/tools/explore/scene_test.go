package explore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/trace"
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
					fmt.Fprintf(&out, "%s %v\n", api.RefTo(obj), obj.GetLabels())
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

func (s *scene) create(objs ...api.Object) {
	for _, obj := range objs {
		_, err := s.API().Create(s.User(), obj, api.CreateOptions{})
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
	_, _ = p.API().Volumes.Patch(p, name, patch, api.Main)
}

func labelNode(p *proc, value string) {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"x":%q}}}`, value)
	_, _ = p.API().Nodes.Patch(p, "n", patch, api.Main)
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
	_ = p.Backend(api.Call{Target: "disk", Verb: "Create", Key: key}, 0, func() error {
		s.calls = append(s.calls, key)
		n = len(s.calls)
		return nil
	})
	return n
}

func lastCalls(s *scene) string { return strings.Join(s.calls, ",") }

// staged is a scene that has something in it which a state or a footprint needs, with how many outcomes it has.
type staged struct {
	name     string
	outcomes int
	build    func(s *scene)
	change   func(*engine.Config)
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

func traced(cfg *engine.Config) { cfg.Trace = &trace.Trace{} }

func crashing(cfg *engine.Config) {
	cfg.Injector = api.InjectorFunc(func(c api.Call) api.Fault {
		return api.Fault{Crash: c.Kind == string(api.Node), Restart: pause}
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
	for _, tt := range slices.Concat(scenesOfReads, scenesOfEvents, scenesOfDeliveries, scenesOfQueues, scenesOfPast, scenesOfLives, scenesOfVersions) {
		t.Run(tt.name, func(t *testing.T) {
			var change []func(*engine.Config)
			if tt.change != nil {
				change = append(change, tt.change)
			}
			w := stage(t, tt.build, change...)
			all, complete := exploresAll(t, w, searches(100, 3000))
			if !complete {
				// There are more orders than a default run tries: compare with the reduced exploration alone.
				require.False(t, *deep)
				x, err := Exhaustive(w, Options{})
				require.NoError(t, err)
				require.True(t, x.Finished)
				all = found(x)
			}
			require.Len(t, all, tt.outcomes, strings.Join(all, "\n\n"))
		})
	}
}
