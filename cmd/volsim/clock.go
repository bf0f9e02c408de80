package main

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim/internal/tools/script"
)

func newClock() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "clock advance DURATION | settle | now",
		Short: "Read or advance the virtual time of a served cluster",
		Long: `Advance the virtual time of the cluster that volsim serve serves, run it until its controllers have nothing left to do, or print the
time.`,
		Example: `  volsim clock advance 5s --kubeconfig volsim.yaml
  volsim clock settle --kubeconfig volsim.yaml`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := url.Values{"do": {args[0]}}
			switch {
			case args[0] == "advance" && len(args) == 2:
				if _, err := script.ParseDuration(args[1]); err != nil {
					return usageError{err}
				}
				query.Set("by", args[1])
			case len(args) == 1 && (args[0] == "settle" || args[0] == "now"):
			default:
				return usageError{fmt.Errorf("invalid arguments %q; see %s --help", args, cmd.CommandPath())}
			}
			return tell(cmd.OutOrStdout(), file, "clock?"+query.Encode(), "")
		},
	}
	cmd.Flags().StringVar(&file, "kubeconfig", "", "the file that volsim serve wrote")
	return cmd
}
