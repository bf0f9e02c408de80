package explore

import (
	"fmt"

	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/engine"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/store"
)

// World makes a cluster that has not done anything yet. choose is for [engine.Config].Choose; the seed of the engine is then without effect.
// A world is the same each time but for the choices.
type World func(choose func(n int) int) (*Run, error)

// Run is one run of a world.
type Run struct {
	// Engine runs the cluster.
	Engine *engine.Engine
	// Backends are the storage systems. What they hold belongs to the outcome and to the state if they tell it, as a fake.Memory does.
	Backends []fake.Backend
	// Violations are asked for at the end of the run; nil is none. They carry what was checked as the run went on.
	Violations func() []check.Violation
	// Play has the user do what there is to do, and lets time pass. Its error is part of the outcome.
	Play func() error
}

// outcome is what the run has come to.
func (r *Run) outcome(failure error) Outcome {
	var objects []store.Object
	for _, kind := range kindsOfOutcome() {
		objects = append(objects, r.Engine.Store().List(kind)...)
	}
	var failures []string
	if failure != nil {
		failures = []string{"failed: " + firstLine(failure.Error())}
	}
	return newOutcome(objects, storageLines(r.Backends), failures)
}

func (r *Run) violations() []check.Violation {
	if r.Violations == nil {
		return nil
	}
	return r.Violations()
}

// Play plays a world once with these choices, and in order after them. It gives the run as it ended, for its trace, and what it came to. Close
// the engine of the run when it is no longer needed.
func Play(w World, choices []engine.Choice) (*Run, Outcome, error) {
	return playWith(w, engine.Replay(choices))
}

// playWith plays a world once.
func playWith(w World, choose func(n int) int) (*Run, Outcome, error) {
	run, err := w(choose)
	if err != nil {
		return nil, "", fmt.Errorf("explore: the world cannot be made: %w", err)
	}
	failure := run.Play()
	return run, run.outcome(failure), nil
}
