package engine

import (
	"time"

	"github.com/volsim/volsim/api"
)

// Process is one sequential activity of an actor, such as a worker on one key, an operation, or a pass of a loop. Its code is
// straight-line code; whenever it calls the API or waits, other processes may run.
type Process struct {
	engine *Engine
	actor  *Actor
	name   string
	fn     func(*Process) // its code, or the rest of it; a worker and an operation have the fields below instead
	queue  *Queue
	item   *queued
	// These are of an operation. After Process.Then, the next step is then(p, thenErr) in place of code.
	operation *operation
	of        *NestedOperations
	code      func(*Process) error
	then      func(*Process, error) error
	thenErr   error
	yields    uint8 // see YieldToPasses
	// delay and look: see YieldUntil.
	delay  time.Duration
	look   func(*Process) (time.Duration, error)
	co     *coroutine // on which it runs
	parked bool       // it waits
	inline bool       // the user's: never waits
	dead   bool       // its actor crashed: it may only unwind
	// calls counts the beginnings and the ends of calls: it is odd during a call.
	calls  uint32
	slot   int        // index in actor.procs
	object api.Ref    // of a worker: the object of the key
	about  api.Object // see WorksOn
	id     uint64
	cause  uint64                // process that asked for this one, zero for none
	waits  waiter                // see Signal.Wait
	next   func(woken bool) bool // see WaitSteps
	// outcome takes the place of next and fn of a worker; see EndWhen.
	outcome   Outcome
	stackless bool // it waits without a stack; see WaitThen
}

// killed unwinds the stack of a process whose actor crashed.
type killed struct{}

// main runs the code of the process, or the rest of it after WaitThen.
func (p *Process) main() {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(killed); !ok {
				panic(r)
			}
		}
	}()
	p.step()
	for p.stackless && p.observed() {
		next, s := p.next, p.waits.signal
		if p.outcome != nil {
			next = func(bool) bool { return p.known(s) }
		}
		p.stackless, p.next = false, nil
		if next != nil {
			p.WaitSteps(next)
		} else {
			p.park()
		}
		p.step()
	}
}

func (p *Process) step() {
	switch {
	case p.fn != nil:
		p.fn(p)
	case p.outcome != nil:
		p.queue.finish(p, p.item, p.outcome.Result())
	case p.queue != nil:
		p.queue.workOn(p, p.item)
	default:
		p.of.execute(p, p.operation)
	}
}

// spawn starts a process now, within the current event.
func (a *Actor) spawn(name string, fn func(*Process)) {
	p := a.engine.newProcess()
	p.name, p.fn = name, fn
	a.begin(p)
}

// starting is a process that is about to begin.
type starting Process

func (s *starting) run() {
	s.actor.engine.cause = s.cause
	s.actor.begin((*Process)(s))
}

// String returns the name of the process.
func (s *starting) String() string { return s.name }

// newProcess returns an unused process. It reuses one that has ended. Observers identify processes by their pointers, so an observed engine reuses
// only those of engines before it.
func (e *Engine) newProcess() *Process {
	if e.observer == nil {
		return unusedProcess(&e.unusedProcesses)
	}
	p := unusedProcess(&e.earlier)
	if e.remainsShared && len(e.observed) < processesKept {
		e.observed = append(e.observed, p)
	}
	return p
}

// unusedProcess takes a process from a list, or makes one.
func unusedProcess(list *[]*Process) *Process {
	last := len(*list) - 1
	if last < 0 {
		return &Process{}
	}
	p := (*list)[last]
	*list = (*list)[:last]
	*p = Process{}
	return p
}

// processesKept is the number of ended processes that an engine retains.
const processesKept = 1024

// reuse retains an ended process.
func (e *Engine) reuse(p *Process) {
	if e.observer == nil && !p.dead && len(e.unusedProcesses) < processesKept {
		p.fn, p.item, p.operation, p.of, p.code, p.then, p.thenErr, p.outcome = nil, nil, nil, nil, nil, nil, nil, nil
		p.yields, p.look = 0, nil
		e.unusedProcesses = append(e.unusedProcesses, p)
	}
}

// begin adds p to the actor and runs it to its end. While p waits, the engine goes on elsewhere; see coroutine.
func (a *Actor) begin(p *Process) {
	e := a.engine
	p.engine, p.actor = e, a
	e.procs++
	p.id, p.cause = e.procs, e.cause
	p.slot = len(a.procs)
	a.procs = append(a.procs, p)
	p.runOnHost()
}

// runOnHost runs the process on the coroutine of the event, until it ends or waits without a stack.
func (p *Process) runOnHost() {
	p.co, p.stackless = p.engine.host, false
	p.markRunning()
	p.main()
	if !p.stackless {
		p.end()
		p.engine.reuse(p)
	}
}

// markRunning records that the process runs from here on.
func (p *Process) markRunning() {
	p.engine.running = p
	if f := p.engine.footprint; f != nil {
		f.Processes = append(f.Processes, p)
	}
}

// run makes a waiting process continue at the end of this task.
func (p *Process) run() {
	switch s := p.waits.signal; {
	case p.next != nil:
		p.markRunning()
		if !p.next(p.waits.end()) {
			return
		}
		p.next = nil
	case p.outcome != nil:
		p.markRunning()
		p.waits.end()
		if !p.known(s) {
			return
		}
	}
	if p.stackless {
		p.runOnHost()
		return
	}
	p.engine.resumed = p
}

// end removes the process from its actor's list.
func (p *Process) end() {
	procs := p.actor.procs
	if p.slot >= len(procs) || procs[p.slot] != p {
		return // the actor crashed and has a new list
	}
	last := len(procs) - 1
	procs[p.slot] = procs[last]
	procs[p.slot].slot = p.slot
	procs[last] = nil
	p.actor.procs = procs[:last]
}

// kill ends a waiting process.
func (p *Process) kill() {
	switch {
	case p.stackless:
		p.waits.end() // it has no stack to unwind
	case p.parked:
		p.co.kill()
	}
}

// String returns the name of the process.
func (p *Process) String() string { return p.name }

// WorksOn names the object that the process works on. If its work fails, the trace entry carries the object.
func (p *Process) WorksOn(obj api.Object) { p.about = obj }

// About returns the object of WorksOn, or of an operation that works on one; nil for none.
func (p *Process) About() api.Object { return p.about }

// Object returns the object that the process works on; it is empty if that is not known.
func (p *Process) Object() api.Ref {
	if p.about != nil {
		return api.RefTo(p.about)
	}
	return p.object
}

// QueueKey is the key of its queue that a worker works on; "" for a process that is no worker.
func (p *Process) QueueKey() string {
	if p.item == nil {
		return ""
	}
	return p.item.key
}

// Actor is the actor of the process.
func (p *Process) Actor() *Actor { return p.actor }

// Engine is the engine of the process.
func (p *Process) Engine() *Engine { return p.engine }

// API is the API server.
func (p *Process) API() *API { return p.engine.api }

// Now is the virtual time.
func (p *Process) Now() time.Time { return p.engine.Now() }

// Effects counts the effects of all actors so far: API writes, Events, backend calls, started or rejected operations, keys queued by a
// sync. A sync during which the count did not change would do nothing if it ran again.
func (p *Process) Effects() uint64 {
	if f := p.engine.footprint; f != nil {
		f.Counts = append(f.Counts, Count{p, p.engine.effects})
	}
	return p.engine.effects
}

// ID is the number of the process: processes are numbered from 1 in the order in which they begin. The user's process has none.
func (p *Process) ID() uint64 { return p.id }
