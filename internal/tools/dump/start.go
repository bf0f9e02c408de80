package dump

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/storage"
)

// Options configure a cluster. The zero value starts at the newest timestamp of the dump with seed 0.
type Options struct {
	// Now is the virtual time at which it starts; zero is Dump.Newest.
	Now time.Time
	// Seed becomes volsim.Config.Seed.
	Seed int64
}

// Cluster is a simulated cluster that continues from a dump.
type Cluster struct {
	*volsim.Cluster
	// Backends are the inferred storage systems.
	Backends []storage.Backend
	// Notes lists assumptions and objects that could not be simulated as they are.
	Notes []string
}

// Start returns a new cluster with the state of the dump, in which no virtual time has passed.
func (d *Dump) Start(opts Options) (*Cluster, error) {
	if opts.Now.IsZero() {
		opts.Now = d.Newest()
	}
	c := &Cluster{}
	c.Backends, c.Notes = d.Backends()
	var err error
	cfg := volsim.Config{Start: opts.Now, Seed: opts.Seed, Backends: c.Backends}
	internals.Options(&cfg).Provisioner = options.Provisioner{NoFinalizer: d.noFinalizer(), AnySource: true}
	internals.Options(&cfg).AssumeSecrets = true
	if c.Cluster, err = volsim.New(cfg); err != nil {
		return nil, fmt.Errorf("start the dump: %w", err)
	}
	if err := c.Load(d.dependenciesFirst()...); err != nil {
		return nil, fmt.Errorf("start the dump: %w", err)
	}
	if err := c.restart(); err != nil {
		return nil, fmt.Errorf("start the dump: %w", err)
	}
	c.resume()
	return c, nil
}

// restart restarts the controllers, so that they list all objects instead of receiving them one by one.
func (c *Cluster) restart() error {
	nodes := map[string]bool{}
	for _, node := range c.Nodes.List() {
		nodes[actors.Kubelet(node.Name)], nodes[actors.Node(node.Name)] = true, true
	}
	for _, name := range c.Controllers() {
		if nodes[name] {
			continue
		}
		if err := c.Crash(name); err != nil {
			return err
		}
		if err := c.Restart(name); err != nil {
			return err
		}
	}
	return nil
}

// noFinalizer reports whether the provisioners do not use the finalizer of the CSI sidecar: no volume that should have it does (XPROV-001,
// XPROV-051).
func (d *Dump) noFinalizer() bool {
	without := false
	for _, pv := range objectsOf[*corev1.PersistentVolume](d) {
		if slices.Contains(pv.Finalizers, objects.ExternalFinalizer) {
			return false
		}
		_, provisioned := pv.Annotations[objects.AnnProvisionedBy]
		without = without ||
			provisioned && pv.Status.Phase == corev1.VolumeBound && pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
	}
	return without
}

// dependenciesFirst returns the objects sorted such that an object follows those it refers to. A controller would otherwise see dangling
// references.
func (d *Dump) dependenciesFirst() []api.Object {
	rank := map[api.Kind]int{}
	for i, kind := range store.Kinds() {
		rank[kind] = i
	}
	objs := slices.Clone(d.Objects)
	slices.SortStableFunc(objs, func(a, b api.Object) int { return rank[api.KindOf(a)] - rank[api.KindOf(b)] })
	return objs
}

// resume lets each kubelet adopt the pods that run on its node.
func (c *Cluster) resume() {
	pods := map[string][]*corev1.Pod{}
	for _, pod := range c.Pods.List() {
		if pod.Spec.NodeName != "" && runs(pod) {
			pods[pod.Spec.NodeName] = append(pods[pod.Spec.NodeName], pod)
		}
	}
	for _, node := range c.Nodes.List() {
		kubelet, err := c.Node(node.Name)
		if err != nil {
			c.note("%v.", err)
			continue
		}
		if err := internals.Node(kubelet).Resume(); err != nil {
			c.note("%v.", err)
		}
		for _, pod := range pods[node.Name] {
			if err := internals.Node(kubelet).Adopt(pod); err != nil {
				c.note("%v; it is started again.", err)
			}
		}
		if !objects.Healthy(node) {
			// Its kubelet does not respond, so its containers may still run.
			kubelet.Partition(true)
			c.note("Assumption: node %s is NotReady; we assume it lost its network and its containers still run.", node.Name)
		}
	}
}

func (c *Cluster) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// runs reports whether containers of the pod run.
func runs(pod *corev1.Pod) bool {
	if objects.Terminated(pod) {
		return false
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if statuses[i].State.Running != nil {
				return true
			}
		}
	}
	return pod.Status.Phase == corev1.PodRunning
}
