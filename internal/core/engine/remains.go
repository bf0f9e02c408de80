package engine

import "github.com/volsim/volsim/internal/core/store"

// Remains are what engines leave for those after them: idle coroutines, which need not be started again, and from Close on the memory of the
// engine and its store. The zero value has none. It serves one engine that runs at a time; Close ends the coroutines.
//
// After Close nobody may use the engine, nor its store, actors, informers or queues, because another engine has their memory. Objects and
// entries of the trace stay as they are.
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

// take returns the memory of an engine, with nothing in it, and the store that it had, if it was used before.
func (r *Remains) take() (*kinds, *store.Store) {
	if r != nil {
		if k, ok := r.memory.(*kinds); ok {
			old := k.engine.store
			r.memory, *k = nil, kinds{}
			return k, old
		}
	}
	return &kinds{}, nil
}
