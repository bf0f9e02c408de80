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
	"github.com/volsim/volsim/internal/tools/rundiff"
	"github.com/volsim/volsim/internal/tools/script"
)

// exitStatus ends the command with this status, and with nothing on stderr.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// exitDiffers is the status of runs that differ. As with diff, all trouble is 2.
const exitDiffers exitStatus = 1

// diffFlags are what the command diff was asked for.
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
		Short: "Tell how two runs differ, and where they part",
		Long: `Diff plays two scripts or manifests, or one with two seeds, and tells which objects end differently and in which fields, which Events and
storage calls occurred more or less often, and at which instant one run first does what the other does not. An expectation that fails does not end
a run. With -f it compares two dumps of clusters as they stand, or with --until as they go on from there.

Passed over are uids, resourceVersions, generations, the values of times, and the order of what happens at one instant. Names that are made of uids are
aligned.

The exit status is 0 if nothing differs, 1 if something does, 2 if something could not be read or played.`,
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
	f.StringArrayVarP(&flags.dumps, "filename", "f", nil, "a dump of a cluster, as for volsim explain; give two")
	f.Int64Var(&flags.seedA, "seed-a", 0, "play the first with this seed, whatever the script says")
	f.Int64Var(&flags.seedB, "seed-b", 0, "play the second, or the only one once more, with this seed")
	f.DurationVar(&flags.until, "until", 0, "let time go on at the end, to this long after the start")
	f.StringSliceVar(&flags.only, "only", nil, "compare nothing but these: objects, events, calls, trace")
	f.StringVarP(&flags.output, "output", "o", "text", "text or json")
	return cmd
}

// compare plays or reads the two and compares them.
func (f *diffFlags) compare(cmd *cobra.Command, args []string) (*rundiff.Difference, error) {
	var parts []rundiff.Part
	for _, name := range f.only {
		parts = append(parts, rundiff.Part(name))
	}
	seeds, err := f.check(cmd, args, parts)
	if err != nil {
		return nil, fmt.Errorf("%w: see %s --help", err, cmd.CommandPath())
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
			runs[i], end, err = f.play(cmd, args[i], seeds[i])
		}
		if err != nil {
			return nil, err
		}
		defer end()
	}
	return rundiff.Compare(runs[0], runs[1], parts...)
}

// check says what of the command line makes no sense, and gives the seeds; nil is that of the script.
func (f *diffFlags) check(cmd *cobra.Command, args []string, parts []rundiff.Part) (seeds [2]*int64, err error) {
	for i, flag := range []struct {
		name string
		seed *int64
	}{{"seed-a", &f.seedA}, {"seed-b", &f.seedB}} {
		if cmd.Flags().Changed(flag.name) {
			seeds[i] = flag.seed
		}
	}
	seeded := seeds != [2]*int64{}
	stdin := 0
	for _, name := range append(slices.Clone(args), f.dumps...) {
		if name == "-" {
			stdin++
		}
	}
	for _, p := range parts {
		if !slices.Contains(rundiff.Parts(), p) {
			return seeds, fmt.Errorf("--only %s: there are objects, events, calls and trace", p)
		}
	}
	switch {
	case f.output != "text" && f.output != "json":
		err = fmt.Errorf("-o %s: there are text and json", f.output)
	case f.until < 0:
		err = fmt.Errorf("--until %s: time does not run backwards", f.until)
	case len(f.dumps) > 0 && len(args) > 0:
		err = errors.New("name either two scripts, or two dumps with -f")
	case len(f.dumps) > 0 && len(f.dumps) != 2:
		err = fmt.Errorf("-f is given %d times: name two dumps", len(f.dumps))
	case len(f.dumps) > 0 && seeded && f.until == 0:
		err = errors.New("without --until dumps are compared as they stand: a seed has nothing to choose")
	case len(f.dumps) == 0 && len(args) != 1 && len(args) != 2:
		err = errors.New("name two scripts or manifests, or one with --seed-a and --seed-b")
	case len(args) == 1 && !seeded:
		err = errors.New("one script with one seed does not differ from itself: give --seed-a or --seed-b, or a second script")
	case stdin > 1 || stdin == 1 && len(args) == 1:
		err = errors.New("the standard input can only be read once: put it in a file")
	}
	return seeds, err
}

// play plays a script, and on past expectations that fail.
func (f *diffFlags) play(cmd *cobra.Command, name string, seed *int64) (run rundiff.Run, end func(), err error) {
	scripts, err := readScripts(cmd.InOrStdin(), []string{name})
	if err != nil {
		return run, nil, err
	}
	if len(scripts) != 1 {
		return run, nil, fmt.Errorf("%s has %d scripts in it: name one", name, len(scripts))
	}
	s := scripts[0]
	result, err := script.Run(s.Script, script.Options{Seed: seed, Until: f.until, Continue: true, Progress: reporter(cmd.ErrOrStderr(), s.Name)})
	if result.Cluster == nil {
		return run, nil, err
	}
	run = rundiff.Of(fmt.Sprintf("%s: %s", s.Name, result.Summary()), result.Cluster, result.Start)
	for _, failure := range result.Failures {
		run.Failures = append(run.Failures, firstLine(failure))
	}
	return run, result.Cluster.Close, nil
}

// readDump reads a dump, and lets its cluster go on if there is to be time.
func (f *diffFlags) readDump(cmd *cobra.Command, name string, seed *int64) (run rundiff.Run, end func(), err error) {
	data, err := f.load(cmd.InOrStdin(), name)
	if err != nil {
		return run, nil, err
	}
	d, err := dump.Read(data)
	if err != nil {
		return run, nil, fmt.Errorf("%s: %w", name, err)
	}
	if left := leftOut(d); left != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "volsim: %s: ignored: %s\n", name, left)
	}
	if f.until == 0 {
		return rundiff.Run{Name: name, Objects: d.Objects}, func() {}, nil
	}
	opts := dump.Options{}
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
		return nil, fileProblem(name, err)
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
