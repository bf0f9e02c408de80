package differential

import (
	"fmt"
	"time"

	"github.com/volsim/volsim/internal/controllers/nodelifecycle"
	"github.com/volsim/volsim/internal/controllers/podgc"
	"github.com/volsim/volsim/internal/controllers/tainteviction"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/leases"
)

// NodeActors are the controllers of a scenario with Nodes.
var NodeActors = []string{actors.NodeLifecycle, actors.TaintEviction, actors.PodGC}

// The controllers of a scenario with Nodes start at these times on both sides. So no pass of the collector coincides with one of the node
// lifecycle controller, and no pass with a step.
const (
	NodesStart     = time.Second
	CollectorStart = NodesStart + 33*time.Millisecond
	// firstNodeStep is the fraction of a second at which steps follow.
	firstNodeStep = 512 * time.Millisecond
)

// TaintOffset is the time from the first pass of the monitor to the first of the loop that adds taints, as on our side (NODE-006).
const TaintOffset = 50 * time.Millisecond

// TerminatedThreshold is how many finished pods the collector leaves in a scenario with Nodes.
const TerminatedThreshold = 3

// startNodes starts our controllers of failing nodes.
func (w *Ours) startNodes(e *engine.Engine) error {
	w.leases = &leases.Book{}
	e.Advance(NodesStart)
	if _, err := nodelifecycle.New(e, nodelifecycle.Config{Leases: w.leases}); err != nil {
		return err
	}
	if _, err := tainteviction.New(e, false); err != nil {
		return err
	}
	e.Advance(CollectorStart - NodesStart)
	_, err := podgc.New(e, podgc.Config{TerminatedThreshold: TerminatedThreshold})
	return err
}

// Renew changes how the kubelet of a node renews its lease.
func Renew(book *leases.Book, node string, what MachineOp, now time.Time) error {
	switch what {
	case Start, Reboot:
		book.Start(node, now)
	case StopKubelet, PowerOff:
		book.Stop(node, now)
	case Reconnect:
		if !book.Renewing(node, now) {
			book.Resume(node, now)
		}
	default:
		return fmt.Errorf("a machine cannot %q in a scenario about nodes", what)
	}
	return nil
}
