package conformance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/attach"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/mount"
	"github.com/volsim/volsim/storage"
)

const (
	// nodeLead is how long components run before the first step, startTime the time reserved for a start.
	nodeLead  = 5500 * time.Millisecond
	startTime = 100 * time.Millisecond
)

// offsets are the start times of components within startTime.
type offsets struct {
	controller time.Duration
	kubelets   []time.Duration // in the order of nodes
}

// offsetsFor returns the offsets of the first recorded run for seed zero, and random ones within the recorded range for other seeds.
func (o Options) offsets() offsets {
	if o.Seed == 0 {
		return offsets{13 * time.Millisecond, []time.Duration{47 * time.Millisecond, 53 * time.Millisecond, 61 * time.Millisecond}}
	}
	random := rand.New(rand.NewPCG(uint64(o.Seed), 0))
	between := func(least, most int) time.Duration {
		return time.Duration(least+random.IntN(most-least+1)) * time.Millisecond
	}
	return offsets{between(10, 30), []time.Duration{between(40, 70), between(40, 70), between(40, 70)}}
}

// nodeRunner is one run of a node scenario.
type nodeRunner struct {
	scenario NodeScenario
	cluster  *volsim.Cluster
	backends map[string]storage.Backend // by name in the scenario
	offsets  offsets
	begin    time.Time // of the first step
	calls    callLog
	events   map[string]int32  // by name, how often each Event was counted
	pods     map[string]string // by uid, named as in recordings
	created  map[string]int    // pods by namespace/name
}

// Run runs the steps of a scenario on a new cluster, and returns the observations. An error means that the scenario cannot run.
func (s NodeScenario) Run(opts Options) ([]NodeObservation, error) {
	return (&nodeRunner{}).run(s, opts)
}

// run runs the steps of a scenario; the runner keeps the cluster.
func (p *nodeRunner) run(s NodeScenario, opts Options) ([]NodeObservation, error) {
	*p = nodeRunner{
		scenario: s, backends: map[string]storage.Backend{}, offsets: opts.offsets(), events: map[string]int32{},
		pods: map[string]string{}, created: map[string]int{},
	}
	if err := p.start(opts); err != nil {
		return nil, err
	}
	var seen []NodeObservation
	for i, step := range s.Steps {
		began := p.cluster.Now()
		if err := p.do(step); err != nil {
			return seen, fmt.Errorf("step %d: %w", i, err)
		}
		// Events due at this instant run.
		if err := p.cluster.Advance(0); err != nil {
			return seen, err
		}
		o, err := p.observe(began)
		if err != nil {
			return seen, fmt.Errorf("step %d: %w", i, err)
		}
		seen = append(seen, o)
	}
	return seen, nil
}

// config configures a cluster with the controllers and settings of the recordings.
func (p *nodeRunner) config(opts Options) (volsim.Config, error) {
	s := p.scenario
	cfg := volsim.Config{
		Seed:        opts.Seed,
		Latency:     opts.Latency,
		ManualNodes: true,
		Attach: attach.Config{
			SyncPeriod:         seconds(s.Controller.ReconcilerSyncSeconds),
			DisableForceDetach: s.Controller.DisableForceDetachOnTimeout,
		},
		// The external attacher of the recordings is simple, and has no time limit.
		Attacher: volsim.SidecarConfig{Timeout: -1},
		Kubelet: mount.Config{
			StatusPeriod: seconds(s.Kubelet.NodeStatusSeconds),
			StopTime:     time.Duration(s.Kubelet.StopMs) * time.Millisecond,
		},
	}
	internal := internals.Options(&cfg)
	internal.Attach = options.Attach{PollStretch: 0.05} // the middle of the random 0 to 10 %
	internal.Attacher = options.Attacher{Plain: true, Workers: -1}
	internal.NoSkipping = true
	internal.Kubelet.Recorded = true
	if s.Controller.DisableReconcilerSync {
		cfg.Attach.SyncPeriod = -1
	}
	runs := map[string]bool{actors.AttachDetach: !s.Controller.Off}
	for _, name := range slices.Sorted(maps.Keys(s.Backends)) {
		b, err := newNodeStorage(name, s.Backends[name])
		if err != nil {
			return cfg, err
		}
		p.backends[name] = b
		cfg.Backends = append(cfg.Backends, b)
		if !backends.IsInTree(b) {
			if internal.Attacher.Finalizer != "" {
				return cfg, fmt.Errorf("there are two CSI drivers")
			}
			internal.Attacher.Finalizer = "external-attacher/" + name
			runs[actors.Attacher(b.Name())] = true
		}
	}
	all, err := volsim.New(cfg)
	if err != nil {
		return cfg, err
	}
	cfg.Without = slices.DeleteFunc(all.Controllers(), func(name string) bool { return runs[name] })
	return cfg, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// start creates the cluster and starts everything before the first step is due.
func (p *nodeRunner) start(opts Options) error {
	cfg, err := p.config(opts)
	if err != nil {
		return err
	}
	if p.cluster, err = volsim.New(cfg); err != nil {
		return err
	}
	p.begin = p.cluster.Now().Add(nodeLead)
	started := map[time.Duration][]func() error{}
	if !p.scenario.Controller.Off {
		if err := p.cluster.Crash(actors.AttachDetach); err != nil {
			return err
		}
		at := p.offsets.controller
		started[at] = append(started[at], func() error { return p.cluster.Restart(actors.AttachDetach) })
	}
	for _, node := range p.scenario.Nodes {
		at, err := p.kubeletOffset(node.Name)
		if err != nil {
			return err
		}
		switch {
		case node.Absent:
		case node.NoKubelet:
			if err := p.cluster.Load(bareNode(node.Name)); err != nil {
				return err
			}
		default:
			started[at] = append(started[at], func() error { return p.startNode(node.Name) })
		}
	}
	for _, at := range slices.Sorted(maps.Keys(started)) {
		if err := p.until(p.begin.Add(at - nodeLead)); err != nil {
			return err
		}
		for _, fn := range started[at] {
			if err := fn(); err != nil {
				return err
			}
		}
	}
	if err := p.until(p.begin); err != nil {
		return err
	}
	_, err = p.observe(p.begin)
	return err
}

// kubeletOffset returns the start time of a node's kubelet.
func (p *nodeRunner) kubeletOffset(name string) (time.Duration, error) {
	i := slices.IndexFunc(p.scenario.Nodes, func(n NodeSpec) bool { return n.Name == name })
	if i < 0 || i >= len(p.offsets.kubelets) {
		return 0, fmt.Errorf("node %q is none of the first %d nodes of the scenario", name, len(p.offsets.kubelets))
	}
	return p.offsets.kubelets[i], nil
}

// until advances time to t.
func (p *nodeRunner) until(t time.Time) error { return p.cluster.Advance(t.Sub(p.cluster.Now())) }

// startNode starts the kubelet of a node, and creates the node if needed.
func (p *nodeRunner) startNode(name string) error {
	if node, err := p.cluster.Node(name); err == nil {
		node.Start()
		return nil
	}
	_, err := p.cluster.AddNode(name)
	return err
}

// bareNode returns the Node object of a node without kubelet.
func bareNode(name string) *corev1.Node {
	return fake.Node(name, fake.Annotations(objects.AnnManagedAttach, "true"))
}
