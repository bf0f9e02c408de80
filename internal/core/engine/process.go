package engine

import (
	"fmt"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
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
	object api.Ref    // see WorksOn
	about  api.Object // see WorksOnObject
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

// park suspends the process until run is called.
func (p *Process) park() {
	p.parked = true
	resumed, switchTo := p.co.resumeInPlace(p)
	alive := resumed || p.co.handOver(switchTo)
	p.parked = false
	if !alive {
		panic(killed{})
	}
	p.markRunning()
}

// endsWait reports whether the event of a task is the end of a wait of the process.
func (p *Process) endsWait(t task) bool {
	switch t := t.(type) {
	case *Process:
		return t == p
	case *waiter:
		return t == &p.waits
	case *Timer:
		return t.wait == &p.waits
	}
	return false
}

// String returns the name of the process.
func (p *Process) String() string { return p.name }

// WorksOn names the object that the process works on. If its work fails, the trace entry carries the object.
func (p *Process) WorksOn(ref api.Ref) { p.object, p.about = ref, nil }

// WorksOnObject is WorksOn for an object. Its key is computed when it is needed.
func (p *Process) WorksOnObject(obj api.Object) { p.about = obj }

// About returns the object of WorksOnObject, or of an operation that works on one; nil for none.
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

// Sleep lets d of virtual time pass. With zero or less, the events that are already due at this instant run first.
func (p *Process) Sleep(d time.Duration) {
	if p.inline {
		return
	}
	if p.dead {
		panic(killed{})
	}
	p.engine.schedule(d, p, p.actor, false)
	p.park()
}

// AfterPasses lets the other events of this instant come first, and then the passes with a lower rank; see TickerConfig.Rank.
func (p *Process) AfterPasses(rank uint8) {
	if p.inline {
		return
	}
	if p.dead {
		panic(killed{})
	}
	p.engine.enqueue(0, &event{task: p, owner: p.actor, rank: rank})
	p.park()
}

// Switch is a point at which other actors may run. With Seed 0 it does nothing.
func (p *Process) Switch() {
	if p.engine.choices == nil || p.inline {
		return
	}
	p.Sleep(0)
}

// before runs ahead of every call: faults, latency, a switch point. After an error the call must not be made.
func (p *Process) before(call api.Call, latency time.Duration) (api.Fault, error) {
	if p.engine.repeated != nil {
		call.Actor = p.actor.name
		p.engine.repeated[call]++
	}
	if p.inline {
		return api.Fault{}, nil
	}
	if p.dead {
		panic(killed{}) // a deferred call of a process that unwinds
	}
	p.calls++
	var fault api.Fault
	if p.engine.injector != nil {
		call.Actor = p.actor.name
		fault = p.engine.injector.Inject(call)
		if !NoFault(fault) {
			p.traceFault(call, fault)
		}
	}
	if d := latency + fault.Delay; d > 0 {
		p.Sleep(d)
	} else {
		p.Switch()
	}
	if fault.Crash && !fault.Effect {
		p.crash(fault.Restart)
	}
	if fault.Err != nil && !fault.Effect {
		p.calls++
		return fault, fault.Err
	}
	return fault, nil
}

// after runs behind every call that took effect.
func (p *Process) after(fault api.Fault) error {
	if fault.Crash {
		p.crash(fault.Restart)
	}
	p.Switch()
	p.calls++
	return fault.Err
}

// crash ends the actor from within one of its own processes.
func (p *Process) crash(restart time.Duration) {
	p.actor.crash(p)
	restart = max(restart, p.actor.restartPause())
	p.engine.schedule(restart, &restarting{p.actor, p.actor.lives}, nil, false)
	panic(killed{})
}

// Restart ends the actor, as a panic of its program does, and starts it again. It does not return.
func (p *Process) Restart() { p.crash(0) }

// Backend makes a call to a storage backend: latency passes, then fn takes effect. It returns fn's error, or the injected one.
func (p *Process) Backend(call api.Call, latency time.Duration, fn func() error) error {
	return p.BackendWithin(call, latency, forever, nil, fn)
}

// Effects counts the effects of all actors so far: API writes, Events, backend calls, started or rejected operations, keys queued by a
// sync. A sync during which the count did not change would do nothing if it ran again.
func (p *Process) Effects() uint64 {
	if f := p.engine.footprint; f != nil {
		f.Counts = append(f.Counts, Count{p, p.engine.effects})
	}
	return p.engine.effects
}

// Decide records the rule and the reason of a decision about obj, which may be nil. text may contain fmt verbs for args.
func (p *Process) Decide(rule string, obj api.Object, text string, args ...any) {
	if p.engine.trace == nil {
		return
	}
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	p.Record(trace.Entry{Type: trace.Decision, Rule: rule, Object: p.engine.refTo(obj), Text: text})
}

// Tracing reports whether decisions are recorded, for callers whose text is expensive to compute.
func (p *Process) Tracing() bool { return p.engine.trace != nil }
