// Command volsim simulates the storage control plane of Kubernetes: it runs scripts, explains the state of a cluster and predicts changes.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// gcPercent trades memory for time: a dump is read once and lives as long as the command, and most memory of a sweep is that of clusters that
// have ended.
const gcPercent = 400

// Exit statuses: 1 for a failed expectation or unreadable input, 2 for an invalid command line.
const (
	exitFailed = 1
	exitUsage  = 2
)

// usageError marks a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// execute runs one command line and returns its exit status. It writes an error to errOut in one line.
func execute(args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(withTwoDashes(root, args))
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.Execute()
	if err == nil {
		return 0
	}
	if status := exitStatus(0); errors.As(err, &status) {
		return int(status)
	}
	// Errors of the library begin with the name of its package, which is that of the command.
	text := strings.TrimPrefix(err.Error(), "volsim: ")
	fmt.Fprintf(errOut, "volsim: %s\n", strings.ReplaceAll(text, "\n", "; "))
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}

// withTwoDashes returns the command line with long flags of one dash, as in Go, spelled with two: --seeds for -seeds. Flags of one letter
// stay.
func withTwoDashes(root *cobra.Command, args []string) []string {
	long := map[string]bool{"help": true}
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { long[f.Name] = len(f.Name) > 1 })
	}
	spelled := slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && long[name] {
			spelled[i] = "-" + arg
		}
	}
	return spelled
}

// newRoot returns the command with its subcommands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "volsim",
		Short:         "Simulate the storage control plane of Kubernetes in virtual time",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.Version = version()
	root.SetVersionTemplate("{{.Version}}")
	root.AddCommand(newVersion())
	root.AddCommand(newRun())
	root.AddCommand(newExplain())
	root.AddCommand(newPredict())
	root.AddCommand(newGraph())
	root.AddCommand(newSweep())
	root.AddCommand(newDiff())
	root.AddCommand(newServe())
	root.AddCommand(newClock())
	root.AddCommand(newDo())
	root.AddCommand(newClient())
	root.AddCommand(newCSI())
	root.AddCommand(newPlayground())
	root.InitDefaultCompletionCmd()
	markUsageErrors(root)
	return root
}

// plainFlagError says what is wrong with the value of a flag in the terms of users: not those of the function that read it.
func plainFlagError(err error) error {
	var value *pflag.InvalidValueError
	var number *strconv.NumError
	if !errors.As(err, &value) || !errors.As(err, &number) {
		return err
	}
	why := "want a number"
	switch {
	case errors.Is(number, strconv.ErrRange):
		why = "the number is out of range"
	case value.GetFlag().Value.Type() == "bool":
		why = "want true or false"
	}
	return fmt.Errorf("invalid argument %q for \"--%s\" flag: %s", value.GetValue(), value.GetFlag().Name, why)
}

// markUsageErrors turns errors about flags and arguments of every command into usage errors.
func markUsageErrors(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", plainFlagError(err), cmd.CommandPath())}
	})
	for _, c := range append(cmd.Commands(), cmd) {
		if args := c.Args; args != nil {
			c.Args = func(cmd *cobra.Command, given []string) error {
				if err := args(cmd, given); err != nil {
					return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
				}
				return nil
			}
		}
	}
}
