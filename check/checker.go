package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/trace"
)

// Config sets up a Checker.
type Config struct {
	// Invariants are what must hold. Names are unique.
	Invariants []Invariant
	// Backends are the storage systems of the cluster; nil is none.
	Backends *backends.Set
	// Start is when the cluster begins; texts count from it. Zero is [engine.DefaultStart].
	Start time.Time
	// Reachable reports whether the kubelet of a node runs and reaches the API server, so that it can be expected to do something.
	// Nil: all do.
	Reachable func(node string) bool
}

// Checker follows one cluster from its beginning. Give each entry of its trace to See, in order, and the time to Pass; with
// [engine.Trace.Sink] and [engine.Engine.AfterEvent] that happens as the cluster runs. It reads what it is given and changes nothing.
type Checker struct {
	world    *World
	watchers []Watcher
}

// New makes a checker for a cluster that holds nothing yet. It refuses an invariant without name or Watch, a name that is there
// twice, and a negative Within.
func New(cfg Config) (*Checker, error) {
	if cfg.Start.IsZero() {
		cfg.Start = engine.DefaultStart
	}
	if cfg.Backends == nil {
		cfg.Backends = &backends.Set{}
	}
	c := &Checker{world: newWorld(cfg)}
	names := map[string]bool{}
	for i, inv := range cfg.Invariants {
		switch {
		case inv.Name == "":
			return nil, fmt.Errorf("check: invariant %d has no name: give it one", i+1)
		case names[inv.Name]:
			return nil, fmt.Errorf("check: invariant %s is there twice: leave one out", inv.Name)
		case inv.Watch == nil:
			return nil, fmt.Errorf("check: invariant %s has no Watch: take it from All, or give it one", inv.Name)
		case inv.Within < 0:
			return nil, fmt.Errorf("check: invariant %s has to hold within %v: give zero or more", inv.Name, inv.Within)
		}
		names[inv.Name] = true
		c.watchers = append(c.watchers, inv.Watch(inv, c.world))
	}
	return c, nil
}

// See judges the next entry of the trace.
func (c *Checker) See(e trace.Entry) {
	w := c.world
	// What was due before this happened comes first.
	c.Pass(e.Time)
	w.now = e.Time
	w.apply(e)
	// By index: the struct is small, but there is one for each invariant and each entry.
	for i := range c.watchers {
		watcher := &c.watchers[i]
		switch {
		case e.Type == trace.Storage && watcher.Called != nil:
			watcher.Called(e)
		case e.Type == trace.Write && e.Old != e.New && watcher.Written != nil:
			watcher.Written(e)
		}
		if watcher.Changed != nil {
			for _, id := range w.changed {
				watcher.Changed(id)
			}
		}
	}
}

// Pass tells the checker what time it is.
func (c *Checker) Pass(now time.Time) {
	if !now.After(c.world.passed) {
		return
	}
	c.world.now, c.world.passed = now, now
	for i := range c.watchers {
		if passed := c.watchers[i].Passed; passed != nil {
			passed()
		}
	}
}

// Violations are those so far, in the order of their times.
func (c *Checker) Violations() []Violation {
	violations := slices.Clone(c.world.violations)
	slices.SortStableFunc(violations, func(a, b Violation) int { return a.At.Compare(b.At) })
	return violations
}
