package explore

import (
	"fmt"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
)

// Model makes a cluster that has not run yet. choose is for [engine.Config].Choose, which makes the seed of the engine irrelevant. A model
// makes the same cluster each time, whose run depends only on the choices.
type Model func(choose func(n int) int) (*Run, error)

// Run is one run of a model.
type Run struct {
	// Engine runs the cluster.
	Engine *engine.Engine
	// Backends are the storage systems. What they store belongs to the outcome if they report it, as fake.Memory does.
	Backends []storage.Backend
	// Violations returns the violated invariants at the end of the run; nil: no invariants are checked.
	Violations func() []check.Violation
	// Execute makes the user's requests and lets time pass. Its error is part of the outcome. It does the same each time, except for what
	// depends on the cluster, and reads the cluster only while the engine does not run.
	Execute func() error
	// Independent are the names of actors whose code reads the cluster only through informers, calls to the API server and calls to backends;
	// whose memory no other code reads or changes; and whose handlers of the informers they start with only read what they get and
	// informers, and queue keys. All other actors are taken to depend on each other and on everything, and every order of their events is explored.
	Independent []string
	// Idle are actors that have no effect before an object has existed for which the function returns true: until then their code and
	// handlers read nothing but informers and their own memory, make no calls, write no trace entries that invariants read, and request no
	// work for a later time that Settle waits for and that depends on the order of events; and no other code reads or changes their memory.
	// Afterwards an actor is what it is without being listed here.
	Idle map[string]func(api.Object) bool
	// Ordered must be true if Execute reads the trace or Kubernetes Events: then their order belongs to the state. The engine needs a trace.
	Ordered bool
	// Injects must be true if faults are injected: which call fails may depend on all calls before.
	Injects bool
	// Waits reports, while Until runs the engine, whether its condition may still become true. Nil: it may.
	Waits func() bool
	// Report, if not nil, replaces the report made of the objects, Backends and Violations at the end of the run.
	Report func(failure error, choices []engine.Choice) Report
}

// outcome returns the outcome of the run.
func (r *Run) outcome(failure error) Outcome {
	var objects []api.Object
	for _, kind := range kindsOfOutcome(r.Engine.Store()) {
		objects = append(objects, r.Engine.Store().List(kind)...)
	}
	var failures []string
	if failure != nil {
		failures = []string{"failed: " + firstLine(failure.Error())}
	}
	return newOutcome(objects, storageLines(r.Backends), failures)
}

// report returns a report of this run alone.
func (r *Run) report(failure error, choices []engine.Choice) Report {
	if r.Report != nil {
		return r.Report(failure, choices)
	}
	var report Report
	report.add(sample{Choices: choices, Outcome: r.outcome(failure), Failed: failure != nil, Violations: r.violations()})
	return report
}

func (r *Run) violations() []check.Violation {
	if r.Violations == nil {
		return nil
	}
	return r.Violations()
}

// Replay runs a model once with these choices, and in order after them. It returns the finished run, for its trace, and the outcome. The
// caller closes the engine of the run.
func Replay(model Model, choices []engine.Choice) (*Run, Outcome, error) {
	run, err := model(engine.Replay(choices))
	if err != nil {
		return nil, "", fmt.Errorf("explore: make the model: %w", err)
	}
	return run, run.report(run.Execute(), choices).Outcomes[0].Outcome, nil
}
