package scenario

import (
	"errors"
	"io"
	"time"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/tools/script"
)

// Script is a script that Parse has read and checked. It can be run several times.
type Script struct{ script *script.Script }

// Parse reads a script. name is used in errors, usually the file. Every line without variables is checked; the error is an *[Error] for the
// first line that is wrong.
func Parse(name string, data []byte) (*Script, error) {
	s, err := script.Parse(name, data)
	if err != nil {
		return nil, publicError(err)
	}
	return &Script{s}, nil
}

// Name returns the name given to Parse.
func (s *Script) Name() string { return s.script.Name }

// Options control a run. The zero value runs the script as it is written.
type Options struct {
	// Seed replaces all seeds that the script names; the default nil keeps them.
	Seed *int64
	// Continue runs the remaining lines after a failed expectation. By default, false, the first failure ends the run.
	Continue bool
	// Out receives each command and its output; the default nil discards them. With several seeds it receives those of Result.Seed, after the
	// run.
	Out io.Writer
}

// Result describes a run.
type Result struct {
	// Cluster is the cluster of Seed at the end of the run; nil if it could not be created. The caller closes it.
	Cluster *volsim.Cluster
	// Seed is the seed of the reported run: the first that failed or, where one success is enough, that succeeded; else the last.
	Seed int64
	// Start is the virtual time at which the run began.
	Start time.Time
	// Seeds lists the seeds that the script ran with; Succeeded those of them without a failure.
	Seeds, Succeeded []int64
	// Failures lists the lines of the reported run that failed, in order.
	Failures []*Error

	summary string
}

// Summary returns one line: success or failure, the seeds and the virtual time, as the command volsim run prints it.
func (r *Result) Summary() string { return r.summary }

// Run runs a script. The Result is never nil; if the script failed, the error joins Result.Failures. A script comes from Parse.
func Run(s *Script, opts Options) (*Result, error) {
	if s == nil || s.script == nil {
		return &Result{}, errors.New("run: the script is empty; Parse returns one")
	}
	r, err := script.Run(s.script, script.Options{Seed: opts.Seed, Continue: opts.Continue, Out: opts.Out})
	result := &Result{Cluster: r.Cluster, Seed: r.Seed, Start: r.Start, Seeds: r.Seeds, Succeeded: r.Succeeded, summary: r.Summary()}
	for _, f := range r.Failures {
		result.Failures = append(result.Failures, (*Error)(f))
	}
	if err == nil {
		return result, nil
	}
	failures := make([]error, len(result.Failures))
	for i, f := range result.Failures {
		failures[i] = f
	}
	return result, errors.Join(failures...)
}

// Error describes a line of a script that is malformed or failed.
type Error struct {
	// File and Line locate the problem; Line counts from 1.
	File string
	Line int
	// Command is the line as written; "" if the problem concerns no command.
	Command string
	// Err is the reason. It may have several lines, such as a diff.
	Err error
}

// Error returns "file:line: command: reason".
func (e *Error) Error() string { return (*script.Error)(e).Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// publicError converts the errors of the implementation.
func publicError(err error) error {
	if e := new(script.Error); errors.As(err, &e) {
		return (*Error)(e)
	}
	return err
}
