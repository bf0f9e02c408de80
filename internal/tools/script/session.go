package script

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/core/engine"
)

// Session is a run of a script whose cluster exists and in which no line has been executed yet.
type Session struct {
	batch  *batch
	runner *runner
}

// Begin creates the cluster of a script, for tools that observe a run from its beginning. Session.Run then executes the lines once, with
// the seed of Options or else the first seed of the script; Options.Choose replaces the seed.
func Begin(s *Script, opts Options) (*Session, error) {
	b := newBatch(s, opts)
	r := &runner{batch: b, script: s, seed: b.seeds().from, seeds: 1, out: opts.Out}
	if err := r.begin(); err != nil {
		return nil, s.errorAt(1, "", err)
	}
	return &Session{b, r}, nil
}

// Cluster returns the cluster of the run.
func (x *Session) Cluster() *volsim.Cluster { return x.runner.cluster }

// Waiting reports whether the run waits for a condition (wait --for), and not only for time to pass.
func (x *Session) Waiting() bool { return x.runner.waiting }

// Run executes the lines, once, and returns what the function Run returns, or engine.GivenUp.
func (x *Session) Run() (*Result, error) {
	x.runner.run()
	if x.runner.givenUp {
		return nil, engine.GivenUp
	}
	x.batch.count(x.runner)
	x.batch.finish(x.runner, seeds{from: x.runner.seed, to: x.runner.seed})
	return &x.batch.result, joined(x.batch.result.Failures)
}

// Line returns the line that is being executed, or was executed last; 0 before the first.
func (x *Session) Line() int { return x.runner.line }

// Start returns the virtual time at which the run began.
func (x *Session) Start() time.Time { return x.runner.start }

// Backends lists the names of the storage systems, in order.
func (x *Session) Backends() []string { return slices.Sorted(maps.Keys(x.runner.backends)) }

// Do executes one more line, as if it stood below the last one, and returns the result of all lines. It goes on after a line that failed.
// The error says why the line is malformed: then it changes nothing. A line that failed is among the failures of the result.
func (x *Session) Do(text string) (*Result, error) {
	s := x.runner.script
	script := []byte(fixNewline(string(s.archive.Comment)))
	st, err := x.parse(bytes.Count(script, []byte("\n"))+1, text)
	if err != nil {
		return nil, err
	}
	s.archive.Comment = append(script, text+"\n"...)
	s.statements = append(s.statements, st)
	x.runner.statement(st)
	x.batch.result = Result{}
	x.batch.count(x.runner)
	x.batch.finish(x.runner, seeds{from: x.runner.seed, to: x.runner.seed})
	return &x.batch.result, nil
}

// Check executes an expectation without recording it, and returns why it does not hold.
func (x *Session) Check(text string) error {
	st, err := x.parse(x.runner.line, text)
	if err != nil {
		return err
	}
	if st.comment || st.command.group != expectations {
		return x.runner.script.errorAt(st.line, text, errors.New("want an expectation"))
	}
	return x.runner.checkOutcome(st, x.runner.execute(st))
}

// parse reads a line that is not part of the script.
func (x *Session) parse(line int, text string) (*statement, error) {
	s := x.runner.script
	st, err := s.parseLine(line, text)
	switch {
	case err != nil:
	case st == nil:
		err = errors.New("the line is empty")
	case !st.comment && st.command.setup:
		err = fmt.Errorf("%s must come before the first command that is not setup", st.command.name)
	}
	if err != nil {
		return nil, s.errorAt(line, text, err)
	}
	return st, nil
}

// Dependencies describes what the lines of a script read or change besides objects and storage.
type Dependencies struct {
	// Order is true if they read the trace, Events or resourceVersions, which depend on the order of events.
	Order bool
	// Faults is true if they inject faults.
	Faults bool
}

// orderCommands read the trace or Events; orderWords match lines that read Events, whole objects or resourceVersions.
var (
	orderCommands = []string{"describe", "events", "explain", "summary", "trace"}
	orderWords    = regexp.MustCompile(`(?i)\bevents?\b|\bev\b|\ball\b|version|\s-o|--output`)
)

// Dependencies analyzes the lines of the script. It may report more than they use, never less.
func (s *Script) Dependencies() Dependencies {
	var l Dependencies
	for _, st := range s.statements {
		if st.comment || st.command.setup {
			continue
		}
		name := st.command.name
		l.Faults = l.Faults || name == "fault"
		l.Order = l.Order || slices.Contains(orderCommands, name) || orderWords.MatchString(st.text)
		if name == "expect" && len(st.words) > 0 {
			first, plain := st.words[0].plain()
			l.Order = l.Order || !plain || isEntryType(first)
		}
	}
	return l
}
