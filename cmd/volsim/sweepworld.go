package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/explore"
	"github.com/volsim/volsim/scenario"
)

// world makes a world of a manifest.
func (f *sweepFlags) world(in io.Reader, arg string) (string, explore.World, error) {
	name, data, err := readInput(in, arg)
	if err != nil {
		return "", nil, err
	}
	if !scenario.IsManifest(name, data) {
		return "", nil, fmt.Errorf("%s: %w", name, errScript)
	}
	w, err := explore.Manifest{Data: data, Without: f.without, Until: f.until, Starting: f.starting, Check: check.All()}.World()
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", name, err)
	}
	return name, w, nil
}

func (f *sweepFlags) runExhaustive(cmd *cobra.Command, arg string) error {
	name, w, err := f.world(cmd.InOrStdin(), arg)
	if err != nil {
		return err
	}
	progress := f.progress(cmd.ErrOrStderr())
	x, err := explore.Exhaustive(w, explore.Options{MaxRuns: f.maxRuns, MaxChoices: f.maxChoices, NoPrune: f.noPrune, Progress: func(x explore.Exploration) {
		progress(func() string {
			return fmt.Sprintf("%s: %d runs, %d states, %d outcomes", name, x.Runs, x.States, len(x.Outcomes))
		})
	}})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return f.reportExploration(cmd.OutOrStdout(), name, x)
}

// runChoices plays a world once.
func (f *sweepFlags) runChoices(cmd *cobra.Command, arg string) error {
	if f.choices == "-" && arg == "-" {
		return usageError{fmt.Errorf("--choices - and -: the standard input cannot be both")}
	}
	from, data, err := readInput(cmd.InOrStdin(), f.choices)
	if err != nil {
		return err
	}
	choices, err := explore.ReadChoices(data)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	name, w, err := f.world(cmd.InOrStdin(), arg)
	if err != nil {
		return err
	}
	run, outcome, err := explore.Play(w, choices)
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
		out.printf("\nviolated %s\n%s\n", v.Invariant, indent(v.String()))
	}
	if out.err != nil {
		return out.err
	}
	if bad := check.Unforced(violations); len(bad) > 0 {
		return fmt.Errorf("%s: %s does not hold, and nobody forced it", name, bad[0].Invariant)
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
		return fileProblem(f.trace, err)
	}
	return nil
}
