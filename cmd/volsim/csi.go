package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

const (
	csiProgram = "volsim-csi"
	installCSI = "git clone https://github.com/volsim/volsim && go -C volsim/csi install ./cmd/volsim-csi"
)

func newCSI() *cobra.Command {
	return &cobra.Command{
		Use:   "csi test | merge | stories [flags]",
		Short: "Test a CSI driver against everything that Kubernetes does to it",
		Long: `Test a CSI driver, in any language, as the storage of a simulated cluster.

volsim csi runs the program volsim-csi, which it finds in PATH, as kubectl and git run plugins: the arguments, the output and the exit
status are those of volsim-csi. It is a program of its own because only it needs gRPC. This command installs it:

  ` + installCSI + `

Exit status 0: the driver does nothing wrong; 1: there are findings; 2: the test could not run.`,
		Example: `  volsim csi test --endpoint unix:///run/csi/csi.sock
  volsim csi test --help
  volsim csi stories`,
		DisableFlagParsing: true, // the flags are those of volsim-csi
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "-h" || args[0] == "--help" || args[0] == "help" {
				return cmd.Help()
			}
			return runCSI(cmd, args)
		},
	}
}

// runCSI runs volsim-csi and returns its exit status as an error.
func runCSI(cmd *cobra.Command, args []string) error {
	path, err := exec.LookPath(csiProgram)
	if err != nil { // status 1 would mean that the driver is wrong
		return usageError{fmt.Errorf("find %s in PATH: %w; install it: %s", csiProgram, errors.Unwrap(err), installCSI)}
	}
	c := exec.Command(path, args...)
	c.Stdin, c.Stdout, c.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	// volsim-csi unmounts what the driver mounted before it ends, so volsim waits for it.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := c.Start(); err != nil {
		return usageError{fmt.Errorf("run %s: %w", path, err)}
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case s := <-signals:
				_ = c.Process.Signal(s)
			case <-ended:
				return
			}
		}
	}()
	err = c.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		return exitStatus(exit.ExitCode())
	}
	if err != nil {
		return usageError{fmt.Errorf("run %s: %w", path, err)}
	}
	return nil
}
