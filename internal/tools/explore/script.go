package explore

import (
	"fmt"
	"strings"
	"time"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/tools/script"
)

// Script is a script prepared for a sweep: it checks every invariant unless the script itself chooses some, and lists the storage at its
// end.
type Script struct {
	script *script.Script
	last   int // the line that lists the storage
	// Range is the range of a seeds command, as FROM..TO; "" without one.
	Range string
	// Chosen is true if the script itself chooses the invariants. Otherwise all are checked.
	Chosen bool
	// Policies is script.Options.Policies.
	Policies func(*volsim.Cluster)
	// Some is true if the script must succeed with only one of these seeds.
	Some bool

	remains engine.Remains // of all runs
	// newest is the outcome of the last run, and id its ID.
	newest Outcome
	id     string
}

// ReadScript reads a script. It returns the errors of script.Parse.
func ReadScript(name string, data []byte) (*Script, error) {
	parsed, err := script.Parse(name, data)
	if err != nil {
		return nil, err
	}
	return newScript(parsed)
}

// ReadManifests makes a script of manifests, as script.FromManifests does, whose errors it has.
func ReadManifests(name string, files ...script.File) (*Script, error) {
	parsed, err := script.FromManifests(name, files...)
	if err != nil {
		return nil, err
	}
	return newScript(parsed)
}

func newScript(parsed *script.Script) (*Script, error) {
	swept, last, err := parsed.ForSweep()
	if err != nil {
		return nil, fmt.Errorf("explore: prepare %s for a sweep: %w", parsed.Name, err)
	}
	s := &Script{script: swept, last: last, Chosen: parsed.NamesInvariants()}
	s.Range, s.Some = parsed.Seeds()
	return s, nil
}

// Close ends the coroutines that the script keeps from one run to the next.
func (s *Script) Close() { s.remains.Close() }

// HasNodes reports whether the script creates nodes. If it does not, its model has no controllers that act on failing nodes.
func (s *Script) HasNodes() bool { return s.script.HasNodes() }

// Line is a line of a script that failed, or an expectation that must hold with some seed.
type Line struct {
	Line    int    `json:"line"`
	Command string `json:"command,omitempty"`
	// Text is why it failed, as one line; "" if it held.
	Text  string `json:"text,omitempty"`
	Count int    `json:"count"` // the number of seeds or runs
	Seed  int64  `json:"seed"`  // the smallest of them
	// Choices repeat one of the runs, if the runs had no seeds.
	Choices []engine.Choice `json:"choices,omitempty"`
}

// failure describes a failed line in an outcome.
func (l Line) failure() string {
	return fmt.Sprintf("failed: line %d: %s: %s", l.Line, l.Command, l.Text)
}

// RunSeed runs the script with one seed and returns a report of this run. A failed expectation does not end the run. Any other failure
// does, and then the outcome lacks the storage.
func (s *Script) RunSeed(seed int64) Report {
	result, _ := script.Run(s.script, script.Options{Seed: &seed, Continue: true, Quiet: true, Remains: &s.remains, Policies: s.Policies})
	if result.Cluster != nil {
		defer result.Cluster.Close()
	}
	return s.report(result, sample{Seed: seed})
}

// Model returns the script as a model. Every choice of a run is explored, from the start of the controllers on. After the last line, time
// advances to until after the start; zero does not advance it.
func (s *Script) Model(until time.Duration) Model {
	depends := s.script.Dependencies()
	return func(choose func(n int) int) (*Run, error) {
		session, err := script.Begin(s.script, script.Options{Choose: choose, Continue: true, Until: until, Quiet: true,
			Remains: &s.remains, Policies: s.Policies})
		if err != nil {
			return nil, err
		}
		c := session.Cluster()
		var result *script.Result
		return &Run{
			Engine: internals.Engine(c), Violations: c.Violations, Independent: independent, Idle: idleActors,
			Ordered: depends.Order, Injects: depends.Faults, Waits: session.Waiting,
			Execute: func() (failure error) {
				result, failure = session.Run()
				return failure
			},
			Report: func(_ error, choices []engine.Choice) Report { return s.report(result, sample{Choices: choices}) },
		}, nil
	}
}

// report returns a report of one run.
func (s *Script) report(result *script.Result, sample sample) Report {
	var r Report
	var objects []api.Object
	if c := result.Cluster; c != nil {
		objects, sample.Violations = objectsOf(c), c.Violations()
	}
	var rest []string
	if n := len(result.Commands); n > 0 && result.Commands[n-1].Command == "backends" && result.Commands[n-1].Line == s.last {
		if output := strings.TrimRight(result.Commands[n-1].Output, "\n"); output != "" {
			rest = strings.Split(output, "\n")
		}
	}
	for _, f := range result.Failures {
		l := Line{Line: f.Line, Command: f.Command, Text: firstLine(f.Err.Error()), Count: 1, Seed: sample.Seed,
			Choices: sample.Choices}
		r.Failed = append(r.Failed, l)
		rest = append(rest, l.failure())
	}
	for _, some := range result.Some {
		l := Line{Line: some.Line, Command: some.Command, Count: len(some.Seeds)}
		if l.Count > 0 {
			l.Seed, l.Choices = sample.Seed, sample.Choices
		}
		r.Some = append(r.Some, l)
	}
	sample.Outcome, sample.Failed = newOutcome(objects, rest, nil), len(result.Failures) > 0
	if sample.Outcome != s.newest {
		s.newest, s.id = sample.Outcome, sample.Outcome.ID()
	}
	sample.ID = s.id
	r.add(sample)
	return r
}

// objectsOf returns the objects of a cluster that belong to an outcome.
func objectsOf(c *volsim.Cluster) []api.Object {
	s := internals.Engine(c).Store()
	var objs []api.Object
	for _, kind := range kindsInOutcome {
		objs = append(objs, s.List(kind)...)
	}
	return objs
}
