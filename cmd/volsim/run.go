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

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/tools/script"
)

// runFlags are what the command run was asked for.
type runFlags struct {
	seed        int64
	until       time.Duration
	output      string
	html        string
	log         string
	trace       string
	choices     string
	update      bool
	quiet       bool
	helpCommand bool
}

func newRun() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run FILE.txtar | FILE.yaml | DIR | -",
		Short: "Play scripts, or manifests, in virtual time",
		Long: `Run plays scripts (docs/scripts.md) and says at which line something was not as expected. A manifest is applied to an empty cluster, whose
controllers then run until they have nothing more to do. Of a directory all scripts are played, or, if there is none, all manifests together. "-" is
the standard input.

The exit status is 1 when an expectation failed or something could not be read, 2 when the command line cannot be understood.`,
		Example: `  volsim run lesson.txtar
  volsim run cluster.yaml --until 1h --html picture.html
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
	f.Int64Var(&flags.seed, "seed", 0, "play with this seed, whatever the script says; 0 plays in order, others shuffle what is due at one instant")
	f.DurationVar(&flags.until, "until", 0, "let time go on at the end, to this long after the start")
	f.StringVarP(&flags.output, "output", "o", "text", "text, json or yaml")
	f.StringVar(&flags.html, "html", "", "write a picture of the run to this file")
	f.StringVar(&flags.log, "log", "", "write what the controllers would have logged to this file, - for the standard output")
	f.StringVar(&flags.trace, "trace", "", "write the trace to this file, - for the standard output")
	f.StringVar(&flags.choices, "choices", "", "play one script with these choices, as volsim sweep --exhaustive prints them, or those in this file, - for the standard input")
	f.BoolVar(&flags.update, "update", false, "write the files that cmp and trace compare with into the scripts")
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "print only how each script ended")
	f.BoolVar(&flags.helpCommand, "help-commands", false, "print all commands of scripts")
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command, args []string, seed *int64) error {
	if f.helpCommand {
		_, err := io.WriteString(cmd.OutOrStdout(), script.Help())
		return err
	}
	if err := f.check(args); err != nil {
		return usageError{fmt.Errorf("%w: see %s --help", err, cmd.CommandPath())}
	}
	scripts, err := readScripts(cmd.InOrStdin(), args)
	if err != nil {
		return err
	}
	if len(scripts) > 1 && (f.html != "" || f.log != "" || f.trace != "") {
		return usageError{fmt.Errorf("--html, --log and --trace are about one script, and these are %d", len(scripts))}
	}
	choose, err := f.choose(cmd.InOrStdin(), args, scripts, seed)
	if err != nil {
		return err
	}
	failed := 0
	var last error
	for _, s := range scripts {
		if err := f.play(cmd, s, script.Options{Seed: seed, Choose: choose}); err != nil {
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

// choose makes the choices of a run of those that were asked for; nil without any.
func (f *runFlags) choose(in io.Reader, args []string, scripts []input, seed *int64) (func(n int) int, error) {
	if f.choices == "" {
		return nil, nil
	}
	switch {
	case seed != nil:
		return nil, usageError{errors.New("--choices and --seed do not go together: both say what comes first")}
	case len(scripts) != 1:
		return nil, usageError{fmt.Errorf("--choices is about one script, and these are %d", len(scripts))}
	case scripts[0].manifest:
		return nil, usageError{errors.New("--choices is about a script: choices of a manifest are for volsim sweep --choices")}
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
		return errors.New("it is not said what to run")
	case !slices.Contains([]string{"text", "json", "yaml"}, f.output):
		return fmt.Errorf("-o %s: there are text, json and yaml", f.output)
	case f.until < 0:
		return fmt.Errorf("--until %s: time does not run backwards", f.until)
	}
	return nil
}

// play plays one script and writes all that was asked for. The error says how it failed, in a line.
func (f *runFlags) play(cmd *cobra.Command, s input, opts script.Options) error {
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
	if f.update && result.Updated && s.file != "" && failure == nil {
		if err := os.WriteFile(s.file, result.Archive, 0o644); err != nil {
			return fileProblem(s.file, err)
		}
	}
	if err := f.writeFiles(cmd.OutOrStdout(), s.Name, result); err != nil {
		return err
	}
	if failure == nil {
		return nil
	}
	// The rest of a long message, such as a diff, stands above the line that ends the run.
	for _, one := range result.Failures {
		if _, rest, long := strings.Cut(one.Error(), "\n"); long {
			fmt.Fprintln(cmd.ErrOrStderr(), rest)
		}
	}
	return errors.New(firstLine(result.Failures[0]))
}

func firstLine(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSuffix(first, ":")
}

// patience is how long a run is quiet, and the time between two reports after that.
const patience = 2 * time.Second

// reporter tells now and then how far a long run is.
func reporter(w io.Writer, name string) func(script.Progress) {
	next := time.Now().Add(patience)
	return func(p script.Progress) {
		if time.Now().Before(next) {
			return
		}
		next = time.Now().Add(patience)
		seed := ""
		if p.Seeds > 1 {
			seed = fmt.Sprintf("seed %d, ", p.Seed)
		}
		fmt.Fprintf(w, "volsim: %s:%d: %s%s of virtual time\n", name, p.Line, seed, p.Elapsed)
	}
}
