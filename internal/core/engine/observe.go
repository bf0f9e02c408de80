package engine

import (
	"time"

	"github.com/volsim/volsim/api"
)

// Observer follows an engine event by event, for tools that explore what may happen. It must not write.
type Observer interface {
	// Begin is called before each event.
	Begin(ev Due)
	// End is called after it, with what it read and did. The footprint is valid until the next event.
	End(f *Footprint)
	// Return is called when the engine goes back to whoever drives it: at the end of Step, Advance, Settle and Until.
	Return()
}

// Observe has o follow the engine from now on; nil ends that. Without an observer nothing of this costs anything.
func (e *Engine) Observe(o Observer) {
	e.observer, e.footprint = o, nil
	if o != nil {
		e.footprint = &Footprint{}
	}
}

// DueKind says what sort of event is due.
type DueKind int

// The kinds of events.
const (
	DueTurn     DueKind = iota // a worker of a queue takes a key
	DueDelivery                // an informer delivers a change
	DueActivity                // a process goes on
	DueWaking                  // a process goes on because of a signal
	DueTimer                   // a timer fires
	DueRestart                 // an actor starts again
	DueOther
)

// Due is an event that is queued.
type Due struct {
	// Seq is its number: events are numbered in the order in which they are queued.
	Seq uint64
	// At is when it is due, since the start; for what is due now, now.
	At   time.Duration
	Kind DueKind
	// Actor is whose event it is; nil for a restart.
	Actor *Actor
	// Proc, View and Queue are who goes on, delivers, or takes a key.
	Proc       *Proc
	View       View
	Queue      *Queue
	Name       string // of a timer or a restart
	Background bool
	// Stopped is true for a timer that was stopped: it is still listed, and nothing happens when it comes.
	Stopped bool
}

func (e *Engine) due(ev event, at time.Duration) Due {
	d := Due{Seq: ev.seq, At: at, Actor: ev.owner, Background: ev.background}
	switch t := ev.task.(type) {
	case *Queue:
		d.Kind, d.Queue = DueTurn, t
	case *Proc:
		d.Kind, d.Proc = DueActivity, t
	case *waiter:
		d.Kind, d.Proc = DueWaking, t.proc
	case *Timer:
		d.Kind, d.Name, d.Stopped = DueTimer, t.name, t.stopped
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
func (e *Engine) Ready() []Due {
	all := e.ready.all()
	list := make([]Due, len(all))
	for i, ev := range all {
		list[i] = e.due(ev, e.now)
	}
	return list
}

// Later lists what is due at a later time, in no order.
func (e *Engine) Later() []Due {
	list := make([]Due, len(e.timers.events))
	for i, ev := range e.timers.events {
		list[i] = e.due(ev, ev.at)
	}
	return list
}

// Working reports whether anything is queued that Settle waits for.
func (e *Engine) Working() bool { return e.waiting > 0 }

// Drive says how the engine is being driven.
type Drive int

// The drives.
const (
	Stepping  Drive = iota // by Step: it returns after each event
	Advancing              // by Advance: it returns when the time is over
	Settling               // by Settle: it returns when nothing is left but background
	Awaiting               // by Until: it returns when a condition holds
)

// Drive is how the engine is being driven, and until when at most, since the start.
func (e *Engine) Drive() (Drive, time.Duration) { return e.drive, e.horizon }

// drives notes the beginning of a drive.
func (e *Engine) drives(d Drive, end time.Duration) { e.drive, e.horizon = d, end }

// returns tells the observer of the end of a drive.
func (e *Engine) returns() {
	if e.observer != nil {
		e.observer.Return()
	}
}

// Footprint is what one event read and did, as far as the engine sees it. What code reads of its actor's own memory the engine does
// not see.
type Footprint struct {
	Event Due
	// Code is true if code of the actor ran. It is false for a delivery, though its handlers ran, and for an event that is but the
	// effect of a call: between its effect and its answer others may get in.
	Code bool
	// Procs are the processes that ran, in order.
	Procs []*Proc
	// Calls are the calls to the API server and to backends that had their effect.
	Calls []Effect
	// Looks are what was read from informers.
	Looks []Look
	// Queues are those that were touched.
	Queues []*Queue
	// Queued are the numbers of the events that were queued, in order.
	Queued []uint64
	// Counts are what Proc.Effects was read as.
	Counts []Count
	// Answers are what else code was told that does not follow from its actor's memory: of queues how long they are, how often a key has failed
	// and for how long one was put off, of timers whether they could still be stopped.
	Answers []int64
	within  uint32 // Proc.calls, if the event found a process within a call
}

// Effect is a call that had its effect.
type Effect struct {
	Proc    *Proc
	Call    api.Call
	Objects []api.Object // the answer of the API server
	Err     error        // or its refusal
}

// Look is one read of an informer.
type Look struct {
	View View
	// Key is what was asked for; "" for a list.
	Key string
	// Objects are the answer.
	Objects []api.Object
}

// Count is what a process read as Proc.Effects.
type Count struct {
	Proc  *Proc
	Value uint64
}

func (f *Footprint) reset(ev Due) {
	*f = Footprint{
		Event: ev, Procs: f.Procs[:0], Calls: f.Calls[:0], Looks: f.Looks[:0], Queues: f.Queues[:0], Queued: f.Queued[:0], Counts: f.Counts[:0],
		Answers: f.Answers[:0],
	}
}

func (f *Footprint) touch(q *Queue) { f.Queues = append(f.Queues, q) }

// answers notes what code was told.
func (e *Engine) answers(n int64) {
	if e.footprint != nil {
		e.footprint.Answers = append(e.footprint.Answers, n)
	}
}

// beginObserved is the beginning of an event for an observer.
func (e *Engine) beginObserved(ev event) {
	d := e.due(ev, e.now)
	e.observer.Begin(d)
	f := e.footprint
	f.reset(d)
	f.Code = d.Kind != DueDelivery
	if d.Kind == DueActivity && d.Proc.calls%2 == 1 {
		f.within = d.Proc.calls
	}
}

// endObserved is its end.
func (e *Engine) endObserved() {
	f := e.footprint
	if f.within > 0 && f.Event.Proc.calls == f.within {
		f.Code = false // the process has gone from within a call to within the same call
	}
	e.observer.End(f)
}

// View is an informer, whatever the kind.
type View interface {
	// Kind is what it watches.
	Kind() api.Kind
	// Late walks the changes that are on their way to it, in order.
	Late(yield func(change LateChange) bool)
}

// LateChange is a change on its way to an informer.
type LateChange struct {
	Type api.ChangeType
	Key  string
	// Object and Old are the states after and before, as in a store.Change.
	Object, Old api.Object
	// Written is when it was written, since the start.
	Written time.Duration
}

// Kind is the kind that the informer watches.
func (inf *Informer[T]) Kind() api.Kind { return inf.table.Kind() }

// Late walks the changes that are on their way, in order.
func (inf *Informer[T]) Late(yield func(LateChange) bool) {
	for n := inf.place; n < inf.feed.end(); n++ {
		a := inf.feed.at(n)
		late := LateChange{Type: a.change.Type, Key: a.change.Key, Object: a.change.Object, Written: a.at}
		if a.change.Type != api.Added {
			late.Old = a.change.Old
		}
		if !yield(late) {
			return
		}
	}
}

// look notes a read.
func (inf *Informer[T]) look(key string, objs ...T) {
	l := Look{View: inf, Key: key}
	for _, obj := range objs {
		l.Objects = append(l.Objects, obj)
	}
	f := inf.actor.engine.footprint
	f.Looks = append(f.Looks, l)
}

// Views are the informers of this life of the actor, in the order in which they were started.
func (a *Actor) Views() []View { return a.views }

// Queues are the queues of this life of the actor, in the order in which they were made.
func (a *Actor) Queues() []*Queue { return a.queues }

// Procs are the processes of the actor that have begun and not ended, in no order.
func (a *Actor) Procs() []*Proc { return a.procs }

// Lives is how often the actor has started.
func (a *Actor) Lives() int { return a.lives }

// Keeps says what all of the actor's memory in this life is reached from: pointers to what it keeps between its activities. It is for
// tools that compare states, which read it with all that hangs on it. What lies on the stacks of activities, and in informers and
// queues, need not be named.
func (a *Actor) Keeps(memory ...any) { a.memory = append(a.memory, memory...) }

// Memory is what Keeps was told in this life; nil if nothing was.
func (a *Actor) Memory() []any { return a.memory }

// ID is the number of the process: processes are numbered from 1 in the order in which they begin. The user's has none.
func (p *Proc) ID() uint64 { return p.id }

// noteRead notes the answer to a call.
func (p *Proc) noteRead(call api.Call, err error, objs ...api.Object) {
	f := p.engine.footprint
	effect := Effect{Proc: p, Call: call, Err: err}
	if err == nil {
		effect.Objects = append(effect.Objects, objs...)
	}
	f.Calls = append(f.Calls, effect)
}

// noteList notes the answer to a list.
func noteList[T api.Object](p *Proc, call api.Call, objs []T) {
	f := p.engine.footprint
	effect := Effect{Proc: p, Call: call}
	for _, obj := range objs {
		effect.Objects = append(effect.Objects, obj)
	}
	f.Calls = append(f.Calls, effect)
}

// Footprint is that of the last event; what is queued after it, by whoever drives the engine, is added to it. Nil without an observer.
func (e *Engine) Footprint() *Footprint { return e.footprint }
