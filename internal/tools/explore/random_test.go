package explore

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// memoryKind is how much an exploration knows about the memory of the actors of a random model.
type memoryKind int

const (
	registered   memoryKind = iota // independent, with memory that can be read
	unregistered                   // independent, with memory that is represented by what their code has read
	undeclared                     // dependent
)

// randomModel is a model of a few actors that do a few random things. The outcome depends on what they read and remember, and on who writes
// first.
type randomModel struct {
	seed       int64
	memoryKind memoryKind
	mode       int
	idle       bool // a third actor is idle at first
	reviewed   bool // writes are reviewed
}

// randomMemory is the memory of an actor of a random model.
type randomMemory struct {
	Notes []string
	Seen  map[string]int
	left  int // the number of writes that its queue may still make
}

func (m *randomMemory) note(format string, args ...any) {
	m.Notes = append(m.Notes, fmt.Sprintf(format, args...))
}

// countingBackend is a storage system that only counts calls.
type countingBackend struct{ calls int }

func (w randomModel) make(choose func(n int) int) (*Run, error) {
	rng := rand.New(rand.NewPCG(uint64(w.seed), 7))
	// Only an invariant can observe who wrote first.
	var order []string
	var violations []check.Violation
	trace := &trace.Trace{Sink: func(e trace.Entry) {
		if e.Type != trace.Write || !readByInvariants(e) || e.Actor == api.User {
			return
		}
		order = append(order, e.Actor)
		if len(order) == 2 && order[0] > order[1] {
			violations = []check.Violation{{Invariant: "order", Text: "the second wrote before the first"}}
		}
	}}
	e, err := engine.New(engine.Config{Choose: choose, Trace: trace})
	if err != nil {
		return nil, err
	}
	objects := []string{"a", "b"}
	for _, name := range objects {
		if _, err := e.API().Create(e.User(), fake.Volume(name, "1Gi"), store.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	if _, err := e.API().Create(e.User(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, store.CreateOptions{}); err != nil {
		return nil, err
	}
	if w.reviewed {
		e.SetAdmission(either{e})
	}
	run := &Run{Engine: e}
	backend := &countingBackend{}
	var memories []*randomMemory
	for i := range 2 {
		memory := &randomMemory{Seen: map[string]int{}, left: 1}
		memories = append(memories, memory)
		name := fmt.Sprintf("actor-%d", i)
		if w.memoryKind != undeclared {
			run.Independent = append(run.Independent, name)
		}
		steps := make([]int, 1+rng.IntN(2))
		for j := range steps {
			steps[j] = []int{0, 1, 1, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11, 11}[rng.IntN(15)]
		}
		targets := []string{objects[rng.IntN(2)], objects[rng.IntN(2)]}
		watches, works := rng.IntN(3) == 0, rng.IntN(3) == 0
		_, err := e.NewActor(name, func(a *engine.Actor) {
			if w.memoryKind == registered {
				a.Keeps(memory)
			}
			randomActor{a, memory, backend, targets}.start(steps, watches, works)
		})
		if err != nil {
			return nil, err
		}
	}
	if w.idle {
		if err := addRandomIdler(run, rng); err != nil {
			return nil, err
		}
	}
	run.Execute = func() error { return w.execute(e, targetsOf(rng)) }
	if !w.reviewed { // an invariant makes all writes depend on each other
		run.Violations = func() []check.Violation { return violations }
	}
	run.Report = func(failure error, choices []engine.Choice) Report {
		var out strings.Builder
		for _, pv := range e.Store().Volumes.List() {
			fmt.Fprintf(&out, "%s %v %v\n", pv.Name, pv.Finalizers, pv.Labels)
		}
		if n, err := e.Store().Nodes.Get("n"); err == nil {
			fmt.Fprintf(&out, "%v\n", n.Labels)
		}
		for _, m := range memories {
			fmt.Fprintf(&out, "%q %v %d\n", m.Notes, m.Seen, m.left)
		}
		fmt.Fprintf(&out, "%d calls, %v", backend.calls, failure)
		var r Report
		r.add(sample{Choices: choices, Outcome: Outcome(out.String()), Violations: run.violations()})
		return r
	}
	return run, nil
}

// addRandomIdler adds an actor that watches volumes and only remembers them, until one has several finalizers. Then it labels the node.
func addRandomIdler(run *Run, rng *rand.Rand) error {
	most := 1 + rng.IntN(3)
	wakes := func(obj api.Object) bool {
		return api.KindOf(obj) == api.PersistentVolume && len(obj.GetFinalizers()) > most
	}
	run.Idle = map[string]func(api.Object) bool{"idler": wakes}
	if rng.IntN(2) == 0 {
		run.Independent = append(run.Independent, "idler")
	}
	queued := rng.IntN(2) == 0
	_, err := run.Engine.NewActor("idler", func(a *engine.Actor) {
		seen := 0
		volumes := engine.NewInformer(a, run.Engine.Store().Volumes)
		queue := a.NewQueue(engine.QueueConfig{Name: "idle", Sync: func(p *engine.Process, key string) error {
			seen += len(volumes.List())
			if pv, ok := volumes.Get(key); ok && wakes(pv) {
				_, _ = p.API().Patch(p, api.Ref{Kind: api.Node, Key: "n"}, fmt.Appendf(nil, `{"metadata":{"labels":{"idler":"%d"}}}`, seen), api.Main)
			}
			return nil
		}})
		volumes.Handle(engine.Handler[*corev1.PersistentVolume]{Update: func(_, pv *corev1.PersistentVolume) {
			if queued || wakes(pv) {
				queue.Add(pv.Name)
			}
		}})
	})
	return err
}

func targetsOf(rng *rand.Rand) string { return []string{"a", "b"}[rng.IntN(2)] }

// execute makes a request that depends on what has happened.
func (w randomModel) execute(e *engine.Engine, target string) error {
	switch w.mode {
	case 0:
		e.Advance(0)
	case 1:
		if err := e.Settle(time.Minute); err != nil {
			return err
		}
	default:
		// It stops in the middle, when the condition becomes true.
		_ = e.Until(func() bool {
			pv, err := e.Store().Volumes.Get(target)
			return err == nil && len(pv.Finalizers) > 1
		}, time.Second)
	}
	pv, err := e.Store().Volumes.Get(target)
	if err != nil {
		return err
	}
	if len(pv.Finalizers) > 1 {
		pv = pv.DeepCopy()
		pv.Labels = map[string]string{"user": fmt.Sprint(len(pv.Finalizers))}
		if _, err := e.API().Update(e.User(), pv, api.Main, store.UpdateOptions{}); err != nil {
			return err
		}
	}
	e.Advance(2 * time.Second)
	return nil
}

type randomActor struct {
	*engine.Actor
	memory  *randomMemory
	backend *countingBackend
	targets []string
}

func (a randomActor) start(steps []int, watches, works bool) {
	// An informer multiplies the orders, so only actors that read it have one.
	var volumes engine.Informer[*corev1.PersistentVolume]
	if watches || slices.ContainsFunc(steps, func(step int) bool { return step == 1 || step == 2 || step == 5 || step == 10 }) {
		volumes = engine.NewInformer(a.Actor, a.Engine().Store().Volumes)
	}
	var queue *engine.Queue
	queue = a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *engine.Process, key string) error {
		pv, ok := volumes.Get(key)
		if !ok {
			return nil
		}
		a.memory.Seen[key] = len(pv.Finalizers)
		if works && a.memory.left > 0 && len(pv.Finalizers) > 1 {
			a.memory.left--
			return a.write(p, pv)
		}
		return nil
	}})
	if watches {
		add := func(_, pv *corev1.PersistentVolume) { queue.Add(pv.Name) }
		volumes.Handle(engine.Handler[*corev1.PersistentVolume]{Update: add})
	}
	var signal engine.Signal
	a.Go("steps", func(p *engine.Process) {
		for i, step := range steps {
			a.step(p, step, a.targets[i], volumes, queue, &signal)
		}
	})
}

// write adds a finalizer made of the actor's memory.
func (a randomActor) write(p *engine.Process, pv *corev1.PersistentVolume) error {
	pv = pv.DeepCopy()
	pv.Finalizers = append(pv.Finalizers, fmt.Sprintf("example.com/%s-%d-%d", a.Name(), len(a.memory.Notes), len(a.memory.Seen)))
	_, err := p.API().Volumes.Update(p, pv)
	if err != nil {
		a.memory.note("refused")
	}
	return nil
}

func (a randomActor) step(p *engine.Process, step int, target string, volumes engine.Informer[*corev1.PersistentVolume],
	queue *engine.Queue, signal *engine.Signal) {
	m := a.memory
	switch step {
	case 0: // reads from the API server and writes
		if pv, err := p.API().Volumes.Get(p, target); err == nil {
			_ = a.write(p, pv)
		}
	case 1: // reads from its informer and writes
		if pv, ok := volumes.Get(target); ok {
			_ = a.write(p, pv)
		}
	case 2: // remembers what its informer has
		for _, pv := range volumes.List() {
			m.Seen[pv.Name] += len(pv.Finalizers)
		}
	case 3:
		m.note("%d", len(m.Seen))
		p.Sleep(0)
		m.note("%d", len(m.Seen))
	case 4:
		a.Go("other", func(p *engine.Process) { m.note("other %d", len(m.Notes)) })
		m.note("asked")
	case 5:
		queue.Add(target)
	case 6: // a waiting process is woken by another
		a.Go("wakes", func(*engine.Process) { signal.Broadcast() })
		m.note("woken %t", signal.Wait(p, time.Second))
	case 7:
		call := api.Call{Target: "disk.example.com", Verb: "Create", Key: target}
		var n int
		_ = p.Backend(call, 0, func() error {
			a.backend.calls++
			n = a.backend.calls
			return nil
		})
		m.note("call %d", n)
	case 8: // notes whether another effect came meanwhile
		before := p.Effects()
		p.Sleep(0)
		m.note("undisturbed %t", p.Effects() == before)
	case 9:
		a.Background(0, "background", func(p *engine.Process) { m.note("background %d", len(m.Seen)) })
	case 11: // writes an object of a kind that no actor reads
		_, _ = p.API().Patch(p, api.Ref{Kind: api.Node, Key: "n"},
			fmt.Appendf(nil, `{"metadata":{"labels":{"%s":"%d"}}}`, a.Name(), len(m.Notes)), api.Main)
	case 10:
		a.After(time.Second, "later", func(p *engine.Process) {
			if pv, ok := volumes.Get(target); ok {
				_ = a.write(p, pv)
			}
		})
	}
}

// found returns the outcomes and violations of an exploration.
func found(x Exploration) (all []string) {
	for _, o := range x.Outcomes {
		all = append(all, string(o.Outcome))
	}
	for _, v := range x.Violated {
		all = append(all, "violated "+v.Invariant)
	}
	slices.Sort(all)
	return all
}

// sampled returns the outcomes and violations of runs in random orders.
func sampled(t *testing.T, w Model, seed uint64, runs int) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	rng := rand.New(rand.NewPCG(seed, 11))
	for range runs {
		run, err := w(rng.IntN)
		require.NoError(t, err)
		report := run.report(run.Execute(), nil)
		run.Engine.Close()
		for _, one := range found(Exploration{Report: report}) {
			all[one] = true
		}
	}
	return all
}

var (
	models  = flag.Int("models", 0, "number of random models in TestReductionMissesNothing; 0 is 30, and 120 with -deep")
	first   = flag.Int64("first", 0, "seed of the first of these models")
	samples = flag.Int("samples", 60, "number of random orders of each that it runs")
)

// TestReductionMissesNothing checks on random models that the reduction finds every outcome: the smallest ones are run in every order, the
// others in random orders.
func TestReductionMissesNothing(t *testing.T) {
	whole, bound := searches(60, 120), searches(300, 600)
	var inEveryOrder, finished, several, violated int
	number := *models
	if number == 0 {
		number = searches(30, 120)
	}
	if testing.Short() && number > 40 {
		number /= 3
	}
	for seed := *first; seed < *first+int64(number); seed++ {
		w := randomModel{seed: seed, mode: int(seed / 5 % 3), idle: seed%4 == 3, reviewed: seed%6 == 5,
			memoryKind: []memoryKind{registered, unregistered, registered, unregistered, undeclared}[seed%5]}
		x, err := Exhaustive(w.make, Options{MaxRuns: bound})
		require.NoError(t, err)
		if !x.Finished {
			continue
		}
		finished++
		violated += len(x.Violated)
		if len(x.Outcomes) > 1 {
			several++
		}
		if all, complete := exploresAll(t, w.make, whole); complete {
			inEveryOrder++
			require.Equal(t, all, found(x), "%+v", w)
			continue
		}
		plain, err := Exhaustive(w.make, Options{MaxRuns: 2 * bound, noReduction: true})
		require.NoError(t, err)
		if plain.Finished {
			require.Equal(t, found(plain), found(x), "%+v", w)
		}
		for one := range sampled(t, w.make, uint64(seed), *samples) {
			require.Contains(t, found(x), one, "%+v", w)
		}
	}
	t.Logf("%d finished, %d of them run in every order, %d with several outcomes, %d with a violation", finished, inEveryOrder, several,
		violated)
	require.Greater(t, finished, number/2)
	require.Greater(t, inEveryOrder, number/8)
	require.Greater(t, several, number/8)
	require.Greater(t, violated, number/20)
}
