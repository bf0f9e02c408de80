package upstream

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"
	"k8s.io/kubernetes/pkg/volume"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/leases"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/harness"
	"github.com/volsim/volsim/storage"
)

// Config configures a cluster. With the zero value nothing takes time.
type Config struct {
	// Delay is the maximum delay of a request before and after it takes effect, Lag that of a watch event. Each takes a random part of
	// its component's maximum, which is all of this or less.
	Delay, Lag time.Duration
	// Attach is that of the scenario.
	Attach bool
	// Kubelets is that of the scenario. Phase is the maximum random delay of a kubelet's loops after its start: it shifts their periods.
	// Zero is differential.Phase.
	Kubelets bool
	Phase    time.Duration
	// Nodes is that of the scenario.
	Nodes bool
	// Controllers and Volumes are those of the scenario.
	Controllers []string
	Volumes     bool
	// Cannot, MountGroup and GroupChange are those of the scenario.
	Cannot      []storage.Op
	MountGroup  bool
	GroupChange time.Duration
	// Sorted sorts what upstream takes from maps: the desired state of kubelets and of the attach/detach controller, and the volumes of
	// the PersistentVolume controller.
	Sorted bool
	// Seed of the random delays.
	Seed uint64
	// Sequenced lets one transition happen after the other, in Order as far as possible. Variation chooses what Order leaves open.
	Sequenced bool
	Order     []differential.Action
	Variation harness.Variation
	// Latency is how long each request takes before it waits for its permit, as in differential.Options.
	Latency time.Duration
	// Log receives the log of the PersistentVolume controller and the protection controllers at level 5; nil is none.
	Log io.Writer
	// Wait waits until every goroutine of the bubble waits: synctest.Wait. Nil means no bubble and real time; then Advance must not be
	// called.
	Wait func()
}

// Cluster is a differential.Side that runs the controllers of Kubernetes.
type Cluster struct {
	*harness.Cluster
	cfg      Config
	machines map[string]*machine // by node name

	mu     sync.Mutex
	random *rand.Rand       // of the phases of kubelets
	groups map[string]int64 // groups that the files of volumes belong to
	leases leases.Book      // of a scenario with Nodes
}

var _ differential.Side = (*Cluster)(nil)

// resyncPeriod of kube-controller-manager.
const resyncPeriod = 15 * time.Second

// New starts an empty cluster.
func New(cfg Config) (*Cluster, error) {
	middling.Store(cfg.Sequenced)
	c := &Cluster{cfg: cfg, machines: map[string]*machine{}, groups: map[string]int64{}, random: rand.New(rand.NewPCG(cfg.Seed, 1))}
	// The ephemeral volume controller logs its Events as plain text, so they are derived from its writes.
	c.Cluster = harness.New(harness.Config{
		Delay: cfg.Delay, Lag: cfg.Lag, Seed: cfg.Seed, Sequenced: cfg.Sequenced, Order: cfg.Order, Variation: cfg.Variation, Latency: cfg.Latency,
		Log: cfg.Log, LoggerNames: loggerNames, Wait: cfg.Wait, Controllers: preparations, Reported: []string{actors.Ephemeral},
		Components: slices.Concat(differential.Actors, differential.AttachActors, differential.NodeActors, cfg.Controllers, kubeletActors),
	})
	start := c.start
	switch {
	case cfg.Nodes && !cfg.Volumes:
		start = c.startNodeControllers
	case len(cfg.Controllers) > 0 && !cfg.Volumes:
		start = c.startControllers
	}
	err := start(c.Context)
	if err == nil && cfg.Volumes {
		err = c.startControllers(c.Context)
	}
	if err == nil && cfg.Volumes && cfg.Nodes {
		err = c.startNodeControllers(c.Context)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// start starts the controllers. Those of kube-controller-manager share informers.
func (c *Cluster) start(ctx context.Context) error {
	if err := c.startProvisioner(ctx); err != nil {
		return err
	}
	clients := map[string]kubernetes.Interface{}
	for _, name := range differential.Actors {
		client, err := c.Server.Client(name)
		if err != nil {
			return err
		}
		clients[name] = client
	}
	var factories []informers.SharedInformerFactory
	shared := func(component string) informers.SharedInformerFactory {
		// With a sequencer each controller has its own informers, as in a kube-controller-manager that runs only one controller. So each receives its
		// events with its own permits.
		if len(factories) == 0 || c.Sequencer != nil {
			factories = append(factories, informers.NewSharedInformerFactory(clients[component], 12*time.Hour))
		}
		return factories[len(factories)-1]
	}
	from := shared(actors.PersistentVolume)
	volumes := from
	logged := klog.NewContext(ctx, c.EventLogger(actors.PersistentVolume))
	pv, err := persistentvolume.NewController(logged, persistentvolume.ControllerParameters{
		KubeClient:                clients[actors.PersistentVolume],
		SyncPeriod:                resyncPeriod,
		VolumePlugins:             []volume.VolumePlugin{&mockStorage{c.plugin(differential.InTree)}, &nfs{c.plugin(differential.NFS)}},
		VolumeInformer:            from.Core().V1().PersistentVolumes(),
		ClaimInformer:             from.Core().V1().PersistentVolumeClaims(),
		ClassInformer:             from.Storage().V1().StorageClasses(),
		PodInformer:               from.Core().V1().Pods(),
		NodeInformer:              from.Core().V1().Nodes(),
		EnableDynamicProvisioning: true,
	})
	if err != nil {
		return fmt.Errorf("PersistentVolume controller: %w", err)
	}
	if c.cfg.Sorted {
		sortVolumes(pv)
	}
	c.SequenceWorkers(ctx, actors.PersistentVolume, pv, "claimQueue", "volumeQueue")
	quiet := klog.NewContext(ctx, klog.LoggerWithName(harness.Discard, "quiet"))
	pvProtection := pvprotection.NewPVProtectionController(c.Logger(actors.PVProtection), shared(actors.PVProtection).Core().V1().PersistentVolumes(), clients[actors.PVProtection])
	c.SequenceWorkers(ctx, actors.PVProtection, pvProtection, "queue")
	from = shared(actors.PVCProtection)
	pvcProtection, err := pvcprotection.NewPVCProtectionController(c.Logger(actors.PVCProtection), from.Core().V1().PersistentVolumeClaims(), from.Core().V1().Pods(), clients[actors.PVCProtection])
	if err != nil {
		return fmt.Errorf("pvc-protection controller: %w", err)
	}
	c.SequenceWorkers(ctx, actors.PVCProtection, pvcProtection, "queue")
	expanding, err := c.prepareExpand(ctx, clients[actors.Expander], shared(actors.Expander))
	if err != nil {
		return err
	}
	making, err := c.prepareEphemeral(ctx, clients[actors.Ephemeral], shared(actors.Ephemeral))
	if err != nil {
		return err
	}
	if c.cfg.Attach {
		if clients[actors.AttachDetach], err = c.Server.Client(actors.AttachDetach); err != nil {
			return err
		}
		if err := c.startAttachDetach(ctx, clients[actors.AttachDetach], shared(actors.AttachDetach)); err != nil {
			return err
		}
		if err := c.startAttacher(ctx); err != nil {
			return err
		}
	}
	for _, factory := range factories {
		factory.StartWithContext(quiet)
		c.Running.Go(factory.Shutdown)
	}
	c.Running.Go(func() {
		// The resyncs count from the start. The controller itself would ask every 100 ms whether its informers have synced.
		volumes.WaitForCacheSyncWithContext(ctx)
		pv.Run(logged)
	})
	c.Running.Go(func() { pvProtection.Run(klog.NewContext(ctx, c.Logger(actors.PVProtection)), 1) })
	c.Running.Go(func() { pvcProtection.Run(klog.NewContext(ctx, c.Logger(actors.PVCProtection)), 1) })
	c.Running.Go(expanding)
	c.Running.Go(making)
	return nil
}

// Close ends the cluster and waits until all goroutines have ended.
func (c *Cluster) Close() {
	c.Cluster.Close()
	for _, m := range c.machines {
		// Leftover files do no harm.
		_ = os.RemoveAll(m.root)
		roots.Delete(m.root)
	}
}

// Create creates an object.
func (c *Cluster) Create(obj api.Object) (api.Object, error) {
	created, err := c.Cluster.Create(obj)
	if node, ok := created.(*corev1.Node); ok && err == nil && c.cfg.Kubelets {
		if c.cfg.Nodes {
			err = c.renew(node.Name, differential.Start)
		}
		if err == nil {
			err = c.startMachine(node)
		}
	}
	return created, err
}

// Claims counts the claims in a phase.
func (c *Cluster) Claims(phase corev1.PersistentVolumeClaimPhase) (n int) {
	c.Server.Do(func(s *store.Store) {
		for _, claim := range s.Claims.List() {
			if claim.Status.Phase == phase {
				n++
			}
		}
	})
	return n
}

// Volumes counts the volumes in a phase.
func (c *Cluster) Volumes(phase corev1.PersistentVolumePhase) (n int) {
	c.Server.Do(func(s *store.Store) {
		for _, pv := range s.Volumes.List() {
			if pv.Status.Phase == phase {
				n++
			}
		}
	})
	return n
}

// Observe returns the state and what happened.
func (c *Cluster) Observe() (differential.Observation, error) {
	var machines []differential.Machine
	for _, m := range c.machines {
		machines = append(machines, m)
	}
	return c.ObserveWith(machines)
}
