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
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// fixture is a small model: the smallest one in which the reduction would miss an outcome if a state or a footprint lacked something.
type fixture struct {
	*engine.Engine
	t   *testing.T
	run *Run
	// notes are those of the user. They are not the memory of an actor.
	notes []string
	// calls are the calls that the disk has received. Actors learn of them only by calling.
	calls []string
}

type (
	actor    = engine.Actor
	proc     = engine.Process
	volume   = corev1.PersistentVolume
	informer = engine.Informer[*corev1.PersistentVolume]
)

// actorMemory is the memory of an independent actor of a fixture.
type actorMemory struct {
	Text  string
	Count int
}

// newModel makes a model of a fixture. The volumes a, b and c and the node n exist.
func newModel(t *testing.T, build func(s *fixture), change ...func(*engine.Config)) Model {
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
		s := &fixture{Engine: e, t: t, run: &Run{Engine: e}}
		s.create(fake.Volume("a", "1Gi"), fake.Volume("b", "1Gi"), fake.Volume("c", "1Gi"))
		s.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
		build(s)
		begun = true
		s.run.Report = func(failure error, choices []engine.Choice) Report {
			var out strings.Builder
			for _, kind := range kindsOfOutcome(e.Store()) {
				for _, obj := range e.Store().List(kind) {
					fmt.Fprintf(&out, "%s %v\n", api.RefTo(obj), obj.GetLabels())
				}
			}
			fmt.Fprintf(&out, "%q %v", s.notes, failure)
			var r Report
			sample := sample{Choices: choices, Outcome: Outcome(out.String())}
			sample.Violations = s.run.violations()
			r.add(sample)
			return r
		}
		if s.run.Execute == nil {
			s.run.Execute = func() error { s.Advance(3 * time.Second); return nil }
		}
		return s.run, nil
	}
}

func (s *fixture) create(objs ...api.Object) {
	for _, obj := range objs {
		_, err := s.API().Create(s.User(), obj, store.CreateOptions{})
		require.NoError(s.t, err)
	}
}

func (s *fixture) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// user sets the actions of the user.
func (s *fixture) user(fn func()) { s.run.Execute = func() error { fn(); return nil } }

// actor adds a dependent actor, independent adds an independent one with registered memory.
func (s *fixture) actor(name string, start func(a *actor)) *actor {
	a, err := s.NewActor(name, start)
	require.NoError(s.t, err)
	return a
}

func (s *fixture) independent(name string, start func(a *actor, m *actorMemory)) *actor {
	s.run.Independent = append(s.run.Independent, name)
	return s.actor(name, func(a *actor) {
		m := &actorMemory{}
		a.Keeps(m)
		start(a, m)
	})
}

// does adds an independent actor that does one thing at the start.
func (s *fixture) does(name string, fn func(p *proc)) *actor {
	return s.independent(name, func(a *actor, _ *actorMemory) { a.Go(name, fn) })
}

// pause is a time after which everything else has ended, so only the past of a state shows what happened.
const pause = time.Second

// idles adds an event at a later time, at which states are compared.
func (s *fixture) idles() {
	s.independent("idler", func(a *actor, _ *actorMemory) { a.After(2*pause, "idle", func(*proc) {}) })
}

func label(p *proc, name, value string) {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"x":%q}}}`, value)
	_, _ = p.API().Volumes.Patch(p, name, patch, api.Main)
}

func labelNode(p *proc, value string) {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"x":%q}}}`, value)
	_, _ = p.API().Nodes.Patch(p, "n", patch, api.Main)
}

func (s *fixture) labelOf(name string) string {
	pv, err := s.Store().Volumes.Get(name)
	if err != nil {
		return err.Error()
	}
	return pv.Labels["x"]
}

// call calls the disk and returns the number of calls so far.
func (s *fixture) call(p *proc, key string) (n int) {
	_ = p.Backend(api.Call{Target: "disk", Verb: "Create", Key: key}, 0, func() error {
		s.calls = append(s.calls, key)
		n = len(s.calls)
		return nil
	})
	return n
}

func lastCalls(s *fixture) string { return strings.Join(s.calls, ",") }

// smallModel is a fixture with the number of its outcomes. Its name says what a state or a footprint must contain to find them all.
type smallModel struct {
	name     string
	outcomes int
	build    func(s *fixture)
	change   func(*engine.Config)
}

// background adds an independent actor that runs before and then queues a background event, for which Settle does not wait, that labels c.
// Without before, the event is due from the beginning.
func (s *fixture) background(name string, before func(p *proc)) {
	s.independent(name, func(a *actor, _ *actorMemory) {
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

// settle notes after Settle whether the background event has run.
func (s *fixture) settle() {
	_ = s.Settle(pause)
	s.note("%s", s.labelOf("c"))
	s.Advance(pause)
}

// sees starts a process that runs fn if volume a is labeled.
func (s *fixture) sees(a *actor, fn func(p *proc)) {
	a.Go("see", func(p *proc) {
		if pv, err := p.API().Volumes.Get(p, "a"); err == nil && pv.Labels["x"] == "1" {
			fn(p)
		}
	})
}

// counted is a memory with a counter of which only differences are used.
type counted struct {
	number uint64 `explore:"difference"`
}

func (s *fixture) counting(start func(a *actor, m *counted)) {
	s.run.Independent = append(s.run.Independent, "counter")
	s.actor("counter", func(a *actor) {
		m := &counted{}
		a.Keeps(m)
		start(a, m)
	})
}

func traced(cfg *engine.Config) { cfg.Trace = &trace.Trace{} }

func crashing(cfg *engine.Config) {
	cfg.Injector = engine.InjectorFunc(func(c api.Call) api.Fault {
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

// twoViews adds an actor that remembers which of two informers delivered last.
func (s *fixture) twoViews(bool) {
	s.independent("watcher", func(a *actor, m *actorMemory) {
		q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, key string) error {
			m.Text = key
			return nil
		}})
		engine.NewInformer(a, s.Store().Volumes).Handle(engine.Handler[*volume]{Update: func(_, pv *volume) { q.Add(pv.Name) }})
		engine.NewInformer(a, s.Store().Nodes).Handle(engine.Handler[*corev1.Node]{Update: func(_, n *corev1.Node) { q.Add(n.Name) }})
		a.After(2*pause, "report", func(p *proc) { label(p, "c", m.Text) })
	})
}

// TestSmallModels checks that all ways of exploring a small model find all its outcomes.
func TestSmallModels(t *testing.T) {
	for _, tt := range slices.Concat(modelsOfReads, modelsOfEvents, modelsOfDeliveries, modelsOfQueues, modelsOfPast, modelsOfLives, modelsOfIdle,
		modelsOfVersions) {
		t.Run(tt.name, func(t *testing.T) {
			var change []func(*engine.Config)
			if tt.change != nil {
				change = append(change, tt.change)
			}
			w := newModel(t, tt.build, change...)
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
