package controller

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/internals"
)

// Controller is a controller to add to a cluster, with volsim's Cluster.AddController.
type Controller struct {
	// Name identifies the controller in the trace, in fault rules, and for Cluster.Crash and Restart. It is required, must be unique, and
	// consists of printable characters. It can be that of a controller of Kubernetes that Config.Without names.
	Name string
	// Lag is how long watch events take to reach its caches, in virtual time. The default zero is no time; negative is an error.
	Lag time.Duration
	// Start creates the caches, queues and periodic work of one life of the controller. It is required. It runs again after each crash. It
	// must not call the API server itself; queue a key instead.
	Start func(*Setup)

	populates *api.Kind // of a Populator; nil for any other
}

func init() {
	internals.AddController = func(e *engine.Engine, controller any) error { return run(e, controller.(Controller)) }
	internals.Populates = func(controller any) api.Kind {
		if kind := controller.(Controller).populates; kind != nil {
			return *kind
		}
		return ""
	}
}

// run adds the controller to the engine of a cluster and starts it.
func run(e *engine.Engine, c Controller) error {
	switch {
	case c.Name == "":
		return errors.New("add controller: Controller.Name is empty; name the controller")
	case strings.TrimSpace(c.Name) != c.Name || strings.ContainsFunc(c.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("add controller %q: Controller.Name has spaces around it, or characters that cannot be printed; remove them", c.Name)
	case c.Start == nil:
		return fmt.Errorf("add controller %q: Controller.Start is nil; give it a function", c.Name)
	case c.Lag < 0:
		return fmt.Errorf("add controller %q: Controller.Lag is %v; give zero or more", c.Name, c.Lag)
	}
	if _, ok := e.Actor(c.Name); ok {
		return fmt.Errorf("add controller %q: there is a controller with that name; choose another", c.Name)
	}
	if c.populates != nil {
		if *c.populates == "" {
			return errors.New("add controller: Populator.Kind is empty; name the kind of the data sources")
		}
		if _, err := e.Store().Other(*c.populates); err != nil {
			return fmt.Errorf("add controller %q: Populator.Kind: %w", c.Name, err)
		}
	}
	e.SetLag(c.Name, c.Lag)
	_, err := e.NewActor(c.Name, func(a *engine.Actor) {
		c.Start(&Setup{actor: a, life: a.Lives(), recorder: a.NewRecorder(c.Name)})
	})
	if err != nil {
		return fmt.Errorf("add controller %q: %w", c.Name, err)
	}
	return nil
}

// Setup creates the parts of one life of a controller, which ends with a crash. Afterwards it, its queues and its caches are without effect:
// nothing runs or is queued, and nothing is found.
type Setup struct {
	actor    *engine.Actor
	life     int // of the actor
	recorder *engine.Recorder
}

// ended reports whether this life of the controller is over.
func (s *Setup) ended() bool { return !s.actor.Alive() || s.actor.Lives() != s.life }

// Every runs fn after each period; the period begins anew when fn returns. It is background work, for which Settle does not wait.
// It panics unless the period is positive, and if fn is nil.
func (s *Setup) Every(period time.Duration, fn func(*Process)) {
	if period <= 0 {
		panic(fmt.Sprintf("controller %q: Every(%v): the period must be positive", s.actor.Name(), period))
	}
	if fn == nil {
		panic(fmt.Sprintf("controller %q: Every(%v): the function is nil", s.actor.Name(), period))
	}
	if s.ended() {
		return
	}
	s.actor.Background(period, "periodic work", func(proc *engine.Process) {
		p := s.process(proc)
		defer p.end()
		fn(p)
		s.Every(period, fn)
	})
}

// NewQueue returns a work queue with one worker. sync works on one key at a time. When it fails, the key is queued again after
// a delay of 5 ms that doubles with each failure, up to 1000 s. It panics if sync is nil.
func (s *Setup) NewQueue(name string, sync func(p *Process, key string) error) *Queue {
	if sync == nil {
		panic(fmt.Sprintf("controller %q: NewQueue(%q): the function is nil", s.actor.Name(), name))
	}
	q := &Queue{setup: s}
	if s.ended() {
		return q
	}
	q.queue = s.actor.NewQueue(engine.QueueConfig{Name: name, Sync: func(proc *engine.Process, key string) error {
		p := s.process(proc)
		defer p.end()
		return sync(p, key)
	}})
	return q
}

func (s *Setup) process(p *engine.Process) *Process { return &Process{proc: p, setup: s} }

// Queue is a work queue. A key that is queued twice before the worker takes it is synced once.
type Queue struct {
	setup *Setup
	queue *engine.Queue // nil if the life had ended before
}

// Add queues a key.
func (q *Queue) Add(key string) { q.AddAfter(key, 0) }

// AddAfter queues a key after the delay.
func (q *Queue) AddAfter(key string, delay time.Duration) {
	if !q.setup.ended() {
		q.queue.AddAfter(key, delay)
	}
}

// Process is one sequence of steps of a controller: the sync of a key, or one run of periodic work. It may wait in the middle; others
// run meanwhile. It ends when the function that gets it returns. Afterwards, calls with it are errors, and its methods do nothing.
type Process struct {
	proc  *engine.Process
	setup *Setup
	ended bool
}

func (p *Process) end() { p.ended = true }

// check returns an error for a call after the end of the process.
func (p *Process) check(verb string) error {
	if p.ended {
		return fmt.Errorf("%s: this Process of controller %q has ended; use the one that the function gets", verb, p.setup.actor.Name())
	}
	return nil
}

// Now returns the virtual time.
func (p *Process) Now() time.Time { return p.setup.actor.Engine().Now() }

// Sleep waits in virtual time.
func (p *Process) Sleep(d time.Duration) {
	if !p.ended {
		p.proc.Sleep(d)
	}
}

// Event emits a Kubernetes Event about the object. eventType is Normal or Warning; text may have fmt verbs for args.
func (p *Process) Event(obj api.Object, eventType, reason, text string, args ...any) {
	if p.ended {
		return
	}
	p.setup.recorder.Event(p.proc, obj, eventType, reason, text, args...)
}

// Decide records a decision about the object in the trace, with a text that may have fmt verbs for args. Record a decision before the
// writes that it causes.
func (p *Process) Decide(obj api.Object, text string, args ...any) {
	if !p.ended {
		p.proc.Decide("", obj, text, args...)
	}
}
