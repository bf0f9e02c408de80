package differential

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/leases"
	"github.com/volsim/volsim/internal/core/manifests"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// Epoch is the start time of both sides: the start time of a testing/synctest bubble.
var Epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// Options configure our side.
type Options struct {
	// Seed and Latency configure the cluster.
	Seed    int64
	Latency time.Duration
	// Watch records our order (Ours.Order). That takes longer.
	Watch bool
	// Log receives the log at level 5; nil is none.
	Log io.Writer
	// NoTrace disables the trace. Then only objects can be observed.
	NoTrace bool
	// Skips lets the cluster skip work that would find nothing new, as users' clusters do. Upstream skips nothing.
	Skips bool
	// Attach, Kubelets and Nodes are those of the scenario.
	Attach, Kubelets, Nodes bool
	// Controllers and Volumes are those of the scenario.
	Controllers []string
	Volumes     bool
	// Cannot, MountGroup and GroupChange are those of the scenario.
	Cannot      []storage.Op
	MountGroup  bool
	GroupChange time.Duration
}

// Ours is the simulated side.
type Ours struct {
	cluster  *volsim.Cluster
	backends map[string]*Backend
	kubelets bool
	machines []string       // nodes with a kubelet, by name
	seen     uint64         // of the trace
	order    *orderRecorder // nil without Options.Watch
	leases   *leases.Book   // nil unless Options.Nodes
	// injector of the driver on nodes.
	injector api.Injector
}

// NewOurs returns a cluster that runs the controllers of package upstream and no others.
func NewOurs(opts Options) (*Ours, error) {
	w := &Ours{backends: map[string]*Backend{}, kubelets: opts.Kubelets}
	backend := func(name string) simulated {
		w.backends[name] = NewBackend(name)
		return simulated{w.backends[name], map[string][]error{}}
	}
	cfg := volsim.Config{
		Seed: opts.Seed, Latency: opts.Latency, Start: Epoch,
		Backends: []storage.Backend{&inTree{backend(InTree)}, &nfs{backend(NFS)}, &driver{backend(Driver)}},
		// What the CSI sidecar adds to the library is omitted as far as possible.
		Provisioner: volsim.SidecarConfig{Timeout: -1},
		Attacher:    volsim.SidecarConfig{Timeout: -1},
	}
	*internals.Options(&cfg) = options.Options{
		CountedNames: true,
		Provisioner:  options.Provisioner{NoSecretAnnotations: true},
		// The middle of the random 0 to 10 %.
		Attach:   options.Attach{PollStretch: 0.05},
		Attacher: options.Attacher{Plain: true, Workers: -1},
	}
	if opts.NoTrace {
		cfg.TraceLimit = -1
	}
	if opts.Kubelets {
		node := &nodeDriver{driver{backend(Driver)}, opts.Cannot, opts.MountGroup}
		cfg.Backends[len(cfg.Backends)-1], cfg.Injector, w.injector = node, node, node
		// Reports are compared with their times, and if requests take time, skipped reads would not. No loop of a kubelet starts at the
		// instant of a step, so the order at one instant does not matter. A benchmark, which compares nothing, skips as a cluster does.
		internals.Options(&cfg).NoSkipping, cfg.Kubelet.GroupChange = !opts.NoTrace && !opts.Skips, opts.GroupChange
		internals.Options(&cfg).Kubelet.StartDelay = func(node string) time.Duration {
			return map[string]time.Duration{"n1": 37 * time.Millisecond}[node] + 24*time.Millisecond
		}
	}
	if slices.Contains(opts.Controllers, actors.Snapshot) {
		cfg.Backends[len(cfg.Backends)-1] = &snapshotDriver{driver{backend(Driver)}, opts.Cannot}
	}
	all, err := volsim.New(cfg)
	if err != nil {
		return nil, err
	}
	cfg.Without = slices.DeleteFunc(slices.Concat(all.Controllers(), followers), func(name string) bool {
		switch {
		case opts.Nodes && !opts.Volumes:
			return false
		case slices.Contains(opts.Controllers, name):
			return true
		case len(opts.Controllers) > 0 && !opts.Volumes:
			return false
		}
		return slices.Contains(Actors, name) || opts.Attach && slices.Contains(AttachActors, name)
	})
	if !opts.Kubelets {
		cfg.Without = append(cfg.Without, volsim.Kubelets)
	}
	if opts.Watch {
		w.order, cfg.Injector = &orderRecorder{}, w
	}
	cfg.Log, cfg.LogV = opts.Log, logLevel
	if w.cluster, err = volsim.New(cfg); err != nil {
		return w, err
	}
	if opts.Watch {
		if err := w.order.observe(internals.Engine(w.cluster)); err != nil {
			return w, err
		}
	}
	if opts.Nodes {
		return w, w.startNodes(internals.Engine(w.cluster))
	}
	return w, nil
}

// logLevel is the level of Options.Log.
const logLevel = 5

// Actors are the controllers of both sides.
var Actors = []string{actors.PersistentVolume, actors.PVProtection, actors.PVCProtection, actors.Provisioner(Driver), actors.Ephemeral, actors.Expander}

// AttachActors are the additional controllers of a scenario with Attach.
var AttachActors = []string{actors.AttachDetach, actors.Attacher(Driver)}

// Create creates an object.
func (w *Ours) Create(obj api.Object) (api.Object, error) {
	if err := internals.Create(w.cluster, obj, store.CreateOptions{}); err != nil {
		return nil, err
	}
	ref := api.RefTo(obj)
	if ref.Kind == api.Node && w.kubelets && !slices.Contains(w.machines, ref.Key) {
		w.machines = append(w.machines, ref.Key)
		if w.leases != nil {
			w.leases.Start(ref.Key, internals.Engine(w.cluster).Now())
		}
	}
	return w.stored(ref)
}

// stored returns a claim as it is stored; no other kind is needed.
func (w *Ours) stored(ref api.Ref) (api.Object, error) {
	if ref.Kind != api.PersistentVolumeClaim {
		return nil, nil
	}
	return w.cluster.Claims.Get(ref.Key)
}

// Update replaces an object.
func (w *Ours) Update(obj api.Object) error { return w.cluster.Update(obj) }

// Patch applies a JSON merge patch.
func (w *Ours) Patch(ref api.Ref, sub api.Subresource, patch string) error {
	obj, err := named(ref)
	if err != nil {
		return err
	}
	if sub == api.Status {
		return w.cluster.PatchStatus(obj, patch)
	}
	return w.cluster.Patch(obj, patch)
}

// Delete deletes an object.
func (w *Ours) Delete(ref api.Ref, opts api.DeleteOptions) error {
	obj, err := named(ref)
	if err != nil {
		return err
	}
	return w.cluster.DeleteWith(obj, opts)
}

// DeleteOptions returns the options of a Delete.
func (s Step) DeleteOptions() (opts api.DeleteOptions) {
	if s.Force {
		opts.GracePeriodSeconds = new(int64(0))
	}
	opts.PropagationPolicy = s.Cascade
	return opts
}

// named returns an object with only kind and key.
func named(ref api.Ref) (api.Object, error) {
	empty, ok := unnamed.Load(ref.Kind)
	if !ok {
		gvk := store.GroupVersionKind(ref.Kind)
		if known := objkinds.Get(string(ref.Kind)); known != nil {
			gvk = known.GroupVersionKind()
		}
		objs, err := manifests.Read(fmt.Appendf(nil, "apiVersion: %s\nkind: %s\nmetadata: {name: x}\n", gvk.GroupVersion(), gvk.Kind))
		if err != nil {
			return nil, err
		}
		empty = objs[0]
		unnamed.Store(ref.Kind, empty)
	}
	obj := empty.(api.Object).DeepCopyObject().(api.Object)
	namespace, name := objects.SplitKey(ref.Key)
	meta := obj.(metav1.Object)
	meta.SetNamespace(namespace)
	meta.SetName(name)
	return obj, nil
}

// unnamed has an object of each kind that named was asked for: reading a manifest takes longer than a request.
var unnamed sync.Map

// Storage returns a backend.
func (w *Ours) Storage(name string) *Backend { return w.backends[name] }

// Fail adds a rule for failing requests.
func (w *Ours) Fail(r Rule) error { return r.Add(w.cluster.Faults) }

// Machine stops or starts a node or its kubelet.
func (w *Ours) Machine(node string, what MachineOp) error {
	if w.leases != nil {
		if err := Renew(w.leases, node, what, internals.Engine(w.cluster).Now()); err != nil || !w.kubelets {
			return err
		}
	}
	n, err := w.cluster.Node(node)
	if err != nil {
		return err
	}
	do, ok := map[MachineOp]func(){StopKubelet: n.Stop, PowerOff: n.PowerOff, Start: n.Start, Reboot: func() { n.PowerOff(); n.Start() }}[what]
	if !ok {
		return fmt.Errorf("a machine cannot %q", what)
	}
	do()
	return nil
}

// Objects returns the objects of a kind.
func (w *Ours) Objects(kind api.Kind) []api.Object {
	return internals.Engine(w.cluster).Store().List(kind)
}

// Bind gives a pod a node.
func (w *Ours) Bind(pod, node string) error {
	e := internals.Engine(w.cluster)
	_, err := e.API().Bind(e.User(), pod, BindingTo(pod, node))
	return err
}

// Evict evicts a pod.
func (w *Ours) Evict(pod string) error {
	e := internals.Engine(w.cluster)
	_, err := e.Store().Evict(pod, api.DeleteOptions{})
	return err
}

// Restart lets a controller crash and start again.
func (w *Ours) Restart(actor string) error {
	if _, ok := internals.Engine(w.cluster).Actor(actor); !ok && slices.Contains(followers, actor) {
		return nil // it has not started yet, and has no memory to lose
	}
	if err := w.cluster.Crash(actor); err != nil {
		return err
	}
	if w.order != nil {
		w.order.forget(actor)
	}
	return w.cluster.Restart(actor)
}

// Advance advances virtual time.
func (w *Ours) Advance(d time.Duration) error { return w.cluster.Advance(d) }

// Observe returns the state and what happened.
func (w *Ours) Observe() (Observation, error) {
	c := w.cluster
	objects := Objects(internals.Engine(c).Store())
	var machines []Machine
	for _, name := range w.machines {
		m, err := c.Node(name)
		if err != nil {
			return Observation{}, err
		}
		machines = append(machines, ourMachine{m, internals.Node(m)})
	}
	if c.Trace() == nil {
		return Observe(Epoch, objects, machines, nil, func(func(trace.Entry) bool) {})
	}
	o, err := Observe(Epoch, objects, machines, w.backends[Driver].Requests(), c.Trace().Since(w.seen))
	w.seen = c.Trace().Seq()
	return o, err
}

// Add creates an object directly in the store, without a copy, like upstream.Cluster.Create.
func (w *Ours) Add(obj api.Object) error {
	e := internals.Engine(w.cluster)
	_, err := e.API().Create(e.User(), obj, store.CreateOptions{})
	return err
}

// Settle runs until nothing is left to do.
func (w *Ours) Settle() error { return w.cluster.Settle() }

// Claims counts the claims in a phase.
func (w *Ours) Claims(phase corev1.PersistentVolumeClaimPhase) int {
	n := 0
	for _, claim := range w.cluster.Claims.List() {
		if claim.Status.Phase == phase {
			n++
		}
	}
	return n
}

// Objects returns all objects except Events.
func Objects(s *store.Store) (all []api.Object) {
	for _, kind := range s.Kinds() {
		if kind != api.Event {
			all = append(all, s.List(kind)...)
		}
	}
	return all
}

// Close ends the cluster.
func (w *Ours) Close() { w.cluster.Close() }
