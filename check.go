package volsim

import (
	"fmt"

	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/internal/core/reuse"
	"github.com/volsim/volsim/trace"
)

// Violations returns the times at which an invariant of Config.Check did not hold, in order, each with the entries that prove it. A
// violation stops nothing. One that a user forced, by a forced detach for example, says so; check.Unforced removes those. Deadlines are
// evaluated as of Now. Without Config.Check there are none. Package volsimtest fails the test if there are any.
func (c *Cluster) Violations() []check.Violation {
	if c.checker == nil {
		return nil
	}
	c.checker.Advance(c.engine.Now())
	return c.checker.Violations()
}

// newChecker returns the checker of the invariants of the configuration, nil for none.
func (c *Cluster) newChecker() (*check.Checker, error) {
	if len(c.cfg.Check) == 0 {
		return nil, nil
	}
	checker, err := check.New(c.cfg.Check, c.backends, c.reachable)
	if err != nil {
		return nil, fmt.Errorf("volsim: Config.Check: %w", err)
	}
	return checker, nil
}

// newTrace returns the trace of the configuration, nil for none. The checker observes each entry, so with one there is always a trace; it keeps a
// single entry if the configuration wants none.
func (c *Cluster) newTrace() *trace.Trace {
	limit := c.cfg.TraceLimit
	if c.checker == nil {
		if limit < 0 {
			return nil
		}
		return &trace.Trace{Limit: limit}
	}
	if limit < 0 {
		limit = 1
	}
	t := &trace.Trace{Limit: limit}
	reuse.Check(c.checker, t)
	return t
}

// advanceChecker lets the time of the checker pass with that of the engine.
func (c *Cluster) advanceChecker() {
	c.checker.Advance(c.engine.Now())
	c.engine.AfterEvent(func() {
		if now := c.engine.Elapsed(); now != c.checked {
			c.checked = now
			c.checker.Advance(c.engine.Now())
		}
	})
	if c.cfg.internal.Remains != nil {
		c.engine.OnClose(func() {
			reuse.Checker(c.checker)
			c.checker = nil
		})
	}
}

// reachable reports whether the kubelet of a node runs and reaches the API server.
func (c *Cluster) reachable(node string) bool {
	if c.nodes == nil {
		return false
	}
	m, ok := c.nodes.Get(node)
	return ok && m.Running() && !m.Partitioned()
}
