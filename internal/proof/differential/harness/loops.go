package harness

import (
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
)

// Loop is a loop of a component. Passes due at the same instant run in this order if a sequencer decides.
type Loop int

const (
	// Report is a round of node status.
	Report Loop = iota
	Populator
	Reconciler
	// Ends are the ends of driver calls, and of requests of operations, that took time. A pass at the same instant does not see them (MNT-014).
	Ends
	// Looks are the checks of pods that wait until volumes are mounted or unmounted.
	Looks
	// Monitor and Collector are the loops of the node lifecycle controller and of the pod garbage collector.
	Monitor
	Collector
)

// passVerb is the verb of the transition in which a pass begins. Its object names the loop.
const passVerb = "pass"

var loopNames = []api.Kind{Report: "report", Populator: "populator", Reconciler: "reconciler", Ends: "ends", Looks: "looks", Monitor: "monitor", Collector: "collector"}

// loopOf returns the loop of a pass, -1 for other transitions.
func loopOf(t *transition) Loop {
	if t.Verb != passVerb {
		return -1
	}
	return Loop(slices.Index(loopNames, t.Object.Kind))
}

// AwaitPass returns when a pass of a loop of a component may begin.
func (s *Sequencer) AwaitPass(component string, l Loop, canceled <-chan struct{}) {
	s.Await(apiserver.Transition{Component: component, Verb: passVerb, Object: api.Ref{Kind: loopNames[l]}}, canceled)
}
