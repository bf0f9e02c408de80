package differential

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/attach"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/internal/controllers/expand"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// Epoch is when worlds begin: it is when a bubble of testing/synctest does.
var Epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// Options set up our world.
type Options struct {
	// Seed and Latency are those of the cluster.
	Seed    int64
	Latency time.Duration
	// Watch has Requests tell what was seen, which takes longer.
	Watch bool
	// NoTrace is that of the cluster too. Then nothing but objects can be observed.
	NoTrace bool
	// Attach and Kubelets are those of the scenario.
	Attach, Kubelets bool
	// Cannot, MountGroup and GroupChange are those of the scenario.
	Cannot      []storage.Op
	MountGroup  bool
	GroupChange time.Duration
}

// Ours is a World that is simulated.
type Ours struct {
	cluster  *volsim.Cluster
	backends map[string]*Backend
	kubelets bool
	machines []string       // those with a kubelet, by name
	seen     uint64         // of the trace
	order    *orderRecorder // nil without Options.Watch
	// injector of the driver on nodes.
	injector api.Injector
}

// NewOurs makes a cluster with the controllers of package upstream and no others.
func NewOurs(opts Options) (*Ours, error) {
	w := &Ours{backends: map[string]*Backend{}, kubelets: opts.Kubelets}
	backend := func(name string) simulated {
		w.backends[name] = NewBackend(name)
		return simulated{w.backends[name], map[string][]error{}}
	}
	cfg := volsim.Config{
		Seed: opts.Seed, Latency: opts.Latency, Start: Epoch, NoTrace: opts.NoTrace,
		Backends: []storage.Backend{&inTree{backend(InTree)}, &nfs{backend(NFS)}, &driver{backend(Driver)}},
		// What the CSI sidecar adds to the library is left out as far as that can be.
		Provisioner: reclaim.ProvisionerConfig{NoSecretAnnotations: true, Timeout: -1},
		// Of the random 0 to 10 % the middle.
		Attach:   attach.Config{PollStretch: 0.05},
		Attacher: attach.AttacherConfig{Plain: true, Timeout: -1, Workers: -1},
	}
	if opts.Kubelets {
		node := &nodeDriver{driver{backend(Driver)}, opts.Cannot, opts.MountGroup}
		cfg.Backends[len(cfg.Backends)-1], cfg.Injector, w.injector = node, node, node
		// What a report says is compared with its times. The loops of kubelets do not begin at the instant of a step, so that nothing depends on what
		// comes first of two things that are due at the same instant.
		cfg.Kubelet.EveryReport, cfg.Kubelet.EveryPass, cfg.Kubelet.GroupChange = true, true, opts.GroupChange
		// What the populator reads again after a sync takes time if requests do.
		cfg.Kubelet.EverySync = opts.Latency > 0
		cfg.Kubelet.StartDelay = func(node string) time.Duration {
			return map[string]time.Duration{"n1": 37 * time.Millisecond}[node] + 24*time.Millisecond
		}
	}
	all, err := volsim.New(cfg)
	if err != nil {
		return nil, err
	}
	cfg.Without = slices.DeleteFunc(all.Controllers(), func(name string) bool {
		return slices.Contains(Actors, name) || opts.Attach && slices.Contains(AttachActors, name)
	})
	if !opts.Kubelets {
		cfg.Without = append(cfg.Without, volsim.Kubelets)
	}
	if opts.Watch {
		w.order, cfg.Injector = &orderRecorder{}, w
	}
	if w.cluster, err = volsim.New(cfg); err != nil || !opts.Watch {
		return w, err
	}
	return w, w.order.observe(w.cluster.Engine())
}

// Actors are the controllers of both worlds.
var Actors = []string{binder.ActorName, reclaim.PVProtectionName, reclaim.PVCProtectionName, reclaim.ProvisionerName(Driver), reclaim.EphemeralName, expand.ActorName}

// AttachActors are those of a scenario with Attach besides.
var AttachActors = []string{attach.ActorName, attach.AttacherName(Driver)}

// Create creates an object.
func (w *Ours) Create(obj api.Object) (api.Object, error) {
	if err := w.cluster.CreateWith(obj, api.CreateOptions{}); err != nil {
		return nil, err
	}
	ref := api.RefTo(obj)
	if ref.Kind == api.Node && w.kubelets && !slices.Contains(w.machines, ref.Key) {
		w.machines = append(w.machines, ref.Key)
	}
	return w.stored(ref)
}

// stored is a claim as it is; nobody asks for anything else.
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
func (w *Ours) Delete(ref api.Ref, force bool) error {
	obj, err := named(ref)
	if err != nil {
		return err
	}
	return w.cluster.DeleteWith(obj, DeleteOptions(force))
}

// DeleteOptions are those of a user.
func DeleteOptions(force bool) api.DeleteOptions {
	if !force {
		return api.DeleteOptions{}
	}
	var now int64
	return api.DeleteOptions{GracePeriodSeconds: &now}
}

// named is an object of which only kind and key are known.
func named(ref api.Ref) (api.Object, error) {
	gvk := store.GroupVersionKind(ref.Kind)
	objs, err := store.ReadManifests(fmt.Appendf(nil, "apiVersion: %s\nkind: %s\nmetadata: {name: x}\n", gvk.GroupVersion(), gvk.Kind))
	if err != nil {
		return nil, err
	}
	namespace, name := api.SplitKey(ref.Key)
	meta := objs[0].(metav1.Object)
	meta.SetNamespace(namespace)
	meta.SetName(name)
	return objs[0], nil
}

// Storage finds a backend.
func (w *Ours) Storage(name string) *Backend { return w.backends[name] }

// Fail has requests fail.
func (w *Ours) Fail(r Rule) error { return r.Add(w.cluster.Faults.Faults) }

// Machine has a machine or its kubelet stop or start.
func (w *Ours) Machine(node string, what MachineOp) error {
	do, ok := map[MachineOp]func(string) error{
		StopKubelet: w.cluster.Faults.StopKubelet, PowerOff: w.cluster.Faults.PowerOff, Start: w.cluster.Faults.Start, Reboot: w.cluster.Faults.Reboot,
	}[what]
	if !ok {
		return fmt.Errorf("a machine cannot %q", what)
	}
	return do(node)
}

// Advance lets time pass.
func (w *Ours) Advance(d time.Duration) error { return w.cluster.Advance(d) }

// Observe tells what is there and what happened.
func (w *Ours) Observe() (Observation, error) {
	c := w.cluster
	objects := slices.Concat(list(c.Volumes), list(c.Claims), list(c.Classes), list(c.Pods), list(c.Nodes), list(c.Attachments), list(c.CSINodes))
	var machines []Machine
	for _, name := range w.machines {
		m, err := c.Machine(name)
		if err != nil {
			return Observation{}, err
		}
		machines = append(machines, ourMachine{m})
	}
	if c.Trace() == nil {
		return Observe(Epoch, objects, machines, nil, func(func(trace.Entry) bool) {})
	}
	o, err := Observe(Epoch, objects, machines, w.backends[Driver].Requests(), c.Trace().Since(w.seen))
	w.seen = c.Trace().Seq()
	return o, err
}

// Add creates an object as upstream.Cluster.Create does, straight in the store, which keeps it.
func (w *Ours) Add(obj api.Object) error {
	e := w.cluster.Engine()
	_, err := e.API().Create(e.User(), obj, api.CreateOptions{})
	return err
}

// Settle lets time pass until nothing is left to do.
func (w *Ours) Settle() error { return w.cluster.Settle() }

// Claims counts the claims in that phase.
func (w *Ours) Claims(phase corev1.PersistentVolumeClaimPhase) int {
	n := 0
	for _, claim := range w.cluster.Claims.List() {
		if claim.Status.Phase == phase {
			n++
		}
	}
	return n
}

func list[T api.Object](table volsim.Table[T]) []api.Object {
	var all []api.Object
	for _, obj := range table.List() {
		all = append(all, obj)
	}
	return all
}

// Close ends the cluster.
func (w *Ours) Close() { w.cluster.Close() }
