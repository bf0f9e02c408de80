package explore

import (
	"fmt"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
)

// World makes a cluster that has not done anything yet. choose is for [engine.Config].Choose; the seed of the engine is then without effect.
// A world is the same each time but for the choices.
type World func(choose func(n int) int) (*Run, error)

// Run is one run of a world.
type Run struct {
	// Engine runs the cluster.
	Engine *engine.Engine
	// Backends are the storage systems. What they hold belongs to the outcome if they tell it, as a fake.Memory does.
	Backends []storage.Backend
	// Violations are asked for at the end of the run; nil is none. They carry what was checked as the run went on.
	Violations func() []check.Violation
	// Play has the user do what there is to do, and lets time pass. Its error is part of the outcome. It is the same each time but for what
	// it reads of the world, and it reads that only while the engine does not run.
	Play func() error
	// Discreet are actors, by name, that keep to themselves. Their code reads the world only through informers, calls to the API server and
	// calls to backends; nobody else reads or changes what they keep; and the handlers of the informers they start with only look at what they
	// are given and queue keys. The others are taken to depend on each other and on everything, and every order of what they do is explored.
	Discreet []string
	// Ordered is to be true if Play reads the trace or Kubernetes Events: then their order belongs to the state. The engine
	// needs a trace for it.
	Ordered bool
	// Injects is to be true if faults are injected: what is injected may depend on all calls before.
	Injects bool
	// Waits reports, while the engine is driven by Until, whether the condition may come to hold; nil: it may.
	Waits func() bool
	// Report is asked for at the end of the run, and counts it in place of what Violations and the storage say; nil is nobody.
	Report func(failure error, choices []engine.Choice) Report
}

// outcome is what the run has come to.
func (r *Run) outcome(failure error) Outcome {
	var objects []api.Object
	for _, kind := range kindsOfOutcome() {
		objects = append(objects, r.Engine.Store().List(kind)...)
	}
	var failures []string
	if failure != nil {
		failures = []string{"failed: " + firstLine(failure.Error())}
	}
	return newOutcome(objects, storageLines(r.Backends), failures)
}

// report counts the run.
func (r *Run) report(failure error, choices []engine.Choice) Report {
	if r.Report != nil {
		return r.Report(failure, choices)
	}
	var report Report
	report.add(Sample{Choices: choices, Outcome: r.outcome(failure), Failed: failure != nil, Violations: r.violations()})
	return report
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
	run, err := w(engine.Replay(choices))
	if err != nil {
		return nil, "", fmt.Errorf("explore: the world cannot be made: %w", err)
	}
	return run, run.report(run.Play(), choices).Outcomes[0].Outcome, nil
}
