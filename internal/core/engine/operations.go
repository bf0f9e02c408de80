package engine

import (
	"time"

	"github.com/volsim/volsim/trace"
)

// Operations runs named activities in the background, one at a time per name, with exponential backoff after an error
// (BIND-091 to BIND-095).
type Operations struct {
	actor   *Actor
	entries map[string]*operation
	// Before, when set, is called as each operation begins. It is for tests that change the world at that moment.
	Before func(p *Proc, name string)
}

type operation struct {
	running bool
	failed  time.Duration // when the last run ended in error
	backoff time.Duration
}

const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 2*time.Minute + 2*time.Second
)

// NewOperations gives the actor a set of operations.
func (a *Actor) NewOperations() *Operations {
	return &Operations{actor: a, entries: map[string]*operation{}}
}

// Run starts the operation at this instant, unless one of that name is running or still backing off from an error; then nothing
// happens. It reports whether the operation was started. Nobody is told when it ends (BIND-094). A panic in fn is an error of the
// operation, a *PanicError (BIND-095).
func (o *Operations) Run(name string, fn func(p *Proc) error) bool {
	// An attempt that is dropped is worth another one later, so it counts as well.
	o.actor.engine.effects++
	entry, known := o.entries[name]
	now := o.actor.engine.now
	switch {
	case known && entry.running:
		// BIND-091: dropped, not queued.
		return false
	case known && now-entry.failed <= entry.backoff:
		// BIND-093: too early; the boundary itself is too early as well.
		return false
	case !known:
		entry = &operation{}
		o.entries[name] = entry
	}
	entry.running = true
	o.actor.Go(name, func(p *Proc) {
		if o.Before != nil {
			o.Before(p, name)
		}
		err := guarded(p, name, fn)
		if err == nil {
			// BIND-092: success is forgotten.
			delete(o.entries, name)
			return
		}
		entry.running = false
		entry.failed = p.engine.now
		// BIND-093: 500 ms, doubled on each further error, at most 2 m 2 s.
		entry.backoff = min(max(firstBackoff, 2*entry.backoff), maxBackoff)
		p.Record(trace.Entry{Type: trace.OperationFailed, Text: name, Err: err})
	})
	return true
}

// Running reports whether an operation of that name runs.
func (o *Operations) Running(name string) bool {
	entry, ok := o.entries[name]
	return ok && entry.running
}
