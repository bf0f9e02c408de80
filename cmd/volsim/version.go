package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/docs/rules"
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
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "volsim %s\nKubernetes %s: %d rules, %d left out\n",
				version, volsim.KubernetesVersion, len(rules.All()), len(rules.LeftOut()))
			return err
		},
	}
}
