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

// newTrace returns the trace of the configuration, nil for none. Invariants observe each entry, so with Config.Check there is always a
// trace; it keeps a single entry if the configuration wants none.
func (c *Cluster) newTrace() (*trace.Trace, error) {
	if len(c.cfg.Check) == 0 {
		if c.cfg.TraceLimit < 0 {
			return nil, nil
		}
		return &trace.Trace{Limit: c.cfg.TraceLimit}, nil
	}
	checker, err := check.New(c.cfg.Check, c.backends, c.reachable)
	if err != nil {
		return nil, fmt.Errorf("volsim: Config.Check: %w", err)
	}
	c.checker = checker
	limit := c.cfg.TraceLimit
	if limit < 0 {
		limit = 1
	}
	t := &trace.Trace{Limit: limit}
	reuse.Check(checker, t)
	return t, nil
}

// reachable reports whether the kubelet of a node runs and reaches the API server.
func (c *Cluster) reachable(node string) bool {
	if c.nodes == nil {
		return false
	}
	m, ok := c.nodes.Get(node)
	return ok && m.Running() && !m.Partitioned()
}
