package explore

import (
	"fmt"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/trace"
)

// segment returns a digest of an event and of everything that it read. What it wrote and requested follows from that, so the digest
// contains results, not requests.
func (t *tracker) segment(f *engine.Footprint, independent bool) digest {
	d := t.before.mix(number(int(t.engine.Now().UnixNano())), []byte(t.key))
	a := f.Event.Actor
	switch {
	case !independent:
		d = d.with(t.now.rest, t.seen)
	case f.Code:
		d = d.with(t.now.actors.get(a.Name()).memory)
	}
	if independent {
		for _, l := range f.Reads {
			d = d.mix(number(len(l.Objects)))
			for _, obj := range l.Objects {
				d = d.with(t.content(obj))
			}
		}
	}
	for _, effect := range f.Calls {
		d = d.mix(fmt.Append(nil, effect.Err))
		if effect.Call.Target != api.APIServer {
			d = d.with(t.now.storage.get(effect.Call.Target))
		}
		for _, obj := range effect.Objects {
			d = d.with(t.content(obj))
		}
	}
	for _, n := range f.Answers {
		d = d.mix(number(int(n)))
	}
	d = t.counted(f, d)
	// Faults are decided before a call, by code.
	if t.run.Injects && f.Code {
		d = d.with(t.now.faults)
		t.now.faults = t.now.faults.with(d)
	}
	return d
}

// counted adds the counters that processes have read, as differences from their first reading.
func (t *tracker) counted(f *engine.Footprint, d digest) digest {
	for _, p := range f.Processes {
		now := t.now.actors.get(p.Actor().Name()).counters
		if !f.Code || len(now) == 0 {
			continue
		}
		past := t.now.procs.get(p.ID())
		if !past.begun {
			past.begun, past.counters = true, now
			t.now.procs.set(p.ID(), past)
		}
		d = d.mix(differ(now, past.counters)...)
	}
	for _, c := range f.Counts {
		past := t.now.procs.get(c.Process.ID())
		if !past.counts {
			past.begun, past.effects, past.counts = true, c.Value, true
			t.now.procs.set(c.Process.ID(), past)
		}
		d = d.mix(number(int(c.Value - past.effects)))
	}
	return d
}

// readTrace adds new trace entries to the state, as far as the run or its invariants read them. It reports whether there were any.
func (t *tracker) readTrace() bool {
	log := t.engine.Trace()
	if log == nil || !t.run.Ordered && t.run.Violations == nil {
		return false
	}
	read, emitted := false, false
	for e := range log.Since(t.now.lastEntry) {
		t.now.lastEntry = e.Seq
		if !t.run.Ordered && !readByInvariants(e) {
			continue
		}
		read, emitted = true, emitted || e.Type == trace.Emitted
		t.now.trace = t.entry(t.now.trace, e)
	}
	if emitted {
		// The trace does not have the version of the object that an Event is about, nor the Event's count.
		for _, event := range t.engine.Store().Events.List() {
			t.now.trace = t.now.trace.with(t.content(event))
		}
	}
	return read
}

// entry adds a trace entry to a digest. It omits numbers that differ between runs that differ in nothing else, and the object before a
// write, which follows from the write before.
func (t *tracker) entry(d digest, e trace.Entry) digest {
	d = d.mix(number(int(e.Time.UnixNano())), []byte(e.Actor), []byte(e.Type), []byte(e.Rule), []byte(e.Object.String()), []byte(e.Verb),
		[]byte(e.Reason), []byte(e.Text), fmt.Appendf(nil, "%+v %v", e.Call, e.Err))
	if e.Detach != nil {
		d = d.mix(fmt.Appendf(nil, "%+v", *e.Detach))
	}
	if e.New != nil {
		d = d.with(t.content(e.New))
	}
	return d
}

// readByInvariants reports whether the result of an invariant may depend on an entry.
func readByInvariants(e trace.Entry) bool {
	switch e.Type {
	case trace.Write:
		return e.Err == nil && e.Old != e.New
	case trace.Storage, trace.Injected, trace.Started, trace.Crashed:
		return true
	case trace.Decision:
		return e.Detach != nil && e.Detach.Forced
	}
	return false
}
