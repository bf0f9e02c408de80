package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/storage"
)

// serveFlags holds the flags of serve.
type serveFlags struct {
	listen     string
	kubeconfig string
	nodes      []string
	drivers    []string
	files      []string
	time       string
	without    []string
}

func newServe() *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a cluster to kubectl and other clients",
		Long: `Serve the API of an empty cluster, or of one with manifests, to kubectl, client-go and controller-runtime. There is no authentication.

Virtual time begins at the present and passes as --time says:
  auto    at the pace of real time; after each write, the controllers' work is done at once (default)
  settle  only during the controllers' work, which is done after each write
  manual  only by volsim clock
  10x     ten times as fast as real time; any factor`,
		Example: `  volsim serve --kubeconfig volsim.yaml --nodes n1,n2 --driver disk.example.com
  kubectl --kubeconfig volsim.yaml get nodes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			return flags.run(ctx, cmd)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.listen, "listen", "127.0.0.1:0", "address and port; port 0 is any that is free")
	f.StringVar(&flags.kubeconfig, "kubeconfig", "", "write the configuration of kubectl to this file when the server is ready")
	f.StringSliceVar(&flags.nodes, "nodes", nil, "nodes, by name")
	f.StringSliceVar(&flags.drivers, "driver", nil, "CSI drivers, by name")
	f.StringSliceVarP(&flags.files, "filename", "f", nil, "manifests to apply before the server is ready")
	f.StringVar(&flags.time, "time", "auto", "how virtual time passes: auto, settle, manual, or a factor such as 10x")
	f.StringSliceVar(&flags.without, "without", nil, "controllers that do not run, by name")
	return cmd
}

func (f *serveFlags) run(ctx context.Context, cmd *cobra.Command) error {
	pace, err := apiserver.ParsePace(f.time)
	if err != nil {
		return usageError{fmt.Errorf("invalid --time: %w; see %s --help", err, cmd.CommandPath())}
	}
	c, err := f.cluster()
	if err != nil {
		return err
	}
	defer c.Close()
	// The server records the managers of fields from the first write on.
	server, clock := apiserver.NewWithClock(apiserver.Config{Backend: apiserver.ForEngine(internals.Engine(c))}, c, pace)
	if err := f.fill(c); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	if f.kubeconfig != "" {
		if err := os.WriteFile(f.kubeconfig, []byte(kubeconfig(url)), 0o600); err != nil {
			return errors.Join(fileError(f.kubeconfig, err), listener.Close())
		}
		fmt.Fprintf(cmd.OutOrStdout(), "serving %s; try: kubectl --kubeconfig %s get nodes\n", url, f.kubeconfig)
	} else {
		fmt.Fprintf(cmd.OutOrStdout(), "serving %s; try: kubectl --server %s get nodes\n", url, url)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go clock.Run(ctx)
	// Streams end with ctx, so that the server can be closed.
	h := &http.Server{
		Handler: server, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	context.AfterFunc(ctx, func() { _ = h.Close() }) // nothing is lost
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// cluster returns the cluster to serve, without objects.
func (f *serveFlags) cluster() (*volsim.Cluster, error) {
	// Clients expect that the default namespaces exist, and no other.
	cfg := volsim.Config{Start: time.Now().UTC().Truncate(time.Second), Without: f.without, StrictNamespaces: true}
	for _, name := range f.drivers {
		cfg.Backends = append(cfg.Backends, storage.Backend(fake.CSI(name)))
	}
	return volsim.New(cfg)
}

// fill adds the nodes and the objects of the manifests.
func (f *serveFlags) fill(c *volsim.Cluster) error {
	for _, name := range f.nodes {
		if _, err := c.AddNode(name); err != nil {
			return err
		}
	}
	for _, file := range f.files {
		data, err := os.ReadFile(file)
		if err != nil {
			return fileError(file, err)
		}
		if err := c.Apply(data); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	// The server is ready when the nodes have registered.
	return c.Settle()
}

// kubeconfig returns the configuration of kubectl for a server.
func kubeconfig(url string) string {
	return strings.Join([]string{
		"apiVersion: v1", "kind: Config", "current-context: volsim",
		"clusters:", "- name: volsim", "  cluster:", "    server: " + url,
		"contexts:", "- name: volsim", "  context:", "    cluster: volsim", "",
	}, "\n")
}
