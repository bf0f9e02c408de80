package engine

import (
	"github.com/volsim/volsim/internal/core/reuse"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// Remains are what engines leave for those after them: idle coroutines, which need not be started again, and from Close on the memory of the
// engine, its store and its trace. The zero value has none. It serves one engine that runs at a time; Close ends the coroutines.
//
// After Close, do not use the engine, its store, trace, actors, informers or queues, because another engine has their memory. Objects,
// and copies of entries of the trace, stay as they are.
type Remains struct {
	idle   []*coroutine
	memory any // the *kinds of an engine that was closed, nil for none
}

// Close ends the coroutines. Engines may go on to use it.
func (r *Remains) Close() { r.keep(0) }

// keep ends all but n of the coroutines.
func (r *Remains) keep(n int) {
	for len(r.idle) > n {
		last := len(r.idle) - 1
		r.idle[last].stop()
		r.idle[last] = nil
		r.idle = r.idle[:last]
	}
}

// lists are lists of an engine, which have grown to the lengths that a run needs.
type lists struct {
	timers, ready, passes []event
	ended                 []*Process
	earlier, observed     []*Process
	record                []pick
	recorded              *Footprint // Engine.Record empties it
}

// lists returns the lists, with nothing in them but processes that have ended.
func (e *Engine) lists() lists {
	l := lists{timers: e.timers.events, ready: e.ready.items, passes: e.passes.events, ended: e.unusedProcesses, recorded: e.recorded}
	l.earlier, l.observed = append(e.earlier, e.observed...), e.observed[:0]
	for _, list := range []*[]event{&l.timers, &l.ready, &l.passes} {
		clear(*list)
		*list = (*list)[:0]
	}
	if e.choices != nil {
		l.record = e.choices.record[:0]
	}
	return l
}

// take returns the memory of an engine, with nothing in it, and the store and the lists that it had, if it was used before. log, the trace
// of the new engine, takes over the memory of the one that it had.
func (r *Remains) take(log *trace.Trace) (*kinds, *store.Store, lists) {
	if r != nil {
		if k, ok := r.memory.(*kinds); ok {
			old, oldLog, kept := k.engine.store, k.engine.trace, k.engine.lists()
			r.memory = nil
			k.renew()
			if log != nil && oldLog != nil {
				reuse.Trace(log, oldLog)
			}
			return k, old, kept
		}
	}
	return &kinds{}, nil, lists{}
}
