package explore

import (
	"fmt"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/trace"
)

// segment is all that an event was and read. What it did follows from that, and so does what it asked for next: so answers are in it, and no
// questions.
func (t *tracker) segment(f *engine.Footprint, discreet bool) digest {
	d := t.before.mix([]byte(t.engine.Now().String()), []byte(t.key))
	a := f.Event.Actor
	switch {
	case !discreet:
		d = d.with(t.now.rest, t.seen)
	case f.Code:
		d = d.with(t.now.memories[a.Name()])
	}
	if discreet {
		for _, l := range f.Looks {
			d = d.mix(number(len(l.Objects)))
			for _, obj := range l.Objects {
				d = d.with(t.content(obj))
			}
		}
	}
	for _, effect := range f.Calls {
		d = d.mix(fmt.Append(nil, effect.Err))
		if effect.Call.Target != api.APIServer {
			d = d.with(t.now.storage[effect.Call.Target])
		}
		for _, obj := range effect.Objects {
			d = d.with(t.content(obj))
		}
	}
	for _, n := range f.Answers {
		d = d.mix(number(int(n)))
	}
	d = t.counted(f, d)
	// Within a call nobody asks for faults.
	if t.run.Injects && f.Code {
		d = d.with(t.now.faults)
		t.now.faults = t.now.faults.with(d)
	}
	return d
}

// counted adds what processes have read of counters, as differences to what they read first.
func (t *tracker) counted(f *engine.Footprint, d digest) digest {
	for _, p := range f.Procs {
		now := t.now.counters[p.Actor().Name()]
		if !f.Code || len(now) == 0 {
			continue
		}
		b, ok := t.now.bases[p.ID()]
		if !ok {
			b.counters = now
			t.now.bases[p.ID()] = b
		}
		d = d.mix(differ(now, b.counters)...)
	}
	for _, c := range f.Counts {
		b := t.now.bases[c.Proc.ID()]
		if !b.counts {
			b.effects, b.counts = c.Value, true
			t.now.bases[c.Proc.ID()] = b
		}
		d = d.mix(number(int(c.Value - b.effects)))
	}
	return d
}

// hear takes up what has been traced, as far as somebody looks at the trace, and reports whether there was such a thing.
func (t *tracker) hear() bool {
	log := t.engine.Trace()
	if log == nil || !t.run.Ordered && t.run.Violations == nil {
		return false
	}
	heard, emitted := false, false
	for e := range log.Since(t.now.told) {
		t.now.told = e.Seq
		if !t.run.Ordered && !judged(e) {
			continue
		}
		heard, emitted = true, emitted || e.Type == trace.Emitted
		t.now.trace = t.entry(t.now.trace, e)
	}
	if emitted {
		// Which version of an object an Event is about, and with which others it is counted, the log does not say.
		for _, event := range t.engine.Store().Events.List() {
			t.now.trace = t.now.trace.with(t.content(event))
		}
	}
	return heard
}

// entry adds an entry of the trace to what was heard. Numbers are left out, which differ between runs that differ in nothing else, and so is what
// an object was before a write: that is what the write before it has left.
func (t *tracker) entry(d digest, e trace.Entry) digest {
	d = d.mix([]byte(e.Time.String()), []byte(e.Actor), []byte(e.Type), []byte(e.Rule), []byte(e.Object.String()), []byte(e.Verb),
		[]byte(e.Reason), []byte(e.Text), fmt.Appendf(nil, "%+v %v", e.Call, e.Err))
	if e.Detach != nil {
		d = d.mix(fmt.Appendf(nil, "%+v", *e.Detach))
	}
	if e.New != nil {
		d = d.with(t.content(e.New))
	}
	return d
}

// judged reports whether invariants may make something of an entry.
func judged(e trace.Entry) bool {
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
