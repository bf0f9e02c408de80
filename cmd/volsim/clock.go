package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
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
				if _, err := time.ParseDuration(args[1]); err != nil {
					return usageError{fmt.Errorf("invalid DURATION %q: want 5s or 10m, for example", args[1])}
				}
				query.Set("by", args[1])
			case len(args) == 1 && (args[0] == "settle" || args[0] == "now"):
			default:
				return usageError{fmt.Errorf("invalid arguments %q; see %s --help", args, cmd.CommandPath())}
			}
			return clock(cmd.OutOrStdout(), file, query)
		},
	}
	cmd.Flags().StringVar(&file, "kubeconfig", "", "the file that volsim serve wrote")
	return cmd
}

// clock sends a request to the clock of a served cluster and prints the answer.
func clock(out io.Writer, file string, query url.Values) error {
	if file == "" {
		return usageError{errors.New("missing --kubeconfig")}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return fileError(file, err)
	}
	var config struct {
		Clusters []struct{ Cluster struct{ Server string } }
	}
	if err := yaml.Unmarshal(data, &config); err != nil || len(config.Clusters) == 0 {
		return fmt.Errorf("read %s: no cluster in it; give the file that volsim serve wrote", file)
	}
	resp, err := http.Post(config.Clusters[0].Cluster.Server+"/volsim/clock?"+query.Encode(), "", nil)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(strings.TrimSpace(string(text)))
	}
	_, err = out.Write(text)
	return err
}
