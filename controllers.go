package volsim

import (
	"fmt"
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/attach"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/internal/controllers/daemonset"
	"github.com/volsim/volsim/internal/controllers/datasource"
	"github.com/volsim/volsim/internal/controllers/deployment"
	"github.com/volsim/volsim/internal/controllers/disruption"
	"github.com/volsim/volsim/internal/controllers/expand"
	"github.com/volsim/volsim/internal/controllers/garbagecollector"
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

type component struct {
	name  string
	start func() error
}

// controllers returns the components of the control plane in the order in which they start.
func (c *Cluster) controllers() []component {
	all := []component{
		{actors.PersistentVolume, c.startBinder},
		c.reclaiming(actors.PVProtection),
		c.reclaiming(actors.PVCProtection),
		c.reclaiming(actors.Ephemeral),
		{actors.GarbageCollector, func() error {
			_, err := garbagecollector.New(c.engine)
			return err
		}},
		{actors.Scheduler, func() error {
			cfg := c.cfg.Scheduler
			_, err := schedule.New(c.engine, schedule.Config{Profiles: cfg.Profiles, BindTimeout: cfg.BindTimeout, Score: cfg.Score})
			return err
		}},
		{actors.AttachDetach, func() error {
			_, err := attach.New(c.engine, c.backends, c.cfg.Attach, c.cfg.internal.Attach)
			return err
		}},
		{actors.PodGC, func() error {
			_, err := podgc.New(c.engine, podgc.Config{})
			return err
		}},
		{actors.NodeLifecycle, func() error {
			cfg := nodelifecycle.Config{}
			// NODE-023: without kubelets the user stands for them.
			if c.leases != nil {
				cfg.Leases = c.leases
			}
			_, err := nodelifecycle.New(c.engine, cfg)
			return err
		}},
		{actors.TaintEviction, func() error {
			_, err := tainteviction.New(c.engine)
			return err
		}},
		{actors.Expander, func() error {
			_, err := expand.New(c.engine, expand.Config{Backends: c.backends, Migration: objects.MigratedDriver})
			return err
		}},
		{actors.VACProtection, func() error {
			_, err := expand.NewVACProtection(c.engine)
			return err
		}},
		c.reclaiming(actors.RecyclerPodRunner),
		{actors.Namespace, c.follow(store.NamespaceKind, namespace.New)},
		{actors.ResourceQuota, c.follow(store.QuotaKind, resourcequota.New)},
		{actors.Disruption, c.follow(store.DisruptionBudgetKind, disruption.New)},
		{actors.StatefulSet, c.follow(statefulset.Kind, statefulset.New)},
		{actors.ReplicaSet, c.follow(replicaset.Kind, replicaset.New)},
		{actors.Deployment, c.follow(deployment.Kind, deployment.New)},
		{actors.DaemonSet, c.follow(daemonset.Kind, daemonset.New)},
		{actors.Job, c.follow(job.Kind, job.New)},
		{actors.TTLAfterFinished, c.follow(job.Kind, job.NewTTL)},
		{actors.DataSourceValidator, c.follow(datasource.Kind, datasource.New)},
		c.onSnapshots(actors.Snapshot, func() error {
			_, err := snapshot.New(c.engine, snapshot.Settings{})
			return err
		}),
	}
	// Each CSI driver has its own sidecars.
	for name, driver := range c.backends.All() {
		if backends.IsInTree(driver) {
			continue
		}
		if backends.Can(driver, storage.Create) || backends.Can(driver, storage.Delete) {
			all = append(all, component{actors.Provisioner(name), func() error {
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
			all = append(all, component{actors.Attacher(name), func() error {
				_, err := attach.NewAttacher(c.engine, driver, sidecar.Config(c.cfg.Attacher), c.cfg.internal.Attacher)
				return err
			}})
		}
		if expand.Resizes(driver) {
			all = append(all, component{actors.Resizer(name), func() error {
				opts := c.cfg.internal.Resizer
				opts.Migration = objects.MigratedDriver
				_, err := expand.NewResizer(c.engine, driver, sidecar.Config(c.cfg.Resizer), opts)
				return err
			}})
		}
		if backends.Can(driver, storage.CreateSnapshot) {
			all = append(all, c.onSnapshots(actors.Snapshotter(name), func() error {
				_, err := snapshot.NewSnapshotter(c.engine, driver, snapshot.Settings{})
				return err
			}))
		}
	}
	return append(all, component{Kubelets, c.startKubelets})
}

// reclaiming returns the component for a controller of package reclaim.
func (c *Cluster) reclaiming(name string) component {
	return component{name, func() error {
		_, err := reclaim.New(c.engine, name, c.backends)
		return err
	}}
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
	all := c.controllers()
	names := make([]string, len(all))
	for i, part := range all {
		names[i] = part.name
	}
	if err := c.cfg.checkNames(names); err != nil {
		return err
	}
	for _, part := range all {
		if c.cfg.internal.NoControllers || slices.Contains(c.cfg.Without, part.name) {
			continue
		}
		if err := part.start(); err != nil {
			return fmt.Errorf("volsim: start %s: %w", part.name, err)
		}
	}
	return nil
}

// follow returns a function that starts a controller when the first object of a kind is stored or watched. Without such objects it would have
// nothing to do.
func (c *Cluster) follow(kind api.Kind, start func(*engine.Engine, *store.Table[*plain.Object]) (*engine.Actor, error)) func() error {
	return func() error {
		c.engine.Store().OnOther(func(table *store.Table[*plain.Object]) {
			if table.Kind() != kind {
				return
			}
			if _, err := start(c.engine, table); err != nil {
				panic(fmt.Sprintf("volsim: start the controller of %s: %v", kind, err)) // checked by Config.Without and AddController
			}
		})
		return nil
	}
}

// onSnapshots returns a component that starts when the first object of external-snapshotter is stored. Before, it would have nothing to do.
func (c *Cluster) onSnapshots(name string, start func() error) component {
	return component{name, func() error {
		started := false
		c.engine.Store().OnOther(func(table *store.Table[*plain.Object]) {
			if started || !slices.Contains(snapshots.Kinds, table.Kind()) {
				return
			}
			started = true
			if err := start(); err != nil {
				panic(fmt.Sprintf("volsim: start %s: %v", name, err)) // checked by Config.Without and AddController
			}
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
