package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/tools/report"
	"github.com/volsim/volsim/internal/tools/script"
)

// runFlags holds the flags of run.
type runFlags struct {
	seed        int64
	until       time.Duration
	output      string
	html        string
	log         string
	verbosity   int
	modules     string
	trace       string
	choices     string
	update      bool
	solution    bool
	nodes       int
	quiet       bool
	helpCommand bool
}

func newRun() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run FILE.txtar | FILE.yaml | DIR | -",
		Short: "Run scripts or manifests",
		Long: `Run scripts (docs/scripts.md) and report the line at which an expectation fails.

A manifest is applied to an empty cluster, whose controllers then run until they have nothing left to do. If it is a dump of a cluster, the
cluster continues from it. In a directory and the directories below it all scripts run or, if there are none, all manifests together. Each FILE
has a cluster of its own, except for several files of one dump. "-" is standard input.

The exit status is 0 if everything passed, 1 if an expectation failed or a file could not be read, 2 if the command line is invalid.`,
		Example: `  volsim run lesson.txtar
  volsim run cluster.yaml --until 1h --html picture.html
  volsim run app/ --nodes 3
  volsim run --choices 0,2,1 --trace - race.txtar
  kubectl get pv,pvc,sc,pods,nodes -A -o yaml | volsim run -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var seed *int64
			if cmd.Flags().Changed("seed") {
				seed = &flags.seed
			}
			return flags.run(cmd, args, seed)
		},
	}
	f := cmd.Flags()
	f.Int64Var(&flags.seed, "seed", 0,
		"run with this seed only; 0 runs events due at the same time first in, first out, other seeds shuffle them")
	durationVar(f, &flags.until, "until", 0, "after the last line, advance virtual time to this long after the start")
	f.StringVarP(&flags.output, "output", "o", "text", "output format: text, json or yaml")
	f.StringVar(&flags.html, "html", "", "write a picture of the run (HTML) to this file")
	f.StringVar(&flags.log, "log", "", "write the log of the components to this file, as the real ones write it; - is standard output")
	f.IntVarP(&flags.verbosity, "v", "v", 5, "verbosity of --log: the flag -v of the real components")
	f.StringVar(&flags.modules, "vmodule", "", "verbosities of source files, which replace -v, such as pv_controller*=5,reconciler=2")
	f.StringVar(&flags.trace, "trace", "", "write the trace to this file; - is standard output")
	f.StringVar(&flags.choices, "choices", "",
		"run one script with these choices (printed by volsim sweep --exhaustive) or those in this file; - is standard input")
	f.BoolVar(&flags.update, "update", false, "write the expected outputs of cmp and trace into the scripts instead of comparing")
	f.BoolVar(&flags.solution, "solution", false, "after a lesson, run the solution of its question and check it")
	f.IntVar(&flags.nodes, "nodes", 0, "add this many nodes, node-1 and so on, to the manifests")
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "print only the result of each script")
	f.BoolVar(&flags.helpCommand, "help-commands", false, "list the commands of scripts")
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command, args []string, seed *int64) error {
	if f.helpCommand {
		_, err := io.WriteString(cmd.OutOrStdout(), script.Help())
		return err
	}
	if err := f.check(args); err != nil {
		return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	}
	scripts, err := readScripts(cmd.InOrStdin(), args, readOptions{update: f.update, nodes: f.nodes, solution: f.solution})
	if err != nil {
		return err
	}
	if len(scripts) > 1 && (f.html != "" || f.log != "" || f.trace != "") {
		return usageError{fmt.Errorf("invalid --html, --log or --trace: want one script, got %d", len(scripts))}
	}
	choose, err := f.choose(cmd.InOrStdin(), args, scripts, seed)
	if err != nil {
		return err
	}
	if manifests := slices.DeleteFunc(slices.Clone(scripts), func(s input) bool { return !s.manifest || s.Dump() != nil }); len(manifests) > 1 {
		fmt.Fprintln(cmd.ErrOrStderr(), "volsim: each manifest has a cluster of its own; put those that belong together into a directory, and name that")
	}
	failed := 0
	var last error
	for _, s := range scripts {
		if err := f.runScript(cmd, s, script.Options{Seed: seed, Choose: choose, Server: newServer, Standard: addStandard, Policies: followPolicies}); err != nil {
			failed++
			last = err
			if len(scripts) > 1 {
				fmt.Fprintf(cmd.ErrOrStderr(), "volsim: %s\n", firstLine(err))
			}
		}
	}
	if failed == 0 || len(scripts) == 1 {
		return last
	}
	return fmt.Errorf("%d of %d scripts failed", failed, len(scripts))
}

// choose returns the function that replays --choices; nil without them.
func (f *runFlags) choose(in io.Reader, args []string, scripts []input, seed *int64) (func(n int) int, error) {
	if f.choices == "" {
		return nil, nil
	}
	switch {
	case seed != nil:
		return nil, usageError{errors.New("--choices and --seed are mutually exclusive")}
	case len(scripts) != 1:
		return nil, usageError{fmt.Errorf("invalid --choices: want one script, got %d", len(scripts))}
	case scripts[0].manifest:
		return nil, usageError{errors.New("invalid --choices for a manifest; use volsim sweep --choices")}
	}
	choices, err := readChoices(in, f.choices, args)
	if err != nil {
		return nil, err
	}
	return engine.Replay(choices), nil
}

func (f *runFlags) check(args []string) error {
	switch {
	case len(args) == 0:
		return errors.New("missing FILE argument")
	case !slices.Contains([]string{"text", "json", "yaml"}, f.output):
		return fmt.Errorf("invalid -o %q: want text, json or yaml", f.output)
	case f.nodes < 0 || f.nodes > maxNodes:
		return fmt.Errorf("invalid --nodes %d: want a number from 0 to %d", f.nodes, maxNodes)
	case f.solution && f.update:
		return errors.New("--solution and --update are mutually exclusive")
	case f.verbosity < 0:
		return fmt.Errorf("invalid -v %d: must not be negative", f.verbosity)
	case f.until < 0:
		return fmt.Errorf("invalid --until %s: must not be negative", f.until)
	}
	if _, err := klog.ParseModules(f.modules); err != nil {
		return fmt.Errorf("invalid --vmodule: %w", err)
	}
	return nil
}

// runScript runs one script and writes its outputs. The error is the first failure, in one line.
func (f *runFlags) runScript(cmd *cobra.Command, s input, opts script.Options) error {
	s.noteUnsimulated(cmd.ErrOrStderr())
	if d := s.Dump(); d != nil {
		if ignored := report.Ignored(d); ignored != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "volsim: ignored: %s\n", ignored)
		}
	}
	if f.log != "" {
		opts.Log = &script.LogOptions{V: f.verbosity, Modules: f.modules}
	}
	opts.Update, opts.Until, opts.Progress = f.update, f.until, reporter(cmd.ErrOrStderr(), s.Name)
	text := f.output == "text" && !f.quiet
	if text {
		opts.Out = cmd.OutOrStdout()
	}
	result, failure := script.Run(s.Script, opts)
	if result.Cluster != nil {
		defer result.Cluster.Close()
	}
	if err := f.report(cmd.OutOrStdout(), s.Name, result); err != nil {
		return err
	}
	if s.manifest && s.Dump() == nil && waitForNodes(result.Cluster) {
		fmt.Fprintln(cmd.ErrOrStderr(), "volsim: pods wait for a node, and the manifests have none: --nodes 1 adds one")
	}
	if f.update && result.Updated && s.file != "" && failure == nil {
		if err := os.WriteFile(s.file, result.Archive, 0o644); err != nil {
			return fileError(s.file, err)
		}
	}
	if err := f.writeFiles(cmd.OutOrStdout(), s, result); err != nil {
		return err
	}
	if failure == nil {
		return nil
	}
	// Further lines of a failure, such as a diff, come before the line that ends the run.
	for _, one := range result.Failures {
		if _, rest, long := strings.Cut(one.Error(), "\n"); long {
			fmt.Fprintln(cmd.ErrOrStderr(), rest)
		}
	}
	return errors.New(firstLine(result.Failures[0]))
}

// waitForNodes reports whether a cluster has pods and no nodes.
func waitForNodes(c *volsim.Cluster) bool {
	return c != nil && len(c.Nodes.List()) == 0 && len(c.Pods.List()) > 0
}

func firstLine(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSuffix(first, ":")
}

// progressInterval is the real time between two progress reports.
const progressInterval = 2 * time.Second

// reporter returns a function that writes the progress of a long run.
func reporter(w io.Writer, name string) func(script.Progress) {
	next := time.Now().Add(progressInterval)
	return func(p script.Progress) {
		if time.Now().Before(next) {
			return
		}
		next = time.Now().Add(progressInterval)
		seed := ""
		if p.Seeds > 1 {
			seed = fmt.Sprintf("seed %d, ", p.Seed)
		}
		fmt.Fprintf(w, "... running line %d of %s, %s%s of virtual time so far\n", p.Line, name, seed, p.Elapsed)
	}
}
