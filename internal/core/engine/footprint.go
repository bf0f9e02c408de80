package engine

import (
	"github.com/volsim/volsim/api"
)

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

// Footprint is the footprint of the last event, with the events that the caller of the engine queued since. Nil without an observer.
func (e *Engine) Footprint() *Footprint { return e.footprint }

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

// noteRead records a read.
func (inf *informer[T]) noteRead(key string, objs ...T) {
	l := Read{View: inf, Key: key}
	for _, obj := range objs {
		l.Objects = append(l.Objects, obj)
	}
	f := inf.actor.engine.footprint
	f.Reads = append(f.Reads, l)
}

// touched records that the queue was read or changed.
func (q *Queue) touched() {
	if f := q.actor.engine.footprint; f != nil {
		f.touch(q)
	}
}
