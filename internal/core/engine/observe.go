package engine

import (
	"slices"
	"time"
)

// What is in this file, in footprint.go and in view.go serves two tools only: exploration (internal/tools/explore), which compares states and
// skips equivalent orders of events, and the differential tests, which order requests by what they read. Controllers do not use it, except
// that they register their memory with Actor.Keeps.

// Observer follows an engine event by event. It must not write.
type Observer interface {
	// Begin runs before each event. With false the observer gives up: the event does not run, and the run ends as after GiveUp.
	Begin(ev Due) (run bool)
	// End runs after the event, with what it read and did. The footprint is valid until the next event.
	End(f *Footprint)
	// Return runs when the engine returns to its caller: at the end of Step, Advance, Settle and Until.
	Return()
}

// Observe sets the observer; nil removes it. Without an observer none of this costs time.
func (e *Engine) Observe(o Observer) {
	e.observer = o
	e.Record(o != nil)
}

// Observed reports whether an observer sees what is read, so that no read is left out, also one without effect.
func (e *Engine) Observed() bool { return e.observer != nil || e.footprint != nil }

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
