package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/volsim/volsim/api"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// counted is the number of queued events that Settle has to wait for.
func (e *Engine) counted() int {
	n := 0
	for _, events := range [][]event{e.ready.all(), e.timers.events} {
		for _, ev := range events {
			if t, ok := ev.task.(*Timer); ok && t.stopped || ev.background {
				continue
			}
			n++
		}
	}
	return n
}

// chaos is actors that use all that the engine has, at random.
type chaos struct {
	e      *Engine
	rng    *rand.Rand
	actors []*Actor
	signal Signal
	timers []*Timer
	events int
}

func (c *chaos) start(a *Actor) {
	rng := c.rng
	recorder := a.NewRecorder(a.Name())
	operations := a.NewNestedOperations()
	loop := a.NewTicker(TickerConfig{Name: "loop", Period: 7, Pass: func(p *Process) { p.Sleep(time.Duration(rng.IntN(12))) }})
	var queue *Queue
	queue = a.NewQueue(QueueConfig{Name: "queue", Workers: 2, Limiter: NewLimiter(3, 100, 0, 0), Sync: func(p *Process, key string) error {
		for range rng.IntN(3) {
			c.act(p, queue, loop, operations, recorder)
		}
		if rng.IntN(3) == 0 {
			return errors.New("again")
		}
		return nil
	}})
	NewInformer(a, c.e.store.Nodes).Handle(Handler[*corev1.Node]{
		Add:    func(n *corev1.Node) { queue.Add(n.Name) },
		Delete: func(n *corev1.Node) { queue.AddAfter(n.Name, 2) },
	})
	a.OnStop(func() { c.cancel() })
	a.Go("begin", func(p *Process) {
		// A process that dies leaves timers behind.
		defer func() { c.timers = append(c.timers, a.After(5, "left behind", func(*Process) {})) }()
		c.act(p, queue, loop, operations, recorder)
	})
}

// cancel stops some timer, whether it is still there or not.
func (c *chaos) cancel() {
	if len(c.timers) > 0 {
		c.timers[c.rng.IntN(len(c.timers))].Stop()
	}
}

func (c *chaos) act(p *Process, queue *Queue, loop *Ticker, operations *NestedOperations, recorder *Recorder) {
	a, rng := p.Actor(), c.rng
	d := time.Duration(rng.IntN(6))
	name := fmt.Sprint("n", rng.IntN(4))
	switch rng.IntN(14) {
	case 0:
		p.Sleep(d)
	case 1:
		queue.Add(name)
	case 2:
		queue.AddAfter(name, d)
	case 3:
		loop.ArmBackground()
	case 4:
		_ = operations.Run(OperationKey{Volume: name}, name, func(p *Process) error {
			p.Sleep(d)
			if d == 3 {
				panic("broken")
			}
			c.signal.Broadcast()
			return nil
		})
	case 5:
		_, _ = p.API().Nodes.Create(p, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	case 6:
		if n, ok := c.e.store.Nodes.Lookup(name); ok {
			recorder.Event(p, n, corev1.EventTypeNormal, "Reason", "text")
		}
	case 7:
		c.timers = append(c.timers, a.After(d, "timer", func(p *Process) { p.Sleep(d) }), a.Background(d, "background", func(*Process) {}))
	case 8:
		c.cancel()
	case 9:
		c.signal.Wait(p, d)
	case 10:
		c.signal.Broadcast()
	case 11:
		other := c.actors[rng.IntN(len(c.actors))]
		other.Crash()
		if rng.IntN(2) == 0 {
			other.Start()
		}
	case 12:
		for _, other := range c.actors {
			other.Start()
		}
	case 13:
		_ = p.Backend(api.Call{Target: "backend"}, d, func() error { return nil })
	}
}

// After each event of any run, Settle waits for what is queued, and for nothing else.
func TestWaitingIsCounted(t *testing.T) {
	events := 0
	for seed := range uint64(200) {
		c := &chaos{rng: rand.New(rand.NewPCG(seed, 0))}
		cfg := Config{Seed: int64(seed), Lag: map[string]time.Duration{"a1": 3}, Injector: InjectorFunc(func(api.Call) api.Fault {
			switch c.rng.IntN(20) {
			case 0:
				return api.Fault{Crash: true, Effect: c.rng.IntN(2) == 0, Restart: time.Duration(c.rng.IntN(10))}
			case 1:
				return api.Fault{Delay: 2, Err: errors.New("injected"), Effect: c.rng.IntN(2) == 0}
			}
			return api.Fault{}
		})}
		if seed%2 == 0 {
			cfg.Latency = 1
		}
		e, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		c.e = e
		for i := range 3 {
			a, err := e.NewActor(fmt.Sprint("a", i), func(a *Actor) { c.start(a) })
			if err != nil {
				t.Fatal(err)
			}
			c.actors = append(c.actors, a)
		}
		e.AfterEvent(func() {
			if got := e.counted(); got != e.waiting {
				t.Fatalf("seed %d, event %d: %d events keep Settle going, want %d", seed, c.events, e.waiting, got)
			}
			if e.running != nil {
				t.Fatalf("seed %d, event %d: %v still runs", seed, c.events, e.running)
			}
			for _, a := range e.actors {
				for slot, p := range a.procs {
					if p.slot != slot || p.actor != a || p.dead || !a.alive {
						t.Fatalf("seed %d, event %d: %s has a process out of place", seed, c.events, a.name)
					}
				}
			}
			c.events++
		})
		for range 200 {
			if e.Step() {
				continue
			}
			for _, a := range c.actors {
				a.Crash()
				a.Start()
			}
		}
		events += c.events
		e.Close()
		if got := e.counted(); got != e.waiting {
			t.Errorf("seed %d: %d events keep Settle going after Close, want %d", seed, e.waiting, got)
		}
	}
	if events < 10_000 {
		t.Errorf("only %d events in all runs: they end too soon to show anything", events)
	}
}
