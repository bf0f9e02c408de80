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

const (
	// promptRestarts is how often an actor that crashes at one instant restarts at that instant.
	promptRestarts = 20
	// slowRestart is the pause before later restarts. Without it an actor that crashes at its first call would do so for ever at one instant.
	slowRestart = time.Second
)

// restartPause counts a crash by a fault, and returns the least pause before the restart.
func (a *Actor) restartPause() time.Duration {
	if now := a.engine.now; a.crashedAt != now {
		a.crashedAt, a.crashes = now, 0
	}
	if a.crashes++; a.crashes > promptRestarts {
		return slowRestart
	}
	return 0
}

// restarting starts an actor after a crash, unless it was started meanwhile.
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

// After starts a process after d.
func (a *Actor) After(d time.Duration, name string, fn func(*Process)) *Timer {
	return a.arm(d, &Timer{name: name, process: fn})
}

// Background is After for work that repeats itself without effect unless something changes: Settle does not wait for it.
func (a *Actor) Background(d time.Duration, name string, fn func(*Process)) *Timer {
	return a.arm(d, &Timer{name: name, process: fn, background: true})
}

// Timer is a scheduled event.
type Timer struct {
	actor *Actor
	name  string
	// What it does is in one of these: it starts a process, calls a function, ends a wait, or adds a key to a queue.
	process func(*Process)
	call    func()
	wait    *waiter
	retry   *delayed

	cause      uint64 // the process that asked for it
	rank       uint8  // of a pass
	background bool
	stopped    bool
	fired      bool
}

// arm schedules the timer of an actor after d.
func (a *Actor) arm(d time.Duration, t *Timer) *Timer {
	t.actor = a
	if by := a.engine.running; by != nil {
		t.cause = by.id
	}
	// A dead actor gets no timer.
	t.stopped = !a.engine.enqueue(d, &event{task: t, owner: a, background: t.background, rank: t.rank})
	return t
}

func (t *Timer) run() {
	t.fired = true
	t.actor.engine.cause = t.cause
	switch {
	case t.process != nil:
		t.actor.spawn(t.name, t.process)
	case t.call != nil:
		t.call()
	case t.retry != nil:
		t.retry.due()
	default:
		t.wait.timeout()
	}
}

// String is the purpose of the timer.
func (t *Timer) String() string {
	if t.wait != nil {
		return t.wait.proc.name + ", tired of waiting"
	}
	if t.retry != nil {
		return t.retry.queue.name + " retry of " + t.retry.key
	}
	return t.name
}

// Stop prevents the timer from firing. It reports whether it came in time.
func (t *Timer) Stop() bool {
	e := t.actor.engine
	if t.stopped || t.fired {
		e.answers(0)
		return false
	}
	e.answers(1)
	t.stopped = true
	if !t.background {
		e.waiting--
	}
	e.dropStopped()
	return true
}
