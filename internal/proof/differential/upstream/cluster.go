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
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/leases"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
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
	// Controllers are those of the scenario.
	Controllers []string
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
	Variation Variation
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
	cfg       Config
	server    *apiserver.Server
	backends  map[string]*differential.Backend
	faults    *fake.Faults
	ctx       context.Context
	stop      context.CancelFunc
	running   sync.WaitGroup
	machines  map[string]*machine // by node name
	lives     map[string]*life    // by name of Config.Controllers
	sequencer *sequencer          // nil unless Config.Sequenced

	mu      sync.Mutex
	random  *rand.Rand
	entries []trace.Entry    // since the last observation
	groups  map[string]int64 // groups that the files of volumes belong to
	leases  leases.Book      // of a scenario with Nodes
}

var _ differential.Side = (*Cluster)(nil)

// resyncPeriod of kube-controller-manager.
const resyncPeriod = 15 * time.Second

// New starts an empty cluster.
func New(cfg Config) (*Cluster, error) {
	c := &Cluster{cfg: cfg, backends: map[string]*differential.Backend{}, faults: fake.NewFaults(), machines: map[string]*machine{}, lives: map[string]*life{}, groups: map[string]int64{}, random: rand.New(rand.NewPCG(cfg.Seed, 0))}
	for _, name := range []string{differential.InTree, differential.NFS, differential.Driver} {
		c.backends[name] = differential.NewBackend(name)
	}
	served := apiserver.Config{Delay: c.upTo(cfg.Delay), Lag: c.upTo(cfg.Lag), Inject: c.faults.Inject, Wrote: c.record}
	if cfg.Sequenced {
		c.sequencer = c.newSequencer()
		served.Await = c.sequencer.awaitRemote
		c.running.Go(c.sequencer.run)
	}
	c.server = apiserver.New(served)
	c.ctx, c.stop = context.WithCancel(context.Background())
	start := c.start
	switch {
	case cfg.Nodes:
		start = c.startNodeControllers
	case len(cfg.Controllers) > 0:
		start = c.startControllers
	}
	if err := start(c.ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// upTo returns random durations below d. Some components are much slower than others, so what one does may be over before another
// notices, as on our side when nothing takes time.
func (c *Cluster) upTo(d time.Duration) func(string) time.Duration {
	if d <= 0 {
		return nil
	}
	slowness := map[string]int64{}
	for _, name := range slices.Concat(differential.Actors, differential.AttachActors, differential.NodeActors, c.cfg.Controllers, kubeletActors) {
		slowness[name] = int64(d) / []int64{1, 1, 10, 100, 1_000_000}[c.random.IntN(5)]
	}
	return func(component string) time.Duration {
		c.mu.Lock()
		defer c.mu.Unlock()
		return time.Duration(c.random.Int64N(max(1, slowness[component])))
	}
}

func (c *Cluster) record(e trace.Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = append(c.entries, e)
	if event, ok := emitted(e); ok {
		e = event
		c.entries = append(c.entries, e)
	}
}

// start starts the controllers. Those of kube-controller-manager share informers.
func (c *Cluster) start(ctx context.Context) error {
	if err := c.startProvisioner(ctx); err != nil {
		return err
	}
	clients := map[string]kubernetes.Interface{}
	for _, name := range differential.Actors {
		client, err := c.server.Client(name)
		if err != nil {
			return err
		}
		clients[name] = client
	}
	var factories []informers.SharedInformerFactory
	shared := func(component string) informers.SharedInformerFactory {
		// With a sequencer each controller has its own informers, as in a kube-controller-manager that runs only one controller. So each receives its
		// events with its own permits.
		if len(factories) == 0 || c.sequencer != nil {
			factories = append(factories, informers.NewSharedInformerFactory(clients[component], 12*time.Hour))
		}
		return factories[len(factories)-1]
	}
	from := shared(actors.PersistentVolume)
	logged := klog.NewContext(ctx, c.eventLogger(actors.PersistentVolume))
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
	c.sequenceWorkers(ctx, actors.PersistentVolume, pv, "claimQueue", "volumeQueue")
	quiet := klog.NewContext(ctx, klog.LoggerWithName(discard, "quiet"))
	pvProtection := pvprotection.NewPVProtectionController(c.logger(actors.PVProtection), shared(actors.PVProtection).Core().V1().PersistentVolumes(), clients[actors.PVProtection])
	c.sequenceWorkers(ctx, actors.PVProtection, pvProtection, "queue")
	from = shared(actors.PVCProtection)
	pvcProtection, err := pvcprotection.NewPVCProtectionController(c.logger(actors.PVCProtection), from.Core().V1().PersistentVolumeClaims(), from.Core().V1().Pods(), clients[actors.PVCProtection])
	if err != nil {
		return fmt.Errorf("pvc-protection controller: %w", err)
	}
	c.sequenceWorkers(ctx, actors.PVCProtection, pvcProtection, "queue")
	expanding, err := c.prepareExpand(ctx, clients[actors.Expander], shared(actors.Expander))
	if err != nil {
		return err
	}
	making, err := c.prepareEphemeral(ctx, clients[actors.Ephemeral], shared(actors.Ephemeral))
	if err != nil {
		return err
	}
	if c.cfg.Attach {
		if clients[actors.AttachDetach], err = c.server.Client(actors.AttachDetach); err != nil {
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
		c.running.Go(factory.Shutdown)
	}
	c.running.Go(func() { pv.Run(logged) })
	c.running.Go(func() { pvProtection.Run(klog.NewContext(ctx, c.logger(actors.PVProtection)), 1) })
	c.running.Go(func() { pvcProtection.Run(klog.NewContext(ctx, c.logger(actors.PVCProtection)), 1) })
	c.running.Go(expanding)
	c.running.Go(making)
	return nil
}

// Close ends the cluster and waits until all goroutines have ended.
func (c *Cluster) Close() {
	c.stop()
	if c.sequencer != nil {
		c.sequencer.close()
	}
	c.running.Wait()
	if c.cfg.Wait != nil {
		// Running operations on volumes end first.
		time.Sleep(longestOperation)
	}
	for _, m := range c.machines {
		// Leftover files do no harm.
		_ = os.RemoveAll(m.root)
		roots.Delete(m.root)
	}
}

// longestOperation is longer than any operation takes.
const longestOperation = time.Hour

// Create creates an object.
func (c *Cluster) Create(obj api.Object) (created api.Object, err error) {
	c.server.Do(func(s *store.Store) { created, err = s.Create(obj) })
	if node, ok := created.(*corev1.Node); ok && err == nil && c.cfg.Kubelets {
		err = c.startMachine(node)
	}
	return created, err
}

// Update replaces an object.
func (c *Cluster) Update(obj api.Object) (err error) {
	c.server.Do(func(s *store.Store) { _, err = s.Update(obj) })
	return err
}

// Patch applies a JSON merge patch.
func (c *Cluster) Patch(ref api.Ref, sub api.Subresource, patch string) (err error) {
	c.server.Do(func(s *store.Store) { _, err = s.Patch(ref.Kind, ref.Key, []byte(patch), sub) })
	return err
}

// Delete deletes an object.
func (c *Cluster) Delete(ref api.Ref, opts api.DeleteOptions) (err error) {
	c.server.Do(func(s *store.Store) { _, err = s.Delete(ref.Kind, ref.Key, opts) })
	return err
}

// Storage returns a backend.
func (c *Cluster) Storage(name string) *differential.Backend { return c.backends[name] }

// Objects returns the objects of a kind.
func (c *Cluster) Objects(kind api.Kind) (all []api.Object) {
	c.server.Do(func(s *store.Store) { all = s.List(kind) })
	return all
}

// Bind gives a pod a node.
func (c *Cluster) Bind(pod, node string) (err error) {
	c.server.Do(func(s *store.Store) { _, err = s.Bind(pod, differential.BindingTo(pod, node)) })
	return err
}

// Fail adds a rule for failing requests.
func (c *Cluster) Fail(r differential.Rule) (err error) {
	c.server.Do(func(*store.Store) { err = r.Add(c.faults) })
	return err
}

// Claims counts the claims in a phase.
func (c *Cluster) Claims(phase corev1.PersistentVolumeClaimPhase) (n int) {
	c.server.Do(func(s *store.Store) {
		for claim := range s.Claims.All() {
			if claim.Status.Phase == phase {
				n++
			}
		}
	})
	return n
}

// Volumes counts the volumes in a phase.
func (c *Cluster) Volumes(phase corev1.PersistentVolumePhase) (n int) {
	c.server.Do(func(s *store.Store) {
		for pv := range s.Volumes.All() {
			if pv.Status.Phase == phase {
				n++
			}
		}
	})
	return n
}

// Advance advances time, and lets every component do what is due by then.
func (c *Cluster) Advance(d time.Duration) error {
	time.Sleep(d)
	if c.sequencer != nil {
		c.sequencer.settle()
	} else {
		c.cfg.Wait()
	}
	return nil
}

// Observe returns the state and what happened.
func (c *Cluster) Observe() (differential.Observation, error) {
	var objects []api.Object
	c.server.Do(func(s *store.Store) { objects = differential.Objects(s) })
	var machines []differential.Machine
	for _, m := range c.machines {
		machines = append(machines, m)
	}
	c.mu.Lock()
	entries := c.entries
	c.entries = nil
	c.mu.Unlock()
	return differential.Observe(differential.Epoch, objects, machines, c.backends[differential.Driver].Requests(), slices.Values(entries))
}
