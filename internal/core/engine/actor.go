package engine

import (
	"fmt"
	"time"

	"github.com/volsim/volsim/trace"
)

// Actor is one component of the control plane: a controller, a kubelet, a sidecar. Its memory is lost when it crashes; the API
// and the disks stay. All its processes, timers, queues and informers belong to one life of it.
type Actor struct {
	engine *Engine
	name   string
	start  func(*Actor)
	alive  bool
	lives  int
	procs  []*Proc
	stops  []func()
	views  []View
	queues []*Queue
	memory []any // see Keeps
}

// NewActor adds an actor and starts it: start builds its state from nothing, here and after each crash. Names are unique.
func (e *Engine) NewActor(name string, start func(*Actor)) (*Actor, error) {
	for _, a := range e.actors {
		if a.name == name {
			return nil, fmt.Errorf("engine: there is an actor %q already", name)
		}
	}
	a := &Actor{engine: e, name: name, start: start}
	e.actors = append(e.actors, a)
	a.Start()
	return a, nil
}

// Actors lists all actors in the order in which they were added.
func (e *Engine) Actors() []*Actor { return append([]*Actor(nil), e.actors...) }

// Actor finds an actor by name.
func (e *Engine) Actor(name string) (*Actor, bool) {
	for _, a := range e.actors {
		if a.name == name {
			return a, true
		}
	}
	return nil, false
}

// Name is the name the actor was added under.
func (a *Actor) Name() string { return a.name }

// Engine is where the actor lives.
func (a *Actor) Engine() *Engine { return a.engine }

// Alive reports whether the actor runs.
func (a *Actor) Alive() bool { return a.alive }

// Start starts an actor that is not running; a running one stays as it is.
func (a *Actor) Start() {
	if a.alive {
		return
	}
	a.alive = true
	a.lives++
	a.engine.traceActor(a.name, trace.Started)
	a.start(a)
}

// Crash ends the actor at once, wherever it is: its processes do not come back, what it kept in memory is gone.
// A crashed actor stays down until Start. Called from within one of the actor's own processes, Crash does not return.
func (a *Actor) Crash() {
	self := a.engine.running
	if self == nil || self.actor != a || self.dead {
		a.crash(nil)
		return
	}
	a.crash(self)
	panic(killed{})
}

// crash ends the actor. self is the process that asks for it, which ends itself.
func (a *Actor) crash(self *Proc) {
	if !a.alive {
		return
	}
	a.engine.traceActor(a.name, trace.Crashed)
	a.end(self)
}

// end ends this life of the actor.
func (a *Actor) end(self *Proc) {
	a.alive = false // from here on nothing is scheduled for it
	procs := a.procs
	a.procs = nil
	for _, p := range procs {
		p.dead = true
	}
	for _, p := range procs {
		if p != self {
			p.kill()
		}
	}
	for _, stop := range a.stops {
		stop()
	}
	a.stops = nil
	a.views, a.queues, a.memory = nil, nil, nil
	mine := func(ev event) bool {
		if ev.owner != a {
			return false
		}
		if t, ok := ev.task.(*Timer); ok {
			if t.stopped {
				return true // not counted any more
			}
			t.stopped = true // whoever still holds it must not count it down again
		}
		if !ev.background {
			a.engine.waiting--
		}
		return true
	}
	a.engine.ready.drop(mine)
	a.engine.timers.drop(mine)
}

// OnStop has fn called when this life of the actor ends.
func (a *Actor) OnStop(fn func()) { a.stops = append(a.stops, fn) }

// restarting starts an actor after a crash, unless it has lived again since.
type restarting struct {
	actor *Actor
	lives int
}

func (r *restarting) run() {
	if r.actor.lives == r.lives {
		r.actor.Start()
	}
}
func (r *restarting) String() string { return "restart of " + r.actor.name }

// Go starts a process at this instant, behind what is already due.
func (a *Actor) Go(name string, fn func(*Proc)) { a.After(0, name, fn) }

// After starts a process after d.
func (a *Actor) After(d time.Duration, name string, fn func(*Proc)) *Timer {
	return a.timer(d, name, false, func() { a.spawn(name, fn) })
}

// Background is After for work that finds the same again unless something happens: it does not keep Settle going.
func (a *Actor) Background(d time.Duration, name string, fn func(*Proc)) *Timer {
	return a.timer(d, name, true, func() { a.spawn(name, fn) })
}

// Timer is something that will happen.
type Timer struct {
	engine     *Engine
	name       string
	fn         func()
	cause      uint64 // the process that asked for it
	background bool
	stopped    bool
	fired      bool
}

func (a *Actor) timer(d time.Duration, name string, background bool, fn func()) *Timer {
	t := &Timer{engine: a.engine, name: name, fn: fn, background: background}
	if by := a.engine.running; by != nil {
		t.cause = by.id
	}
	// A dead actor gets no timer.
	t.stopped = !a.engine.schedule(d, t, a, background)
	return t
}

func (t *Timer) run() {
	t.fired = true
	t.engine.cause = t.cause
	t.fn()
}

// String is what the timer is for.
func (t *Timer) String() string { return t.name }

// Stop keeps the timer from firing. It reports whether that was still possible.
func (t *Timer) Stop() bool {
	if t.stopped || t.fired {
		t.engine.answers(0)
		return false
	}
	t.engine.answers(1)
	t.stopped = true
	if !t.background {
		t.engine.waiting--
	}
	return true
}
