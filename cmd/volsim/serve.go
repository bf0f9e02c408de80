package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/core/actors"
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
  auto    at the pace of real time; after each write the controllers' work is done at once, at most 15 minutes of it; while the cluster is
          ahead of real time, time passes at half the pace (default)
  settle  only during the controllers' work, which is done after each write
  manual  only by volsim clock
  10x     ten times as fast as real time; any factor`,
		Example: `  volsim serve --kubeconfig volsim.yaml --nodes n1,n2 --driver disk.example.com,local.example.com@n1
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
	f.StringSliceVar(&flags.drivers, "driver", nil, "CSI drivers: NAME is on all nodes, NAME@NODE on one node")
	f.StringSliceVarP(&flags.files, "filename", "f", nil, "manifests to apply before the server is ready")
	f.StringVar(&flags.time, "time", "auto", "how virtual time passes: auto, settle, manual, or a factor such as 10x")
	f.StringSliceVar(&flags.without, "without", nil, "controllers that do not run, by name; all is every controller and kubelet: a bare API server")
	return cmd
}

func (f *serveFlags) run(ctx context.Context, cmd *cobra.Command) error {
	pace, err := apiserver.ParsePace(f.time)
	if err != nil {
		return usageError{fmt.Errorf("invalid --time: %w; see %s --help", err, cmd.CommandPath())}
	}
	if f.bare() && len(f.nodes) > 0 {
		return usageError{errors.New("invalid --without: all, and --nodes needs kubelets; create Node objects instead")}
	}
	if err := f.check(); err != nil {
		return usageError{err}
	}
	c, err := f.cluster()
	if err != nil {
		return err
	}
	defer c.Close()
	// The server records the managers of fields from the first write on.
	server, clock := apiserver.NewWithClock(apiserver.Config{
		Backend: apiserver.ForEngine(internals.Engine(c)), TaintNodes: !f.bare() && !slices.Contains(f.without, actors.NodeLifecycle), PodPriority: true,
	}, internals.Engine(c), pace)
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

// createLatency is how long a driver takes for a volume. A pod is created meanwhile, as in most real clusters.
const createLatency = 20 * time.Millisecond

// cluster returns the cluster to serve, without objects.
func (f *serveFlags) cluster() (*volsim.Cluster, error) {
	// Clients expect that the default namespaces exist, and no other.
	cfg := volsim.Config{Start: time.Now().UTC().Truncate(time.Second), Without: f.without, StrictNamespaces: true}
	for name := range f.driverNodes() {
		cfg.Backends = append(cfg.Backends, storage.Backend(fake.CSI(name, fake.Latency(storage.Create, createLatency))))
	}
	slices.SortFunc(cfg.Backends, func(a, b storage.Backend) int { return strings.Compare(a.Name(), b.Name()) })
	if f.bare() {
		cfg.Without, internals.Options(&cfg).NoControllers = nil, true
	}
	return volsim.New(cfg)
}

// bare reports whether no controller and no kubelet runs.
func (f *serveFlags) bare() bool { return slices.Contains(f.without, "all") }

// driverNodes returns the nodes of each driver; nil is all of them.
func (f *serveFlags) driverNodes() map[string][]string {
	nodes := map[string][]string{}
	for _, text := range f.drivers {
		name, node, single := strings.Cut(text, "@")
		known, seen := nodes[name]
		switch {
		case !single, seen && known == nil:
			nodes[name] = nil
		default:
			nodes[name] = append(known, node)
		}
	}
	return nodes
}

// check returns an error for a driver on a node that does not exist.
func (f *serveFlags) check() error {
	for name, nodes := range f.driverNodes() {
		for _, node := range nodes {
			if !slices.Contains(f.nodes, node) {
				return fmt.Errorf("invalid --driver: %s@%s: there is no node %s; add it to --nodes", name, node, node)
			}
		}
	}
	return nil
}

// fill adds the nodes and the objects of the manifests.
func (f *serveFlags) fill(c *volsim.Cluster) error {
	for _, name := range f.nodes {
		node, err := c.AddNode(name)
		if err != nil {
			return err
		}
		for driver, nodes := range f.driverNodes() {
			if nodes != nil && !slices.Contains(nodes, name) {
				node.Unregister(driver)
			}
		}
	}
	// Clients expect the Service of the API server.
	if err := c.Apply([]byte(kubernetesService)); err != nil {
		return err
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

const kubernetesService = `{apiVersion: v1, kind: Service, metadata: {name: kubernetes, namespace: default,
  labels: {component: apiserver, provider: kubernetes}}, spec: {clusterIP: 10.96.0.1, clusterIPs: [10.96.0.1], internalTrafficPolicy: Cluster,
  ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, sessionAffinity: None, type: ClusterIP,
  ports: [{name: https, port: 443, protocol: TCP, targetPort: 6443}]}}`

// kubeconfig returns the configuration of kubectl for a server.
func kubeconfig(url string) string {
	return strings.Join([]string{
		"apiVersion: v1", "kind: Config", "current-context: volsim",
		"clusters:", "- name: volsim", "  cluster:", "    server: " + url,
		"contexts:", "- name: volsim", "  context:", "    cluster: volsim", "",
	}, "\n")
}
