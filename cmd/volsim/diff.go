package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/report"
	"github.com/volsim/volsim/internal/tools/rundiff"
	"github.com/volsim/volsim/internal/tools/script"
)

// exitStatus is an error that sets the exit status and prints nothing.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// exitDiffers is the exit status if the runs differ. As with diff, errors exit with 2.
const exitDiffers exitStatus = 1

// diffFlags holds the flags of diff.
type diffFlags struct {
	dumps        []string
	seedA, seedB int64
	until        time.Duration
	only         []string
	output       string
}

func newDiff() *cobra.Command {
	var flags diffFlags
	cmd := &cobra.Command{
		Use:   "diff A B | A --seed-a N --seed-b N | -f DUMP -f DUMP",
		Short: "Compare two runs and show where they diverge",
		Long: `Run two scripts or manifests, or one with two seeds, and report which objects end differently and in which fields, which Events and
storage calls occur more or less often, and when the traces diverge. A failed expectation does not end a run. With -f, compare two dumps of
clusters, or with --until their simulated future.

Ignored are uids, resourceVersions, generations, timestamps, and the order of events at the same time. Generated names that contain uids are
matched.

The exit status is 0 if nothing differs, 1 if something does, 2 on an error.`,
		Example: `  volsim diff before.txtar after.txtar
  volsim diff race.txtar --seed-a 1 --seed-b 2 --only objects,trace
  volsim diff -f monday.yaml -f tuesday.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := flags.compare(cmd, args)
			if err == nil {
				err = flags.print(cmd.OutOrStdout(), d)
			}
			switch {
			case err != nil:
				return usageError{err}
			case !d.Same:
				return exitDiffers
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&flags.dumps, "filename", "f", nil, "dump of a cluster, as for volsim explain; give it twice")
	f.Int64Var(&flags.seedA, "seed-a", 0, "seed of the first run")
	f.Int64Var(&flags.seedB, "seed-b", 0, "seed of the second run")
	durationVar(f, &flags.until, "until", 0, "after the last line, advance virtual time to this long after the start")
	f.StringSliceVar(&flags.only, "only", nil, "compare only these: objects, events, calls, trace")
	f.StringVarP(&flags.output, "output", "o", "text", "output format: text or json")
	return cmd
}

// compare runs or reads both inputs and compares them.
func (f *diffFlags) compare(cmd *cobra.Command, args []string) (*rundiff.Difference, error) {
	var parts []rundiff.Part
	for _, name := range f.only {
		parts = append(parts, rundiff.Part(name))
	}
	seeds, err := f.check(cmd, args, parts)
	if err != nil {
		return nil, fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	}
	if len(args) == 1 {
		args = []string{args[0], args[0]}
	}
	var runs [2]rundiff.Run
	for i := range runs {
		var end func()
		if len(f.dumps) > 0 {
			runs[i], end, err = f.readDump(cmd, f.dumps[i], seeds[i])
		} else {
			runs[i], end, err = f.runScript(cmd, args[i], seeds[i])
		}
		if err != nil {
			return nil, err
		}
		defer end()
	}
	return rundiff.Compare(runs[0], runs[1], parts...)
}

// check validates the command line and returns the seeds; nil keeps the seed of the script.
func (f *diffFlags) check(cmd *cobra.Command, args []string, parts []rundiff.Part) (seeds [2]*int64, err error) {
	if cmd.Flags().Changed("seed-a") {
		seeds[0] = &f.seedA
	}
	if cmd.Flags().Changed("seed-b") {
		seeds[1] = &f.seedB
	}
	for _, p := range parts {
		if !slices.Contains(rundiff.Parts(), p) {
			return seeds, fmt.Errorf("invalid --only %q: want objects, events, calls or trace", p)
		}
	}
	if f.output != "text" && f.output != "json" {
		return seeds, fmt.Errorf("invalid -o %q: want text or json", f.output)
	}
	if f.until < 0 {
		return seeds, fmt.Errorf("invalid --until %s: must not be negative", f.until)
	}
	seeded := seeds != [2]*int64{}
	if len(f.dumps) > 0 {
		return seeds, f.checkDumps(args, seeded)
	}
	return seeds, checkScripts(args, seeded)
}

// checkDumps validates a comparison of dumps.
func (f *diffFlags) checkDumps(args []string, seeded bool) error {
	switch {
	case len(args) > 0:
		return errors.New("-f and FILE arguments are mutually exclusive")
	case len(f.dumps) != 2:
		return fmt.Errorf("invalid number of -f: want 2, got %d", len(f.dumps))
	case seeded && f.until == 0:
		return errors.New("--seed-a and --seed-b have no effect on dumps without --until")
	}
	return checkStdin(f.dumps)
}

// checkScripts validates a comparison of scripts.
func checkScripts(args []string, seeded bool) error {
	switch {
	case len(args) == 0:
		return errors.New("missing FILE argument")
	case len(args) > 2:
		return fmt.Errorf("too many arguments: want at most 2, got %d", len(args))
	case len(args) == 1 && !seeded:
		return errors.New("missing second FILE, --seed-a or --seed-b")
	case len(args) == 1:
		args = []string{args[0], args[0]}
	}
	return checkStdin(args)
}

// checkStdin rejects reading standard input twice.
func checkStdin(names []string) error {
	if names[0] == "-" && names[1] == "-" {
		return errors.New("standard input can be read only once; write it to a file")
	}
	return nil
}

// runScript runs a script, continuing after failed expectations.
func (f *diffFlags) runScript(cmd *cobra.Command, name string, seed *int64) (run rundiff.Run, end func(), err error) {
	scripts, err := readScripts(cmd.InOrStdin(), []string{name}, readOptions{})
	if err != nil {
		return run, nil, err
	}
	if len(scripts) != 1 {
		return run, nil, fmt.Errorf("%s: directory contains %d scripts; name one", name, len(scripts))
	}
	s := scripts[0]
	s.noteUnsimulated(cmd.ErrOrStderr())
	result, err := script.Run(s.Script,
		script.Options{Seed: seed, Until: f.until, Continue: true, Policies: followPolicies, Progress: reporter(cmd.ErrOrStderr(), s.Name)})
	if result.Cluster == nil {
		return run, nil, err
	}
	run = rundiff.Of(fmt.Sprintf("%s: %s", s.Name, result.Summary()), result.Cluster, result.Start)
	for _, failure := range result.Failures {
		run.Failures = append(run.Failures, firstLine(failure))
	}
	return run, result.Cluster.Close, nil
}

// readDump reads a dump and, with --until, simulates its cluster.
func (f *diffFlags) readDump(cmd *cobra.Command, name string, seed *int64) (run rundiff.Run, end func(), err error) {
	data, err := f.load(cmd.InOrStdin(), name)
	if err != nil {
		return run, nil, err
	}
	d, err := dump.ReadFiles(dump.File{Name: name, Data: data})
	if err != nil {
		return run, nil, err
	}
	if ignored := report.Ignored(d); ignored != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "volsim: %s: ignored: %s\n", name, ignored)
	}
	if f.until == 0 {
		return rundiff.Run{Name: name, Objects: d.Objects}, func() {}, nil
	}
	opts := dump.Options{Policies: followPolicies}
	if seed != nil {
		opts.Seed = *seed
	}
	c, err := d.Start(opts)
	if err != nil {
		return run, nil, fmt.Errorf("%s: %w", name, err)
	}
	start := c.Now()
	if err := c.Advance(f.until); err != nil {
		c.Close()
		return run, nil, fmt.Errorf("%s: %w", name, err)
	}
	return rundiff.Of(fmt.Sprintf("%s: seed %d, %s later", name, opts.Seed, f.until), c.Cluster, start), c.Close, nil
}

func (f *diffFlags) load(in io.Reader, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(in)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fileError(name, err)
	}
	return data, nil
}

func (f *diffFlags) print(w io.Writer, d *rundiff.Difference) error {
	if f.output == "text" {
		return d.WriteText(w)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(d)
}
