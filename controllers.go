package volsim

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/attach"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/internal/controllers/cronjob"
	"github.com/volsim/volsim/internal/controllers/daemonset"
	"github.com/volsim/volsim/internal/controllers/datasource"
	"github.com/volsim/volsim/internal/controllers/deployment"
	"github.com/volsim/volsim/internal/controllers/disruption"
	"github.com/volsim/volsim/internal/controllers/expand"
	"github.com/volsim/volsim/internal/controllers/garbagecollector"
	"github.com/volsim/volsim/internal/controllers/healthmonitor"
	"github.com/volsim/volsim/internal/controllers/job"
	"github.com/volsim/volsim/internal/controllers/namespace"
	"github.com/volsim/volsim/internal/controllers/nodelifecycle"
	"github.com/volsim/volsim/internal/controllers/podgc"
	"github.com/volsim/volsim/internal/controllers/replicaset"
	"github.com/volsim/volsim/internal/controllers/resourcequota"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/controllers/snapshot"
	"github.com/volsim/volsim/internal/controllers/statefulset"
	"github.com/volsim/volsim/internal/controllers/tainteviction"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/intree"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/pvcontroller"
	"github.com/volsim/volsim/internal/core/sidecar"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/mount"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
)

// component is a part of the control plane.
type component struct {
	name  string
	start func(*Cluster) error
	// kind, when set, is the kind of objects that the controller works on. It starts, by follow, when the first of them is stored or watched.
	// Without such objects it would have nothing to do.
	kind   api.Kind
	follow func(*engine.Engine, store.Table[*plain.Object]) (*engine.Actor, error)
}

// components are the parts that every control plane has, in the order in which they start. Those of drivers and the kubelets follow.
var components = []component{
	{name: actors.PersistentVolume, start: (*Cluster).startBinder},
	{name: actors.PVProtection, start: func(c *Cluster) error { return c.startReclaiming(actors.PVProtection) }},
	{name: actors.PVCProtection, start: func(c *Cluster) error { return c.startReclaiming(actors.PVCProtection) }},
	{name: actors.Ephemeral, start: func(c *Cluster) error { return c.startReclaiming(actors.Ephemeral) }},
	{name: actors.GarbageCollector, start: func(c *Cluster) error {
		_, err := garbagecollector.New(c.engine)
		return err
	}},
	{name: actors.Scheduler, start: func(c *Cluster) error {
		cfg := c.cfg.Scheduler
		_, err := schedule.New(c.engine, schedule.Config{Profiles: cfg.Profiles, BindTimeout: cfg.BindTimeout, Score: cfg.Score})
		return err
	}},
	{name: actors.AttachDetach, start: func(c *Cluster) error {
		_, err := attach.New(c.engine, c.backends, c.cfg.Attach, c.cfg.internal.Attach)
		return err
	}},
	{name: actors.PodGC, start: func(c *Cluster) error {
		_, err := podgc.New(c.engine, podgc.Config{})
		return err
	}},
	{name: actors.NodeLifecycle, start: func(c *Cluster) error {
		cfg := nodelifecycle.Config{Continues: c.cfg.internal.Continues}
		// NODE-023: without kubelets the user stands for them.
		if c.leases != nil {
			cfg.Leases = c.leases
		}
		_, err := nodelifecycle.New(c.engine, cfg)
		return err
	}},
	{name: actors.TaintEviction, start: func(c *Cluster) error {
		_, err := tainteviction.New(c.engine, c.cfg.internal.Continues)
		return err
	}},
	{name: actors.Expander, start: func(c *Cluster) error {
		_, err := expand.New(c.engine, expand.Config{Backends: c.backends, Migration: objects.MigratedDriver})
		return err
	}},
	{name: actors.VACProtection, start: func(c *Cluster) error {
		_, err := expand.NewVACProtection(c.engine)
		return err
	}},
	{name: actors.RecyclerPodRunner, start: func(c *Cluster) error { return c.startReclaiming(actors.RecyclerPodRunner) }},
	{name: actors.Namespace, kind: store.NamespaceKind, follow: namespace.New},
	{name: actors.ResourceQuota, kind: store.QuotaKind, follow: resourcequota.New},
	{name: actors.Disruption, kind: store.DisruptionBudgetKind, follow: disruption.New},
	{name: actors.StatefulSet, kind: statefulset.Kind, follow: statefulset.New},
	{name: actors.ReplicaSet, kind: replicaset.Kind, follow: replicaset.New},
	{name: actors.ReplicationController, kind: replicaset.ReplicationControllers, follow: replicaset.NewReplicationController},
	{name: actors.Deployment, kind: deployment.Kind, follow: deployment.New},
	{name: actors.DaemonSet, kind: daemonset.Kind, follow: daemonset.New},
	{name: actors.Job, kind: job.Kind, follow: job.New},
	{name: actors.TTLAfterFinished, kind: job.Kind, follow: job.NewTTL},
	{name: actors.CronJob, kind: cronjob.Kind, follow: cronjob.New},
	{name: actors.DataSourceValidator, kind: datasource.Kind, follow: datasource.New},
	onSnapshots(actors.Snapshot, func(c *Cluster) error {
		_, err := snapshot.New(c.engine, snapshot.Settings{})
		return err
	}),
}

// kubelets is the last component.
var kubelets = component{name: Kubelets, start: (*Cluster).startKubelets}

// sidecars returns the components of the CSI drivers: each has its own.
func (c *Cluster) sidecars() []component {
	var all []component
	for name, driver := range c.backends.All() {
		if backends.IsInTree(driver) {
			continue
		}
		if backends.Can(driver, storage.Create) || backends.Can(driver, storage.Delete) {
			all = append(all, component{name: actors.Provisioner(name), start: func(c *Cluster) error {
				opts := c.cfg.internal.Provisioner
				if plugin, ok := intree.Plugin(name); ok {
					// MIG-020, XPROV-013b: the sidecar answers to the plugin that its driver replaced, too.
					opts.AdditionalNames = append(slices.Clone(opts.AdditionalNames), plugin)
				}
				_, err := reclaim.NewProvisioner(c.engine, driver, sidecar.Config(c.cfg.Provisioner), opts)
				return err
			}})
		}
		if backends.Can(driver, storage.Attach) {
			all = append(all, component{name: actors.Attacher(name), start: func(c *Cluster) error {
				_, err := attach.NewAttacher(c.engine, driver, sidecar.Config(c.cfg.Attacher), c.cfg.internal.Attacher)
				return err
			}})
		}
		if expand.Resizes(driver) {
			all = append(all, component{name: actors.Resizer(name), start: func(c *Cluster) error {
				opts := c.cfg.internal.Resizer
				opts.Migration = objects.MigratedDriver
				_, err := expand.NewResizer(c.engine, driver, sidecar.Config(c.cfg.Resizer), opts)
				return err
			}})
		}
		if backends.Can(driver, storage.CreateSnapshot) {
			all = append(all, onSnapshots(actors.Snapshotter(name), func(c *Cluster) error {
				_, err := snapshot.NewSnapshotter(c.engine, driver, snapshot.Settings{})
				return err
			}))
		}
		if slices.Contains(c.cfg.HealthMonitors, name) {
			all = append(all, component{name: actors.HealthMonitor(name), start: func(c *Cluster) error {
				_, err := healthmonitor.New(c.engine, driver, c.cfg.NodeWatcher)
				return err
			}})
		}
	}
	return all
}

// startReclaiming starts a controller of package reclaim.
func (c *Cluster) startReclaiming(name string) error {
	_, err := reclaim.New(c.engine, name, c.backends)
	return err
}

// Kubelets stands for the kubelets of all nodes in Config.Without. Each kubelet is an actor, such as kubelet/n1.
const Kubelets = "kubelet"

// startKubelets adds a node with a kubelet for every Node object, also later ones, unless Config.ManualNodes is set.
func (c *Cluster) startKubelets() error {
	opts := c.cfg.internal.Kubelet
	opts.Leases = c.leases
	nodes, err := mount.New(c.engine, c.backends, c.cfg.Kubelet, opts)
	if err != nil {
		return err
	}
	c.nodes = nodes
	if c.cfg.ManualNodes {
		return nil
	}
	return nodes.Follow()
}

// startControllers starts every controller that Config.Without does not name.
func (c *Cluster) startControllers() error {
	if err := c.cfg.checkMonitors(c.backends); err != nil {
		return err
	}
	sidecars := c.sidecars()
	if err := c.cfg.checkNames(sidecars); err != nil {
		return err
	}
	if c.cfg.internal.NoControllers {
		return nil
	}
	following := false
	for part := range parts(sidecars) {
		if slices.Contains(c.cfg.Without, part.name) {
			continue
		}
		if part.follow != nil {
			// All that follow start in order; the first of them registers them.
			if !following {
				c.engine.Store().OnOther(c.startFollowing)
				following = true
			}
			continue
		}
		if err := part.start(c); err != nil {
			return fmt.Errorf("volsim: start %s: %w", part.name, err)
		}
	}
	return nil
}

// parts yields all components in the order in which they start.
func parts(sidecars []component) iter.Seq[*component] {
	return func(yield func(*component) bool) {
		for i := range components {
			if !yield(&components[i]) {
				return
			}
		}
		for i := range sidecars {
			if !yield(&sidecars[i]) {
				return
			}
		}
		yield(&kubelets)
	}
}

// notStarted lists the controllers that start when the first object that they work on is stored.
func (c *Cluster) notStarted() []string {
	var names []string
	if c.cfg.internal.NoControllers {
		return nil
	}
	for part := range parts(c.sidecars()) {
		if _, started := c.engine.Actor(part.name); !started && part.name != Kubelets && !slices.Contains(c.cfg.Without, part.name) {
			names = append(names, part.name)
		}
	}
	return names
}

// allControllers lists the controllers and kubelets, and the controllers that are not started yet.
func (c *Cluster) allControllers() []string { return append(c.Controllers(), c.notStarted()...) }

// started ends a controller again that crashed before it was started.
func (c *Cluster) started(name string) {
	if a, ok := c.engine.Actor(name); ok && slices.Contains(c.down, name) {
		a.Crash()
	}
}

// checkName returns an error for the name of an added controller that stands for something else. A controller of Config.Without can be replaced.
func (c *Cluster) checkName(name string) error {
	part := name
	if _, isKubelet := actors.NodeOfKubelet(name); isKubelet {
		part = Kubelets
	}
	_, isNode := actors.NodeName(name)
	switch {
	case api.IsUser(name):
		return errors.New("that is the name of calls from outside the cluster; choose another")
	case isNode:
		return errors.New("that is the name of a node; choose another")
	case c.cfg.internal.NoControllers || slices.Contains(c.cfg.Without, part):
		return nil
	}
	for own := range parts(c.sidecars()) {
		if own.name == part {
			return errors.New("a controller of the cluster has that name; choose another, or name it in Config.Without")
		}
	}
	return nil
}

// startFollowing starts the controllers that work on the kind of a new table.
func (c *Cluster) startFollowing(table store.Table[*plain.Object]) {
	for i := range components {
		part := &components[i]
		if part.follow == nil || part.kind != table.Kind() || slices.Contains(c.cfg.Without, part.name) {
			continue
		}
		if _, err := part.follow(c.engine, table); err != nil {
			panic(fmt.Sprintf("volsim: start the controller of %s: %v", part.kind, err)) // AddController accepts no such name
		}
		c.started(part.name)
	}
}

// onSnapshots returns a component that starts when the first object of external-snapshotter is stored. Before, it would have nothing to do.
func onSnapshots(name string, start func(*Cluster) error) component {
	return component{name: name, start: func(c *Cluster) error {
		started := false
		c.engine.Store().OnOther(func(table store.Table[*plain.Object]) {
			if started || !slices.Contains(snapshots.Kinds, table.Kind()) {
				return
			}
			started = true
			if err := start(c); err != nil {
				panic(fmt.Sprintf("volsim: start %s: %v", name, err)) // AddController accepts no such name
			}
			c.started(name)
		})
		return nil
	}}
}

// startBinder starts the PersistentVolume controller: binder with the reclaimer of package reclaim.
func (c *Cluster) startBinder() error {
	_, err := binder.New(c.engine, binder.Config{
		Backends:            c.backends,
		ResyncPeriod:        c.cfg.ResyncPeriod,
		DisableProvisioning: c.cfg.DisableProvisioning,
		NewReclaimer: func(host pvcontroller.Host) pvcontroller.Reclaimer {
			if a, ok := c.engine.Actor(actors.PersistentVolume); ok {
				a.Keeps(host)
			}
			return reclaim.NewReclaimer(host, c.backends,
				options.Reclaimer{Migration: objects.MigratedDriver, RecyclerScheduler: actors.RecyclerPodRunner})
		},
	})
	return err
}
