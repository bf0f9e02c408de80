package main

import (
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim/internal/tools/rules"
)

// kubernetesVersion is the version of Kubernetes that is simulated.
const kubernetesVersion = "v1.36.3"

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and that of the simulated Kubernetes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), version())
			return err
		},
	}
}

// version describes the build and what it simulates, in two lines.
func version() string {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	notSimulated := 0
	for _, rule := range rules.All() {
		if rule.NotSimulated != "" {
			notSimulated++
		}
	}
	return fmt.Sprintf("volsim %s\nKubernetes %s: %d rules, %d not simulated\n", version, kubernetesVersion, len(rules.All()), notSimulated)
}
