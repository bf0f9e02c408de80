package dump

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/gates"
	"github.com/volsim/volsim/internal/core/grants"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/storage"
)

// Options configure a cluster. The zero value starts at the newest timestamp of the dump with seed 0.
type Options struct {
	// Now is the virtual time at which it starts; zero is Dump.Newest.
	Now time.Time
	// Seed becomes volsim.Config.Seed.
	Seed int64
	// Assume changes assumptions, each as in evidence.Set.Override.
	Assume []string
	// NoTrace saves the time and the memory of a trace that is not read.
	NoTrace bool
	// Still starts no controllers: nothing is going to happen in the cluster.
	Still bool
	// Acts is set if the caller changes the cluster before virtual time passes. Then the attach/detach controller starts shortly before Now.
	// It reads the cluster only some time after its start, and would know nothing of the volumes of a node that is deleted before.
	Acts bool
	// Policies lets the admission policies of a cluster take effect; with nil they have none.
	Policies func(*volsim.Cluster)
}

// startup is how long before Options.Now the cluster begins with Options.Acts: the attach/detach controller has read it by then.
const startup = 200 * time.Millisecond

// Cluster is a simulated cluster that continues from a dump.
type Cluster struct {
	*volsim.Cluster
	dump  *Dump
	still bool
	acts  bool
	// policies: those of the dump take effect.
	policies bool
	// Backends are the inferred storage systems.
	Backends []storage.Backend
	// Evidence has what is assumed about drivers, nodes and controllers.
	Evidence *evidence.Set
	// Notes lists what could not be simulated as it is.
	Notes []string
}

// Snapshot returns the objects as they are now, and the assumptions, for package explain.
func (c *Cluster) Snapshot() snapshot.Snapshot {
	s := internals.Snapshot(c.Cluster)
	s.Evidence = c.Evidence
	return s
}

// Start returns a new cluster with the state of the dump, in which no virtual time has passed since Options.Now.
func (d *Dump) Start(opts Options) (*Cluster, error) {
	cfg := volsim.Config{Start: opts.Now, Seed: opts.Seed}
	if opts.NoTrace {
		cfg.TraceLimit = -1
	}
	if opts.Acts {
		if cfg.Start.IsZero() {
			cfg.Start = d.Newest()
		}
		if cfg.Start.IsZero() {
			cfg.Start = engine.DefaultStart
		}
		cfg.Start = cfg.Start.Add(-startup)
	}
	c, err := d.Prepare(&cfg, opts.Assume...)
	if err != nil {
		return nil, err
	}
	cluster, err := volsim.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("start the dump: %w", err)
	}
	if opts.Policies != nil {
		opts.Policies(cluster)
	}
	c.still, c.acts, c.policies = opts.Still, opts.Acts, opts.Policies != nil
	if err := c.Continue(cluster); err != nil {
		return nil, err
	}
	return c, nil
}

// Prepare completes the configuration of a cluster that is going to continue from the dump: its start, unless it is set, and the inferred
// storage systems that it does not have yet, injector and provisioner. Continue then loads the dump. assume is Options.Assume.
func (d *Dump) Prepare(cfg *volsim.Config, assume ...string) (*Cluster, error) {
	c := &Cluster{dump: d}
	newest := d.Newest()
	if cfg.Start.IsZero() {
		cfg.Start = newest
	}
	now := cfg.Start
	if newest.After(now) {
		now = newest
	}
	var err error
	if c.Evidence, err = d.Evidence(now).Override(assume...); err != nil {
		return nil, err
	}
	c.Evidence.SetLacking(d.lacking())
	var inferred []storage.Backend
	inferred, c.Notes = d.Backends(c.Evidence)
	c.Notes = append(append(c.Notes, d.noteCounterparts()...), d.noteLacking()...)
	for _, b := range inferred {
		at := slices.IndexFunc(cfg.Backends, func(given storage.Backend) bool { return given.Name() == b.Name() })
		if at < 0 {
			cfg.Backends = append(cfg.Backends, b)
		} else if given, ok := cfg.Backends[at].(*fake.Memory); ok {
			d.attach(given)
			d.takeSnapshots(given)
		}
	}
	c.Backends, cfg.Injector = cfg.Backends, c.Evidence
	// No container runs here, so the Jobs of a CronJob would not end, and become more and more.
	cfg.Without = append(cfg.Without, actors.CronJob)
	// API-114: a claim with such a source shows that the gate is on.
	if slices.ContainsFunc(objectsOf[*corev1.PersistentVolumeClaim](d), func(claim *corev1.PersistentVolumeClaim) bool {
		_, across := grants.Namespace(claim)
		return across
	}) {
		cfg.FeatureGates = map[string]bool{gates.CrossNamespaceVolumeDataSource: true}
	}
	hidden := internals.Options(cfg)
	hidden.Provisioner = options.Provisioner{NoFinalizer: d.noFinalizer(), AnySource: true}
	hidden.AssumeFiles, hidden.Continues = d.lacksFiles(), true
	hidden.Kubelet.Holds = c.Evidence.Holds
	return c, nil
}

// Continue loads the dump into a new cluster whose configuration Prepare completed. An error about an object is an *[Error].
func (c *Cluster) Continue(cluster *volsim.Cluster) error {
	c.Cluster = cluster
	for _, uid := range c.dump.leftOut {
		internals.Engine(cluster).Store().AssumeOwner(uid)
	}
	c.setEvidence()
	// The controllers list all objects when they start again, instead of receiving them one by one.
	controllers := c.controllers()
	for _, name := range controllers {
		if err := c.Crash(name); err != nil {
			return err
		}
	}
	if err := c.load(); err != nil {
		return err
	}
	if err := c.checkRequested(controllers); err != nil {
		return err
	}
	if err := c.resumeLeftover(); err != nil {
		return err
	}
	stopped := c.Evidence.Stopped()
	controllers = slices.DeleteFunc(controllers, func(name string) bool { return c.still || slices.Contains(stopped, name) })
	if c.acts {
		return c.startEarly(controllers)
	}
	if err := c.restart(controllers); err != nil {
		return err
	}
	c.resume()
	return nil
}

// setEvidence lets the evidence read what claims request in the cluster.
func (c *Cluster) setEvidence() {
	c.Evidence.SetRequests(func(key string) int64 {
		claim, err := c.Claims.Get(key)
		if err != nil {
			return 0
		}
		size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
		return size.Value()
	})
	c.Evidence.SetAttributes(func(key string) string {
		claim, err := c.Claims.Get(key)
		if err != nil {
			return ""
		}
		return objects.ValueOf(claim.Spec.VolumeAttributesClassName)
	})
}

// load stores the objects of the dump in the cluster.
func (c *Cluster) load() error {
	objs := c.dump.dependenciesFirst()
	if c.policies {
		var notes []string
		objs, notes = c.dump.withoutParameters(objs)
		c.Notes = append(c.Notes, notes...)
	}
	for _, driver := range c.Evidence.Healthy() {
		register(objs, driver)
	}
	for _, obj := range objs {
		if err := internals.Load(c.Cluster, obj); err != nil {
			return c.dump.sourceOf(api.RefTo(obj)).locate(err)
		}
	}
	return c.loadRevisions()
}

// startEarly starts the attach/detach controller, and the other controllers after startup (see Options.Acts).
func (c *Cluster) startEarly(controllers []string) error {
	early := slices.IndexFunc(controllers, func(name string) bool { return name == actors.AttachDetach })
	if early >= 0 {
		if err := c.restart(controllers[early : early+1]); err != nil {
			return err
		}
		controllers = slices.Delete(controllers, early, early+1)
	}
	c.resume()
	if err := c.Advance(startup); err != nil {
		return err
	}
	if err := c.restart(controllers); err != nil {
		return err
	}
	return c.syncPods()
}

func (c *Cluster) restart(controllers []string) error {
	for _, name := range controllers {
		if err := c.Restart(name); err != nil {
			return err
		}
	}
	return nil
}

// syncPods makes each kubelet sync its pods now. It is unknown when in the next minute they are due.
func (c *Cluster) syncPods() error {
	for _, node := range c.Nodes.List() {
		n, err := c.Node(node.Name)
		if err != nil {
			return err
		}
		internals.Node(n).SyncPods()
	}
	return nil
}

// register lists a driver in the CSINodes among the objects. It replaces those that it changes.
func register(objs []api.Object, driver string) {
	entry := storagev1.CSINodeDriver{Name: driver}
	var without []int
	for i, obj := range objs {
		csiNode, ok := obj.(*storagev1.CSINode)
		if !ok {
			continue
		}
		at := slices.IndexFunc(csiNode.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver })
		if at < 0 {
			without = append(without, i)
			continue
		}
		entry.TopologyKeys = csiNode.Spec.Drivers[at].TopologyKeys
	}
	for _, i := range without {
		csiNode := objs[i].DeepCopyObject().(*storagev1.CSINode)
		entry.NodeID = csiNode.Name
		csiNode.Spec.Drivers = append(csiNode.Spec.Drivers, entry)
		objs[i] = csiNode
	}
}

// Evidence returns what the dump shows about drivers, nodes and controllers at a time.
func (d *Dump) Evidence(now time.Time) *evidence.Set {
	objs := slices.Clone(d.Objects)
	for _, lease := range d.Leases {
		objs = append(objs, lease)
	}
	return evidence.Read(objs, now)
}

// controllers returns the names of the controllers that run on no node.
func (c *Cluster) controllers() []string {
	onNodes := map[string]bool{}
	for _, node := range c.Nodes.List() {
		onNodes[actors.Kubelet(node.Name)], onNodes[actors.Node(node.Name)] = true, true
	}
	return slices.DeleteFunc(c.Controllers(), func(name string) bool { return onNodes[name] })
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
	cut := c.Evidence.Cut()
	var again []string
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
				again = append(again, err.Error())
			}
		}
		if slices.Contains(cut, node.Name) {
			// Its kubelet does not respond, so its containers may still run.
			kubelet.Partition(true)
		}
	}
	if len(again) > 0 {
		more := ""
		if n := len(again) - shownAgain; n > 0 {
			again, more = again[:shownAgain], fmt.Sprintf("; and %d more", n)
		}
		c.note("In the simulation, running pods start again whose volumes in the dump do not fit: %s%s.", strings.Join(again, "; "), more)
	}
}

// shownAgain is the number of pods that a note about pods that start again lists.
const shownAgain = 3

func (c *Cluster) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// runs reports whether containers of the pod run, or could not be created for want of a Secret or a ConfigMap.
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
	// MNT-378: the volumes of a pod whose containers lack something else are mounted.
	_, _, lacks := evidence.WaitsForFile(pod)
	return lacks || pod.Status.Phase == corev1.PodRunning
}
