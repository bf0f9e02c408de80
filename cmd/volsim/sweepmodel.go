package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/internal/tools/explore"
	"github.com/volsim/volsim/internal/tools/script"
)

// swept is a model to explore and its source.
type swept struct {
	name  string
	model explore.Model
	// script is the source of the model; nil for a manifest.
	script *explore.Script
	// nodes is true if the model has nodes, and therefore the controllers that act on failing nodes.
	nodes bool
}

func (s swept) close() {
	if s.script != nil {
		s.script.Close()
	}
}

// model returns the model of a script or a manifest.
func (f *sweepFlags) model(cmd *cobra.Command, arg string) (swept, error) {
	name, data, err := readInput(cmd.InOrStdin(), arg)
	if err != nil {
		return swept{}, err
	}
	return f.modelOf(cmd, name, data)
}

func (f *sweepFlags) modelOf(cmd *cobra.Command, name string, data []byte) (swept, error) {
	if !script.IsManifest(name, data) {
		return f.scriptModel(cmd, name, data)
	}
	m := explore.Manifest{Data: data, Without: f.without, Until: f.until, Starting: f.starting, Check: check.All(), Policies: followPolicies}
	model, err := m.Model()
	if err != nil {
		return swept{}, withoutError(fmt.Errorf("%s: %w", name, err))
	}
	return swept{name: name, model: model, nodes: m.HasNodes()}, nil
}

func (f *sweepFlags) scriptModel(cmd *cobra.Command, name string, data []byte) (swept, error) {
	for _, not := range []struct{ flag, instead string }{{"without", "use config without=... in the script"},
		{"starting", "controllers of a script start before its first command"}} {
		if cmd.Flags().Changed(not.flag) {
			return swept{}, usageError{fmt.Errorf("invalid --%s for a script; %s", not.flag, not.instead)}
		}
	}
	script, err := readSweepScript(name, data)
	if err != nil {
		return swept{}, err
	}
	return swept{name, script.Model(f.until), script, script.HasNodes()}, nil
}

func (f *sweepFlags) runExhaustive(cmd *cobra.Command, arg string) error {
	name, data, err := readInput(cmd.InOrStdin(), arg)
	if err != nil {
		return err
	}
	s, err := f.modelOf(cmd, name, data)
	if err != nil {
		return err
	}
	noteManifest(cmd.ErrOrStderr(), name, data)
	defer s.close()
	var others []explore.Model
	for range f.workers() - 1 {
		// Each has its own script, because a script is not safe for concurrent use.
		other, err := f.modelOf(cmd, name, data)
		if err != nil {
			return err
		}
		defer other.close()
		others = append(others, other.model)
	}
	progress := f.progress(cmd.ErrOrStderr())
	x, err := explore.Exhaustive(s.model,
		explore.Options{MaxRuns: f.maxRuns, MaxChoices: f.maxChoices, NoPrune: f.noPrune, Others: others, Progress: func(x explore.Exploration) {
			progress(func() string {
				return fmt.Sprintf("%s: %d runs, %d states, %d outcomes", s.name, x.Runs, x.States, len(x.Outcomes))
			})
		}})
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return f.reportExploration(cmd.OutOrStdout(), s, x)
}

// runChoices runs a model once, with --choices.
func (f *sweepFlags) runChoices(cmd *cobra.Command, arg string) error {
	choices, err := readChoices(cmd.InOrStdin(), f.choices, []string{arg})
	if err != nil {
		return err
	}
	s, err := f.model(cmd, arg)
	if err != nil {
		return err
	}
	defer s.close()
	name := s.name
	run, outcome, err := explore.Replay(s.model, choices)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer run.Engine.Close()
	if err := f.writeTrace(cmd.OutOrStdout(), run); err != nil {
		return err
	}
	out := &writer{w: cmd.OutOrStdout()}
	out.printf("%s: outcome %s\n%s\n", name, outcome.ID(), indent(string(outcome)))
	violations := run.Violations()
	for _, v := range violations {
		out.printf("\ninvariant %s violated\n%s\n", v.Invariant, indent(v.String()))
	}
	if out.err != nil {
		return out.err
	}
	if bad := check.Unforced(violations); len(bad) > 0 {
		return fmt.Errorf("%s: invariant %s violated", name, bad[0].Invariant)
	}
	return nil
}

func (f *sweepFlags) writeTrace(stdout io.Writer, run *explore.Run) error {
	if f.trace == "" {
		return nil
	}
	var out bytes.Buffer
	if err := run.Engine.Trace().WriteText(&out); err != nil {
		return err
	}
	if f.trace == "-" {
		_, err := out.WriteTo(stdout)
		return err
	}
	if err := os.WriteFile(f.trace, out.Bytes(), 0o644); err != nil {
		return fileError(f.trace, err)
	}
	return nil
}
