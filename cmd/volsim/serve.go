package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/apiserver/clock"
	"github.com/volsim/volsim/internal/apiserver/httpconn"
	"github.com/volsim/volsim/internal/apiserver/policytypes"
	"github.com/volsim/volsim/internal/apiserver/webhooks"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/gates"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/tools/script"
	"github.com/volsim/volsim/internal/tools/standard"
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
	record     string
	secure     bool
	token      string
	traceLimit int
	gates      string
	services   map[string]string
}

func newServe() *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a cluster to kubectl and other clients",
		Long: `Serve the API of an empty cluster, or of one with manifests, to kubectl, client-go and controller-runtime. On a loopback address there is no
authentication unless --secure or --token asks for it. On any other address there is: TLS with a certificate made for this run, and a token; the
kubeconfig has both.

The server writes the run as a script, which is complete when the server ends by Ctrl-C or SIGTERM: volsim run FILE repeats it, with the same
trace.

Virtual time begins at the present and passes as --time says:
  auto    at the pace of real time; after each write the controllers' work is done at once, at most 15 minutes of it; while the cluster is
          ahead of real time, time passes at half the pace (default)
  settle  only during the controllers' work, which is done after each write
  manual  only by volsim clock
  10x     ten times as fast as real time; any factor

While the cluster is ahead of real time, kubectl describe and kubectl events print ages as <invalid>; kubectl get does not.`,
		Example: `  volsim serve --kubeconfig volsim.yaml --nodes n1,n2 --driver disk.example.com,local.example.com@n1
  kubectl --kubeconfig volsim.yaml get nodes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
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
	f.StringVar(&flags.record, "record", "", "write the run as a script to this file; the default is beside the kubeconfig, and none is no file")
	f.BoolVar(&flags.secure, "secure", false, "TLS and a token also on a loopback address")
	f.StringVar(&flags.token, "token", "", "accept this token, and no request without it; the default is a random one where a token is needed")
	f.IntVar(&flags.traceLimit, "trace-limit", 50_000, "how many entries the trace keeps, the newest ones, so that memory does not grow; 0 is all")
	f.StringVar(&flags.gates, "feature-gates", "", "feature gates of Kubernetes, as NAME=true,NAME=false: "+strings.Join(gates.Known, " and ")+
		", which are off by default")
	f.StringToStringVar(&flags.services, "service", nil, "where a service with an admission webhook is, as NAMESPACE/NAME=HOST:PORT; may be repeated")
	f.StringSliceVar(&flags.without, "without", nil, "controllers that do not run, by name; all is every controller and kubelet: a bare API server")
	return cmd
}

func (f *serveFlags) run(ctx context.Context, cmd *cobra.Command) error {
	pace, err := clock.ParsePace(f.time)
	if err != nil {
		return usageError{fmt.Errorf("invalid --time: %w; see %s --help", err, cmd.CommandPath())}
	}
	if f.bare() && len(f.nodes) > 0 {
		return usageError{errors.New("invalid --without: all, and --nodes needs kubelets; create Node objects instead")}
	}
	if err := f.check(); err != nil {
		return usageError{err}
	}
	guard, err := f.newGuard()
	if err != nil {
		return err
	}
	text, files, err := f.script(time.Now().UTC().Truncate(time.Second))
	if err != nil {
		return err
	}
	journal, err := newJournal(f.recordFile(cmd), text, files)
	if err != nil {
		return err
	}
	s, err := f.begin(text, files, pace, journal, guard)
	if err != nil {
		return errors.Join(err, journal.close())
	}
	err = f.listenAndServe(ctx, cmd, s, guard)
	// Requests that came last may still be served.
	s.server.Do(func() {
		err = errors.Join(err, journal.close())
		s.session.Cluster().Close()
	})
	return err
}

// served is a cluster that is served.
type served struct {
	session *script.Session
	result  *script.Result
	server  *apiserver.Server
	clock   *clock.Clock
	journal *journal
}

// begin makes the cluster: it runs the script of its beginning.
func (f *serveFlags) begin(text string, files []txtar.File, pace clock.Pace, j *journal, g *guard) (*served, error) {
	parsed, err := script.Parse("serve", txtar.Format(&txtar.Archive{Comment: []byte(text), Files: files}))
	if err != nil {
		return nil, f.explained(err)
	}
	s := &served{journal: j}
	opts := script.Options{Standard: addStandard, Server: func(c *volsim.Cluster) script.Server {
		cfg := serverConfig(c)
		cfg.Sent, cfg.Webhooks, cfg.TokenKey = j.sent, webhooks.NewClient(f.services), []byte(g.token)
		s.server, s.clock = apiserver.NewWithClock(cfg, internals.Engine(c), pace)
		s.clock.Pause()
		g.issued = s.server.Issued
		return requestsTo(s.server)
	}}
	if s.session, err = script.Begin(parsed, opts); err != nil {
		return nil, f.explained(err)
	}
	j.muted = true // its requests are in the script
	if s.result, err = s.session.Run(); err != nil {
		return nil, f.explained(err)
	}
	j.muted = false
	s.clock.Keep(j)
	return s, nil
}

// explained returns an error of the script of the beginning without its place there.
func (f *serveFlags) explained(err error) error {
	if at := new(script.Error); errors.As(err, &at) {
		err = at.Err
	}
	return withoutError(err)
}

// withoutError returns an error of a cluster, or of the setting of a script, about an unknown controller as one of the option.
func withoutError(err error) error {
	if _, unknown, ok := strings.Cut(err.Error(), "ithout names "); ok {
		return usageError{errors.New("invalid --without: " + unknown)}
	}
	return err
}

// serverConfig configures the API server of a cluster, in volsim serve and when its run is done again.
func serverConfig(c *volsim.Cluster) apiserver.Config {
	controllers := c.Controllers()
	return apiserver.Config{
		Backend: apiserver.ForEngine(internals.Engine(c)), TaintNodes: slices.Contains(controllers, actors.NodeLifecycle), PodPriority: true,
		StoredRoles: slices.Contains(controllers, standard.APIServer), Inject: c.Faults.Inject,
	}
}

// followPolicies lets the admission policies of a cluster take effect.
func followPolicies(c *volsim.Cluster) { apiserver.FollowPolicies(internals.Engine(c)) }

// addStandard is script.Options.Standard.
func addStandard(c *volsim.Cluster, names []string) error {
	for _, name := range names {
		ctl, ok := standard.New(name, policytypes.Checker(internals.Engine(c)))
		if !ok {
			return fmt.Errorf("unknown component %q: want one of %s", name, strings.Join(standard.Names(), ", "))
		}
		if err := c.AddController(ctl); err != nil {
			return err
		}
		if name == standard.ServiceAccounts {
			internals.Engine(c).Store().AdmitServiceAccounts()
		}
	}
	return nil
}

// without returns the names that are not among others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// newServer is script.Options.Server for volsim run.
func newServer(c *volsim.Cluster) script.Server { return requestsTo(apiserver.New(serverConfig(c))) }

// requestsTo sends the requests of a script to a server.
func requestsTo(server http.RoundTripper) script.Server {
	return func(r script.Request) (script.Answer, error) {
		req, err := http.NewRequest(r.Method, "http://cluster"+r.Path, bytes.NewReader(r.Body))
		if err != nil {
			return script.Answer{}, err
		}
		req.Header.Set("User-Agent", r.Client)
		req.Header.Set("Content-Type", r.MediaType)
		if r.As != "" {
			req.Header.Set("Impersonate-User", r.As)
			req.Header["Impersonate-Group"] = r.Groups
			req.Header.Set("Impersonate-Uid", r.UID)
		}
		var answers *apiserver.Answers // a script asks no webhooks
		if r.Webhooks != "" {
			if err := json.Unmarshal([]byte(r.Webhooks), &answers); err != nil {
				return script.Answer{}, fmt.Errorf("invalid --webhooks: %w", err)
			}
		}
		resp, err := server.RoundTrip(apiserver.WithAnswers(req, answers))
		if err != nil {
			return script.Answer{}, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return script.Answer{Code: resp.StatusCode, Body: body}, err
	}
}

func (f *serveFlags) listenAndServe(ctx context.Context, cmd *cobra.Command, s *served, g *guard) error {
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return err
	}
	url := g.scheme() + "://" + reachable(listener.Addr())
	if f.kubeconfig != "" {
		if err := os.WriteFile(f.kubeconfig, []byte(kubeconfig(url, g)), 0o600); err != nil {
			return errors.Join(fileError(f.kubeconfig, err), listener.Close())
		}
		fmt.Fprintf(cmd.OutOrStdout(), "serving %s; try: kubectl --kubeconfig %s get nodes\n", url, f.kubeconfig)
	} else {
		fmt.Fprintf(cmd.OutOrStdout(), "serving %s; try: kubectl --server %s get nodes\n", url, url)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "a picture of the run: %s/volsim/\n", url)
	if file := s.journal.name(); file != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "Ctrl-C ends the run and completes its script; then try: volsim run %s\n", file)
	}
	ctx, cancel := context.WithCancel(ctx)
	var clock sync.WaitGroup
	clock.Go(func() { s.clock.Run(ctx) })
	defer clock.Wait()
	defer cancel()
	s.server.ReviewControllers(ctx)
	// Streams end with ctx, so that the server can be closed.
	h := &http.Server{
		Handler: g.handler(patient(s.handler())), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: log.New(io.Discard, "", 0), Protocols: &http.Protocols{},
	}
	h.Protocols.SetHTTP1(true)
	h.Protocols.SetUnencryptedHTTP2(g.tls != nil)    // the listener encrypts it
	context.AfterFunc(ctx, func() { _ = h.Close() }) // nothing is lost
	err = h.Serve(&httpconn.Listener{
		Listener: listener, Handler: g.handler(s.handler()), TLS: g.tls, Context: ctx, Simple: isSimple,
		HeadTimeout: h.ReadHeaderTimeout, BodyTimeout: bodyPatience, IdleTimeout: h.IdleTimeout,
	})
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// isSimple reports whether a request is answered at once: watches and the pages of a run are not.
func isSimple(_, target string) bool {
	return !strings.Contains(target, "watch") && !strings.HasPrefix(target, "/volsim")
}

// createLatency is how long a driver takes for a volume. A pod is created meanwhile, as in most real clusters.
const createLatency = 20 * time.Millisecond

// script returns the script that makes the cluster with its nodes and the objects of the manifests, and its files.
func (f *serveFlags) script(start time.Time) (string, []txtar.File, error) {
	var text strings.Builder
	line := func(words ...string) { text.WriteString(script.Line(words...) + "\n") }
	text.WriteString("# The run of a served cluster.\n")
	// Clients expect that the default namespaces exist, and no other.
	line("config", "server=true", "strict-namespaces=true", "start="+start.Format(time.RFC3339))
	if f.traceLimit > 0 {
		line("config", "trace-limit="+strconv.Itoa(f.traceLimit))
	}
	if f.gates != "" {
		line("config", "feature-gates="+f.gates)
	}
	names := []string{standard.APIServer}
	if !f.bare() {
		names = append(names, without(standard.Controllers(), f.without)...)
	}
	line("config", "standard-objects="+strings.Join(names, ","))
	if names := without(f.without, standard.Controllers()); len(names) > 0 {
		line("config", "without="+strings.Join(names, ","))
	}
	drivers := f.driverNodes()
	names = slices.Sorted(maps.Keys(drivers))
	for _, name := range names {
		options := []string{"backend", name, "latency.Create=" + createLatency.String()}
		if slices.Contains(f.without, actors.Attacher(name)) {
			options = append(options, "lenient") // the storage of an attacher elsewhere knows what is attached
		}
		line(options...)
	}
	for _, node := range f.nodes {
		line("node", "register", node)
		for _, name := range names {
			if drivers[name] != nil && !slices.Contains(drivers[name], node) {
				line("fault", "node", node, "unregister", name)
			}
		}
	}
	// Clients expect the Service of the API server.
	files := []txtar.File{{Name: "kubernetes.yaml", Data: []byte(kubernetesService)}}
	line("apply", "-f", files[0].Name)
	for _, file := range f.files {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", nil, fileError(file, err)
		}
		if !slices.ContainsFunc(files, func(known txtar.File) bool { return known.Name == file }) {
			files = append(files, txtar.File{Name: file, Data: data})
		}
		line("apply", "-f", file)
	}
	// The server is ready when the nodes have registered.
	line("settle")
	if len(f.nodes) > 0 && !slices.Contains(f.without, "kubelet") {
		for _, node := range f.nodes {
			line("request", "PATCH", "/api/v1/nodes/"+node+"/status", fmt.Sprintf(machine, node), "--client=kubelet", "--type=application/merge-patch+json")
		}
		line("settle")
	}
	return text.String(), files, nil
}

// machine is the status that a kubelet reports of its node, as far as clients show it: kubectl computes shares of what is allocatable.
const machine = `{"status":{"addresses":[{"type":"InternalIP","address":"192.0.2.2"},{"type":"Hostname","address":"%s"}],` +
	`"capacity":{"cpu":"32","memory":"128Gi","ephemeral-storage":"500Gi","pods":"1000"},` +
	`"allocatable":{"cpu":"32","memory":"128Gi","ephemeral-storage":"500Gi","pods":"1000"},` +
	`"nodeInfo":{"kubeletVersion":"v1.36.3","operatingSystem":"linux","architecture":"amd64","osImage":"simulated","kernelVersion":"simulated",` +
	`"containerRuntimeVersion":"simulated://1"}}}`

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

// check returns an error for an invalid feature gate or service, and for a driver on a node that does not exist.
func (f *serveFlags) check() error {
	if f.gates != "" {
		if _, err := gates.Parse(f.gates); err != nil {
			return fmt.Errorf("invalid --feature-gates: %w", err)
		}
	}
	for service, address := range f.services {
		namespace, name, ok := strings.Cut(service, "/")
		if _, port, err := net.SplitHostPort(address); !ok || namespace == "" || name == "" || err != nil || port == "" {
			return fmt.Errorf("invalid --service: %s=%s: want NAMESPACE/NAME=HOST:PORT", service, address)
		}
	}
	for name, nodes := range f.driverNodes() {
		if wrong := validation.IsDNS1123Subdomain(strings.ToLower(name)); len(wrong) > 0 {
			return fmt.Errorf("invalid --driver: %q: want the name of a CSI driver, such as disk.example.com", name)
		}
		for _, node := range nodes {
			if !slices.Contains(f.nodes, node) {
				return fmt.Errorf("invalid --driver: %s@%s: there is no node %s; add it to --nodes", name, node, node)
			}
		}
	}
	return nil
}

const kubernetesService = `{apiVersion: v1, kind: Service, metadata: {name: kubernetes, namespace: default,
  labels: {component: apiserver, provider: kubernetes}}, spec: {clusterIP: 10.96.0.1, clusterIPs: [10.96.0.1], internalTrafficPolicy: Cluster,
  ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, sessionAffinity: None, type: ClusterIP,
  ports: [{name: https, port: 443, protocol: TCP, targetPort: 6443}]}}`

// kubeconfig returns the configuration of kubectl for a server.
func kubeconfig(url string, g *guard) string {
	lines := []string{
		"apiVersion: v1", "kind: Config", "current-context: volsim",
		"clusters:", "- name: volsim", "  cluster:", "    server: " + url,
	}
	if g.tls != nil {
		lines = append(lines, "    certificate-authority-data: "+base64.StdEncoding.EncodeToString(g.authority))
	}
	lines = append(lines, "contexts:", "- name: volsim", "  context:", "    cluster: volsim")
	if g.token != "" {
		lines = append(lines, "    user: volsim", "users:", "- name: volsim", "  user:", "    token: "+g.token)
	}
	return strings.Join(append(lines, ""), "\n")
}
