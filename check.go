package volsim

import (
	"fmt"

	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/trace"
)

// Violations are the moments at which an invariant of Config.Check did not hold, in order, each with the entries that prove it. They
// are data: nothing stops at a violation. Those that somebody forced, by a forced detachment for example, say so; check.Unforced leaves
// them out. A test that plays without force wants none at all:
//
//	require.Empty(t, c.Violations())
//
// What was to end within a time is judged as of Now. Without Config.Check there are none.
func (c *Cluster) Violations() []check.Violation {
	if c.checker == nil {
		return nil
	}
	c.checker.Advance(c.engine.Now())
	return c.checker.Violations()
}

// newTrace makes the trace of the configuration, nil for none. Invariants listen to it as it is written; with NoTrace it keeps a
// single entry.
func (c *Cluster) newTrace() (*trace.Trace, error) {
	if len(c.cfg.Check) == 0 {
		if c.cfg.NoTrace {
			return nil, nil
		}
		return &trace.Trace{Limit: c.cfg.TraceLimit}, nil
	}
	checker, err := check.New(check.Config{
		Invariants: c.cfg.Check, Backends: c.backends, Reachable: c.reachable,
	})
	if err != nil {
		return nil, fmt.Errorf("volsim: Config.Check: %w", err)
	}
	c.checker = checker
	limit := c.cfg.TraceLimit
	if c.cfg.NoTrace {
		limit = 1
	}
	return &trace.Trace{Limit: limit, Sink: checker.Observe}, nil
}

// reachable reports whether the kubelet of a node runs and reaches the API server.
func (c *Cluster) reachable(node string) bool {
	if c.nodes == nil {
		return false
	}
	m, ok := c.nodes.Get(node)
	return ok && m.Running() && !m.Partitioned()
}
