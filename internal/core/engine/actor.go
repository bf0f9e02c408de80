package engine

import (
	"fmt"
	"time"

	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/trace"
)

// Actor is one component of the control plane: a controller, a kubelet, a sidecar. A crash loses its memory; the API objects and the
// disks stay. Its processes, timers, queues and informers belong to one life of it and end with that life.
type Actor struct {
	engine *Engine
	name   string
	index  int // among the actors of the engine
	start  func(*Actor)
	alive  bool
	lives  int
	procs  []*Process
	stops  []func()
	views  []View
	queues []*Queue
	memory []any // see Keeps
	// crashes is the number of crashes by faults at crashedAt; see restartPause.
	crashes   int
	crashedAt time.Duration
	// See skipping.go.
	idle     []*Ticker // those with idle passes
	isolated bool
}

// NewActor adds an actor and starts it. The engine calls start here and after each crash; it builds the actor's state from nothing. Names
// are unique.
func (e *Engine) NewActor(name string, start func(*Actor)) (*Actor, error) {
	for _, a := range e.actors {
		if a.name == name {
			return nil, fmt.Errorf("engine: there is an actor %q already", name)
		}
	}
	a := e.memory.actors.next()
	*a = Actor{engine: e, name: name, index: len(e.actors), start: start}
	e.actors = append(e.actors, a)
	e.memory.viewLists.lend(&a.views)
	e.memory.queueLists.lend(&a.queues)
	a.Start()
	e.memory.viewLists.settle(&a.views)
	e.memory.queueLists.settle(&a.queues)
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

// Engine returns the engine that runs the actor.
func (a *Actor) Engine() *Engine { return a.engine }

// Logger returns the logger of a source file of the actor; see klog.Log.
func (a *Actor) Logger(file, name string) *klog.Logger { return a.engine.log.Logger(file, name) }

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

// Crash ends the actor at once: its processes do not continue and its memory is lost. It stays down until Start. Crash does not return if
// one of the actor's own processes calls it.
func (a *Actor) Crash() {
	self := a.engine.running
	if self == nil || self.actor != a || self.dead {
		a.crash(nil)
		return
	}
	a.crash(self)
	panic(killed{})
}

// crash ends the actor. self is the process that asked for it, if it is one of the actor's own; it unwinds by itself.
func (a *Actor) crash(self *Process) {
	if !a.alive {
		return
	}
	a.engine.traceActor(a.name, trace.Crashed)
	a.end(self)
}

// end ends this life of the actor.
func (a *Actor) end(self *Process) {
	a.alive = false // nothing is scheduled for the actor from here on
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
	if a.engine.source == nil {
		a.engine.release() // the engine does not run
	}
	for _, stop := range a.stops {
		stop()
	}
	if !a.engine.closing {
		for _, view := range a.views {
			view.leave()
		}
	}
	a.stops = nil
	a.views, a.queues, a.memory, a.idle, a.isolated = nil, nil, nil, nil, false
	mine := func(ev event) bool {
		if ev.owner != a {
			return false
		}
		if t, ok := ev.task.(*Timer); ok {
			if t.stopped {
				return true // not counted any more
			}
			t.stopped = true // its holder must not count it down again
		}
		if !ev.background {
			a.engine.waiting--
		}
		return true
	}
	a.engine.ready.drop(mine)
	a.engine.passes.drop(mine)
	a.engine.timers.drop(mine)
}

// OnStop registers fn, which runs when this life of the actor ends.
func (a *Actor) OnStop(fn func()) { a.stops = append(a.stops, fn) }

// Go starts a process at this instant, behind the events that are already due.
func (a *Actor) Go(name string, fn func(*Process)) {
	if p := a.startProcess(name); p != nil {
		p.fn = fn
	}
}

// startProcess is Go for a process without code, which the caller sets. It returns nil if the actor is dead.
func (a *Actor) startProcess(name string) *Process {
	if !a.alive {
		return nil
	}
	p := a.engine.newProcess()
	p.actor, p.name = a, name
	if by := a.engine.running; by != nil {
		p.cause = by.id
	}
	a.engine.schedule(0, (*starting)(p), a, false)
	return p
}

// Views lists the informers of this life of the actor, in the order in which they were started.
func (a *Actor) Views() []View { return a.views }

// Queues lists the queues of this life of the actor, in the order in which they were made.
func (a *Actor) Queues() []*Queue { return a.queues }

// Processes lists the processes of the actor that have not ended, in no order.
func (a *Actor) Processes() []*Process { return a.procs }

// Lives is the number of starts of the actor.
func (a *Actor) Lives() int { return a.lives }

// UntilResync returns the time until informers with that resync period resync for the first time in this life. The first life counts from the
// start of the cluster: controllers of a real one start with it, and here some start with the first object that concerns them.
func (a *Actor) UntilResync(period time.Duration) time.Duration {
	if a.lives > 1 {
		return period
	}
	return period - a.Engine().Elapsed()%period
}

// Keeps registers the roots of the actor's memory in this life: pointers to the state that outlives its processes. Tools that compare
// states read all values reachable from them. The stacks of processes, informers and queues need not be registered. A field with the
// struct tag explore:"difference" is a counter of which code uses only differences within one process.
func (a *Actor) Keeps(memory ...any) { a.memory = append(a.memory, memory...) }

// Memory returns the roots that Keeps registered in this life; nil for none.
func (a *Actor) Memory() []any { return a.memory }
