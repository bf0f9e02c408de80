package check

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/reuse"
	"github.com/volsim/volsim/trace"
)

// Checker checks invariants of one cluster from its start on. volsim.Config.Check sets one up. Call Advance with the start time, then
// Observe with each trace entry, in order. It changes nothing.
type Checker struct {
	state    *state
	watchers []Watcher
	all      []watched
	// These are the watchers of entries and of time, in the order of watchers: most watch few things.
	called, written, changed, timed []*Watcher
}

// unused are the checkers of clusters of sweeps that were closed. They have forgotten these clusters.
var unused sync.Pool

func init() {
	reuse.Check = func(checker, trace any) { reuse.Observe(trace, checker.(*Checker).observe) }
	reuse.Checker = func(old any) {
		c := old.(*Checker)
		c.state.renew()
		for i := range c.watchers {
			w := &c.watchers[i]
			if c.all[i].watch == 0 {
				return // it cannot forget
			}
			if w.due != nil {
				w.due.forget()
			}
			if w.forget != nil {
				w.forget()
			}
		}
		unused.Put(c)
	}
}

// unusedChecker returns an unused checker of these invariants, nil if there is none.
func unusedChecker(invariants []Invariant) *Checker {
	c, ok := unused.Get().(*Checker)
	if !ok || len(c.all) != len(invariants) {
		return nil
	}
	for i := range invariants {
		if c.all[i] != watchedOf(&invariants[i]) {
			return nil
		}
	}
	return c
}

// New is for package volsim: callers set volsim.Config.Check.
// It returns a checker of these invariants for an empty cluster with these storage systems; nil is none. reachable reports whether the
// kubelet of a node runs and reaches the API server, so that it can make progress; nil: each does. New returns an error for an invariant
// without Name or Watch, a duplicate name, and a negative Within.
func New(invariants []Invariant, systems *backends.Set, reachable func(node string) bool) (*Checker, error) {
	if systems == nil {
		systems = &backends.Set{}
	}
	if c := unusedChecker(invariants); c != nil {
		c.state.backends, c.state.reachable = systems, reachable
		return c, nil
	}
	all := make([]watched, len(invariants))
	c := &Checker{state: &state{backends: systems, reachable: reachable}, watchers: make([]Watcher, len(invariants)), all: all}
	for i := range invariants {
		inv := &invariants[i]
		switch {
		case inv.Name == "":
			return nil, fmt.Errorf("check: invariant %d has no name; set Name", i+1)
		case isNamed(invariants[:i], inv.Name):
			return nil, fmt.Errorf("check: invariant %s is listed twice; remove one", inv.Name)
		case inv.watch == nil && inv.Watch == nil:
			return nil, fmt.Errorf("check: invariant %s has no Watch; set Watch, or take the invariant from All", inv.Name)
		case inv.Within < 0:
			return nil, fmt.Errorf("check: invariant %s: Within is %v; set zero or more", inv.Name, inv.Within)
		}
		all[i] = watchedOf(inv)
		if inv.watch != nil {
			c.watchers[i] = inv.watch(&all[i], c.state)
		} else {
			c.watchers[i] = inv.Watch(&View{c.state, &all[i]})
		}
	}
	c.sort()
	return c, nil
}

// sort lists the watchers by what they watch.
func (c *Checker) sort() {
	for i := range c.watchers {
		w := &c.watchers[i]
		if w.called != nil || w.Called != nil || w.changed != nil {
			c.called = append(c.called, w)
		}
		if w.written != nil || w.Written != nil || w.changed != nil {
			c.written = append(c.written, w)
		}
		if w.changed != nil {
			c.changed = append(c.changed, w)
		}
		if w.due != nil || w.Passed != nil {
			c.timed = append(c.timed, w)
		}
	}
}

func isNamed(invariants []Invariant, name string) bool {
	for i := range invariants {
		if invariants[i].Name == name {
			return true
		}
	}
	return false
}

// Observe checks the next entry of the trace.
func (c *Checker) Observe(e trace.Entry) { c.observe(&e) }

// observe is Observe for an entry that is not copied: it is large.
func (c *Checker) observe(e *trace.Entry) {
	s := c.state
	// Deadlines before this entry come first.
	c.Advance(e.Time)
	if !concerns(e) {
		return
	}
	s.now = e.Time
	s.apply(e)
	called, written := e.Type == trace.Storage, e.Type == trace.Write && e.Old != e.New
	concerned := c.changed
	switch {
	case called:
		concerned = c.called
	case written:
		concerned = c.written
	case len(s.changed) == 0:
		return
	}
	for _, watcher := range concerned {
		switch {
		case called && watcher.called != nil:
			watcher.called(e)
		case called && watcher.Called != nil:
			watcher.Called(*e)
		case written && watcher.written != nil:
			watcher.written(e)
		case written && watcher.Written != nil:
			watcher.Written(*e)
		}
		if watcher.changed != nil {
			for _, id := range s.changed {
				watcher.changed(id)
			}
		}
	}
}

// concerns reports whether an entry may change the state or be shown to a watcher.
func concerns(e *trace.Entry) bool {
	switch e.Type {
	case trace.Decision:
		return e.Detach != nil
	case trace.Emitted, trace.KeyFailed, trace.OperationFailed:
		return false
	}
	return true
}

// Advance sets the virtual time. The offsets in the texts of violations count from the first call.
func (c *Checker) Advance(now time.Time) {
	if !now.After(c.state.passed) {
		return
	}
	if c.state.start.IsZero() {
		c.state.start = now
	}
	c.state.now, c.state.passed = now, now
	for _, w := range c.timed {
		if w.due != nil {
			w.due.passed()
		} else {
			w.Passed(now)
		}
	}
}

// Violations returns the violations so far, in the order of their times.
func (c *Checker) Violations() []Violation {
	violations := slices.Clone(c.state.violations)
	slices.SortStableFunc(violations, func(a, b Violation) int { return a.At.Compare(b.At) })
	return violations
}
