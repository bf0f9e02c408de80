package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/tools/rules"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which Kubernetes version's rules are held",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
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
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "volsim %s\nKubernetes %s: %d rules, %d not simulated\n",
				version, volsim.KubernetesVersion, len(rules.All()), notSimulated)
			return err
		},
	}
}
