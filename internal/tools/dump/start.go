package dump

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/attach"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
)

// Options say how a cluster begins. The zero value is the newest timestamp of the dump, and seed 0.
type Options struct {
	// Now is the virtual time at which it begins; zero is Dump.Newest.
	Now time.Time
	// Seed is that of volsim.Config.
	Seed int64
}

// Cluster is a simulated cluster that goes on where the dump ends.
type Cluster struct {
	*volsim.Cluster
	// Backends are the storage systems that were inferred.
	Backends []storage.Backend
	// Notes tell what could not be taken over as it is.
	Notes []string
}

// Start makes a cluster of the dump. Nothing has happened in it yet. Each call makes another one.
func (d *Dump) Start(opts Options) (*Cluster, error) {
	if opts.Now.IsZero() {
		opts.Now = d.Newest()
	}
	c := &Cluster{}
	c.Backends, c.Notes = d.Backends()
	var err error
	c.Cluster, err = volsim.New(volsim.Config{Start: opts.Now, Seed: opts.Seed, Backends: c.Backends,
		Provisioner: reclaim.ProvisionerConfig{NoFinalizer: d.noFinalizer(), AnySource: true}})
	if err != nil {
		return nil, fmt.Errorf("start the dump: %w", err)
	}
	if err := c.Load(d.ordered()...); err != nil {
		return nil, fmt.Errorf("start the dump: %w", err)
	}
	if err := c.restart(); err != nil {
		return nil, fmt.Errorf("start the dump: %w", err)
	}
	c.resume()
	return c, nil
}

// restart has the controllers begin with all objects there, and not with one after the other.
func (c *Cluster) restart() error {
	machines := map[string]bool{}
	for _, node := range c.Nodes.List() {
		machines[actors.Kubelet(node.Name)], machines[actors.Node(node.Name)] = true, true
	}
	for _, name := range c.Controllers() {
		if machines[name] {
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

// noFinalizer reports whether the provisioners do without the finalizer that the CSI sidecar puts on volumes: none of those that
// should have it has it (XPROV-001, XPROV-051).
func (d *Dump) noFinalizer() bool {
	without := false
	for _, pv := range objectsOf[*corev1.PersistentVolume](d) {
		if slices.Contains(pv.Finalizers, objects.ExternalFinalizer) {
			return false
		}
		_, provisioned := pv.Annotations[objects.AnnProvisionedBy]
		without = without || provisioned && pv.Status.Phase == corev1.VolumeBound && pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
	}
	return without
}

// ordered are the objects, those that others name first: what a controller meets while it has not seen the others would look odd to it.
func (d *Dump) ordered() []api.Object {
	rank := map[api.Kind]int{}
	for i, kind := range store.Kinds() {
		rank[kind] = i
	}
	objs := slices.Clone(d.Objects)
	slices.SortStableFunc(objs, func(a, b api.Object) int { return rank[api.KindOf(a)] - rank[api.KindOf(b)] })
	return objs
}

// resume has each machine go on with the pods that run there.
func (c *Cluster) resume() {
	pods := map[string][]*corev1.Pod{}
	for _, pod := range c.Pods.List() {
		if pod.Spec.NodeName != "" && runs(pod) {
			pods[pod.Spec.NodeName] = append(pods[pod.Spec.NodeName], pod)
		}
	}
	for _, node := range c.Nodes.List() {
		machine, err := c.Machine(node.Name)
		if err != nil {
			c.note("%v", err)
			continue
		}
		if err := machine.Resume(); err != nil {
			c.note("%v", err)
		}
		for _, pod := range pods[node.Name] {
			if err := machine.Adopt(pod); err != nil {
				c.note("%v: it is started anew", err)
			}
		}
		if !attach.Healthy(node) {
			// Its kubelet is not heard of; what runs there is not known to have stopped.
			machine.Partition(true)
			c.note("node %s is not ready: it is taken as cut off, and its containers as running", node.Name)
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
