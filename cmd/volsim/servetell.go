package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/internal/tools/script"
)

func newDo() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "do LINE...",
		Short: "Execute lines of a script in a served cluster: faults, crashes, explanations",
		Long: `Execute commands of scripts (docs/scripts.md) in the cluster that volsim serve serves, one per argument, up to the first that fails. "-"
reads them from standard input, and help lists all commands. Faults apply to controllers, and to the writes of clients: the actor of a client
is user/ and the manager of the fields that it writes, or the name in User-Agent.`,
		Example: `  volsim do 'fault backend disk.example.com Create error=Internal times=3' --kubeconfig volsim.yaml
  volsim do 'fault api update actor=user/manager error=Conflict once' 'crash kube-scheduler' --kubeconfig volsim.yaml
  volsim do 'explain pvc/data' trace --kubeconfig volsim.yaml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args, "\n")
			if text == "help" {
				_, err := io.WriteString(cmd.OutOrStdout(), script.Help())
				return err
			}
			if len(args) == 1 && args[0] == "-" {
				data, err := io.ReadAll(cmd.InOrStdin())
				if err != nil {
					return fmt.Errorf("read standard input: %w", err)
				}
				text = string(data)
			}
			return tell(cmd.OutOrStdout(), file, "do", text)
		},
	}
	cmd.Flags().StringVar(&file, "kubeconfig", "", "the file that volsim serve wrote")
	return cmd
}

func newClient() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "client lag NAME DURATION | crash NAME [DURATION] | restart NAME",
		Short: "Let a client of a served cluster lag behind, or crash",
		Long: `Let the watches of a client of the served cluster lag behind by DURATION of real time, or end its watches and leave its requests without an
answer: for DURATION, or else until restart. NAME is the name of the client in User-Agent, before the slash.`,
		Example: `  volsim client lag manager 2s --kubeconfig volsim.yaml
  volsim client crash manager 10s --kubeconfig volsim.yaml`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkClient(args); err != nil {
				return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
			}
			query := url.Values{"do": {args[0]}, "name": {args[1]}}
			if len(args) == 3 {
				query.Set("by", args[2])
			}
			return tell(cmd.OutOrStdout(), file, "client?"+query.Encode(), "")
		},
	}
	cmd.Flags().StringVar(&file, "kubeconfig", "", "the file that volsim serve wrote")
	return cmd
}

// checkClient returns what is wrong with the arguments of volsim client, in the words of its command line.
func checkClient(args []string) error {
	action, given := args[0], len(args) == 3
	switch {
	case action != "lag" && action != "crash" && action != "restart":
		return fmt.Errorf("unknown action %q: want lag, crash or restart", action)
	case args[1] == "":
		return errors.New("empty NAME: want the name of the client in User-Agent")
	case action == "lag" && !given:
		return errors.New("missing DURATION")
	case action == "restart" && given:
		return fmt.Errorf("restart takes no DURATION, got %q", args[2])
	case !given:
		return nil
	}
	d, err := script.ParseDuration(args[2])
	if err != nil {
		return err
	}
	if d < 0 || d == 0 && action == "crash" {
		return fmt.Errorf("invalid DURATION %q: want a duration such as 2s", args[2])
	}
	return nil
}

// config is what the file says that volsim serve wrote.
type config struct {
	Clusters []struct {
		Cluster struct {
			Server    string
			Authority []byte `json:"certificate-authority-data"`
		}
	}
	Users []struct{ User struct{ Token string } }
}

// tell sends a request to /volsim/ of a served cluster and prints the answer.
func tell(out io.Writer, file, path, body string) error {
	if file == "" {
		return usageError{errors.New("missing --kubeconfig")}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return fileError(file, err)
	}
	var c config
	if err := yaml.Unmarshal(data, &c); err != nil || len(c.Clusters) == 0 {
		return fmt.Errorf("read %s: no cluster in it; give the file that volsim serve wrote", file)
	}
	req, err := http.NewRequest(http.MethodPost, c.Clusters[0].Cluster.Server+"/volsim/"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	if len(c.Users) > 0 {
		req.Header.Set("Authorization", "Bearer "+c.Users[0].User.Token)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	if ca := c.Clusters[0].Cluster.Authority; len(ca) > 0 {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(ca)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
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
