package engine

import (
	"slices"
	"time"

	"github.com/volsim/volsim/api"
)

// The hooks in this file serve two tools only: exploration (internal/tools/explore), which compares states and skips equivalent orders of
// events, and the differential tests, which order requests by what they read. Controllers do not use them, except that they register
// their memory with Actor.Keeps.

// Observer follows an engine event by event. It must not write.
type Observer interface {
	// Begin runs before each event. With false the observer gives up: the event does not run, and the run ends as after GiveUp.
	Begin(ev Due) (run bool)
	// End runs after the event, with what it read and did. The footprint is valid until the next event.
	End(f *Footprint)
	// Return runs when the engine returns to its caller: at the end of Step, Advance, Settle and Until.
	Return()
}

// Observed reports whether an observer sees what is read, so that no read is left out, also one without effect.
func (e *Engine) Observed() bool { return e.observer != nil || e.footprint != nil }

// Observe sets the observer; nil removes it. Without an observer none of this costs time.
func (e *Engine) Observe(o Observer) {
	e.observer = o
	e.Record(o != nil)
}

// Record switches the footprints of an observed engine off and on; they are on at first. Without them End gets nil.
func (e *Engine) Record(on bool) {
	if !on {
		e.footprint = nil
		return
	}
	if e.recorded == nil {
		e.recorded = &Footprint{}
	}
	e.recorded.reset(Due{})
	e.footprint = e.recorded
}

// DueKind is the kind of an event.
type DueKind int

// The kinds of events.
const (
	DueTurn     DueKind = iota // a worker of a queue takes a key
	DueDelivery                // an informer delivers a change
	DueProcess                 // a process goes on
	DueWaking                  // a process continues because of a signal
	DueTimer                   // a timer fires
	DueRestart                 // an actor starts again
	DueOther
)

// Due is an event that is queued.
type Due struct {
	// Seq is its number: events are numbered in the order in which they are queued.
	Seq uint64
	// At is when it is due, since the start of the engine.
	At   time.Duration
	Kind DueKind
	// Actor is the owner of the event; nil for a restart.
	Actor *Actor
	// Process continues, View delivers, or Queue takes a key; the others are nil.
	Process    *Process
	View       View
	Queue      *Queue
	Name       string // of a timer or a restart
	Background bool
	// Stopped marks a stopped timer: it is still listed, and does nothing when it is due.
	Stopped bool
}

func (e *Engine) due(ev event, at time.Duration) Due {
	d := Due{Seq: ev.seq, At: at, Actor: ev.owner, Background: ev.background}
	switch t := ev.task.(type) {
	case *Queue:
		d.Kind, d.Queue = DueTurn, t
	case *Process:
		d.Kind, d.Process = DueProcess, t
	case *waiter:
		d.Kind, d.Process = DueWaking, t.proc
	case *Timer:
		d.Kind, d.Name, d.Stopped = DueTimer, t.String(), t.stopped
	case *starting:
		d.Kind, d.Name = DueTimer, t.String()
	case *restarting:
		d.Kind, d.Name = DueRestart, t.String()
	case View:
		d.Kind, d.View = DueDelivery, t
	default:
		d.Kind = DueOther
	}
	return d
}

// Ready lists what is due now, in the order in which Config.Choose picks from it.
func (e *Engine) Ready() []Due { return e.AppendReady(nil) }

// AppendReady appends what Ready lists.
func (e *Engine) AppendReady(list []Due) []Due {
	all := e.ready.all()
	list = slices.Grow(list, len(all))
	for _, ev := range all {
		list = append(list, e.due(ev, e.now))
	}
	return list
}

// Later lists the events that are due at a later time, in no order.
func (e *Engine) Later() []Due { return e.AppendLater(nil) }

// AppendLater appends what Later lists.
func (e *Engine) AppendLater(list []Due) []Due {
	list = slices.Grow(list, len(e.timers.events))
	for _, ev := range e.timers.events {
		list = append(list, e.due(ev, ev.at))
	}
	return list
}

// Working reports whether any event is queued that Settle waits for.
func (e *Engine) Working() bool { return e.waiting > 0 }

// RunMode is the method by which the caller runs the engine.
type RunMode int

// The run modes.
const (
	Stepping  RunMode = iota // Step: returns after each event
	Advancing                // Advance: returns when the time has passed
	Settling                 // Settle: returns when only background work is left
	Awaiting                 // Until: returns when a condition holds
)

// RunMode returns the current or last run mode, and its deadline since the start of the engine.
func (e *Engine) RunMode() (RunMode, time.Duration) { return e.mode, e.deadline }

// beginRun records the run mode and its deadline, and requests the idle passes that a new fault may hit.
func (e *Engine) beginRun(d RunMode, end time.Duration) {
	e.mode, e.deadline = d, end
	e.resumeIdle()
}

// returns reports the end of a run to the observer.
func (e *Engine) returns() {
	if e.observer != nil {
		e.observer.Return()
	}
}

// Footprint lists what one event read and did, as far as the engine sees it. The engine does not see what code reads of its actor's own
// memory.
type Footprint struct {
	Event Due
	// Code reports whether code of the actor ran. It is false for a delivery, although its handlers ran, and for an event that is only
	// the effect of a call: other actors may run between the effect and its answer.
	Code bool
	// Processes are the processes that ran, in order.
	Processes []*Process
	// Calls are the calls to the API server and to backends that had their effect.
	Calls []Effect
	// Reads lists what was read from informers.
	Reads []Read
	// Queues lists the work queues that were read or changed.
	Queues []*Queue
	// Queued lists the numbers of the events that were queued, in order.
	Queued []uint64
	// Counts lists the results of Process.Effects.
	Counts []Count
	// Answers lists further results that do not follow from the actor's memory: lengths of queues, failures and delays of keys, and
	// whether timers could still be stopped.
	Answers []int64
	within  uint32 // Process.calls, if the process was within a call when the event began
}

// Effect is a call that took effect.
type Effect struct {
	Process *Process
	Call    api.Call
	Objects []api.Object // the answer of the API server
	Err     error        // or its refusal
}

// Read is one read of an informer.
type Read struct {
	View View
	// Key is the requested key; "" for a list.
	Key string
	// Objects are the result.
	Objects []api.Object
}

// Count is one result of Process.Effects.
type Count struct {
	Process *Process
	Value   uint64
}

func (f *Footprint) reset(ev Due) {
	*f = Footprint{
		Event: ev, Processes: f.Processes[:0], Calls: f.Calls[:0], Reads: f.Reads[:0], Queues: f.Queues[:0], Queued: f.Queued[:0],
		Counts: f.Counts[:0], Answers: f.Answers[:0],
	}
}

func (f *Footprint) touch(q *Queue) { f.Queues = append(f.Queues, q) }

// answers records a result.
func (e *Engine) answers(n int64) {
	if e.footprint != nil {
		e.footprint.Answers = append(e.footprint.Answers, n)
	}
}

// beginObserved reports the beginning of an event to the observer, and whether the event is to run.
func (e *Engine) beginObserved(ev event) (run bool) {
	d := e.due(ev, e.now)
	if !e.observer.Begin(d) {
		return false
	}
	f := e.footprint
	if f == nil {
		return true
	}
	f.reset(d)
	f.Code = d.Kind != DueDelivery
	if d.Kind == DueProcess && d.Process.calls%2 == 1 {
		f.within = d.Process.calls
	}
	return true
}

// endObserved reports its end.
func (e *Engine) endObserved() {
	f := e.footprint
	if f != nil && f.within > 0 && f.Event.Process.calls == f.within {
		f.Code = false // the process was within the same call before and after
	}
	e.observer.End(f)
}

// View is an informer of any kind.
type View interface {
	// Kind is the kind of its objects.
	Kind() api.Kind
	// Current reports whether it has delivered all changes.
	Current() bool
	// Undelivered walks the changes that it has not delivered, in order.
	Undelivered(yield func(change UndeliveredChange) bool)
	// NthUndelivered returns the nth of them, from zero on. It allocates nothing.
	NthUndelivered(n int) (change UndeliveredChange, ok bool)
	// Object is Informer.Get.
	Object(key string) (api.Object, bool)
	// Find returns the first object of Informer.List that match selects.
	Find(match func(api.Object) bool) (api.Object, bool)

	leave()
}

// UndeliveredChange is a change that an informer has not delivered.
type UndeliveredChange struct {
	Type api.ChangeType
	Key  string
	// Object and Old are the states after and before the change, as in a store.Change.
	Object, Old api.Object
	// Written is the time of the write, since the start of the engine.
	Written time.Duration
}

// Kind is the kind of the informer's objects.
func (inf *informer[T]) Kind() api.Kind { return inf.home.table.Kind() }

// Current reports whether the informer has delivered all changes.
func (inf *informer[T]) Current() bool { return inf.offset >= inf.deltas.end() }

// Undelivered walks the changes that the informer has not delivered, in order.
func (inf *informer[T]) Undelivered(yield func(UndeliveredChange) bool) {
	for n := 0; ; n++ {
		if late, ok := inf.NthUndelivered(n); !ok || !yield(late) {
			return
		}
	}
}

// NthUndelivered returns the nth change that the informer has not delivered, from zero on.
func (inf *informer[T]) NthUndelivered(n int) (late UndeliveredChange, ok bool) {
	at := inf.offset + uint64(n)
	if at >= inf.deltas.end() {
		return late, false
	}
	a := inf.deltas.at(at)
	late = UndeliveredChange{Type: a.change.Type, Key: a.change.Key, Object: a.change.Object, Written: a.at}
	if a.change.Type != api.Added {
		late.Old = a.change.Old
	}
	return late, true
}

// Object is Get.
func (inf *informer[T]) Object(key string) (api.Object, bool) {
	obj, ok := inf.Get(key)
	return obj, ok
}

// Find returns the first object of List that match selects.
func (inf *informer[T]) Find(match func(api.Object) bool) (api.Object, bool) {
	for _, obj := range inf.List() {
		if match(obj) {
			return obj, true
		}
	}
	return nil, false
}

// noteRead records a read.
func (inf *informer[T]) noteRead(key string, objs ...T) {
	l := Read{View: inf, Key: key}
	for _, obj := range objs {
		l.Objects = append(l.Objects, obj)
	}
	f := inf.actor.engine.footprint
	f.Reads = append(f.Reads, l)
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

// EachActor walks all actors in the order in which they were added.
func (e *Engine) EachActor(yield func(*Actor) bool) {
	for _, a := range e.actors {
		if !yield(a) {
			return
		}
	}
}

// ID is the number of the process: processes are numbered from 1 in the order in which they begin. The user's process has none.
func (p *Process) ID() uint64 { return p.id }

// noteRead records the answer to a call.
func (p *Process) noteRead(call api.Call, err error, objs ...api.Object) {
	f := p.engine.footprint
	effect := Effect{Process: p, Call: call, Err: err}
	if err == nil {
		effect.Objects = append(effect.Objects, objs...)
	}
	f.Calls = append(f.Calls, effect)
}

// noteList records the answer to a list.
func noteList[T api.Object](p *Process, call api.Call, objs []T) {
	f := p.engine.footprint
	effect := Effect{Process: p, Call: call}
	for _, obj := range objs {
		effect.Objects = append(effect.Objects, obj)
	}
	f.Calls = append(f.Calls, effect)
}

// Footprint is the footprint of the last event, with the events that the caller of the engine queued since. Nil without an observer.
func (e *Engine) Footprint() *Footprint { return e.footprint }
