package attach

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/store"
)

// DefaultSyncPeriod is the time between two looks at whether what should be attached is (ATT-120).
const DefaultSyncPeriod = time.Minute

// DefaultCacheWait is the time between two looks at whether the caches are filled. The first look comes too early (ATT-130).
const DefaultCacheWait = 100 * time.Millisecond

const (
	// ATT-060
	reconcilerPeriod = 100 * time.Millisecond
	// ATT-064
	maxWaitForUnmount = 6 * time.Minute
	// ATT-032
	populatorPeriod = time.Minute
	// ATT-035
	relistPeriod = 3 * time.Minute
	// ATT-120
	minSyncPeriod = time.Second
)

// Config sets up the attach/detach controller. The zero value is one with the defaults of kube-controller-manager, without storage.
type Config struct {
	// Backends are the storage systems there are; nil is none.
	Backends *backends.Set
	// SyncPeriod is --attach-detach-reconcile-sync-period; zero is a minute. Less than a second is refused (ATT-120).
	SyncPeriod time.Duration
	// DisableSync is --disable-attach-detach-reconcile-sync (ATT-120).
	DisableSync bool
	// DisableForceDetach is --disable-force-detach-on-timeout (ATT-063).
	DisableForceDetach bool
	// PollStretch makes each wait between two looks at a VolumeAttachment longer by that fraction. Upstream it is random between 0 and
	// 0.1; zero, the default, is none (ATT-145).
	PollStretch float64
	// CacheWait is how long after its start the controller waits for its caches; zero is DefaultCacheWait, less than zero is none
	// (ATT-130).
	CacheWait time.Duration
}

// controller is one life of the attach/detach controller: its two worlds, its loops and its operations.
type controller struct {
	cfg    Config
	actor  *engine.Actor
	events *engine.Recorder
	ops    *engine.NestedOperations

	infPods        *engine.Informer[*corev1.Pod]
	infNodes       *engine.Informer[*corev1.Node]
	infClaims      *engine.Informer[*corev1.PersistentVolumeClaim]
	infVolumes     *engine.Informer[*corev1.PersistentVolume]
	infDrivers     *engine.Informer[*storagev1.CSIDriver]
	infAttachments *engine.Informer[*storagev1.VolumeAttachment]
	podsByClaim    *store.Index[*corev1.Pod]

	desired desiredWorld
	actual  actualWorld
	work    worklist

	claimQueue *engine.Queue
	reconciler *engine.Ticker
	populator  *engine.Loop
	// unlisted says that something has happened since the populator last listed all pods.
	unlisted bool
	started  time.Time
	verifier verifier
}

// New adds the attach/detach controller to the engine. It refuses a SyncPeriod below a second, a PollStretch that is no fraction, and
// a second controller.
func New(e *engine.Engine, cfg Config) (*engine.Actor, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	podsByClaim := e.Store().Pods.NewIndexWith(objects.ClaimsOf, objects.SameVolumes)
	return e.NewActor(actors.AttachDetach, func(a *engine.Actor) {
		constructed := e.Now()
		if cfg.CacheWait <= 0 {
			newController(a, cfg, podsByClaim, constructed).run()
			return
		}
		// ATT-130: what happens until then is in the caches.
		a.After(cfg.CacheWait, "caches", func(*engine.Proc) { newController(a, cfg, podsByClaim, constructed).run() })
	})
}

func (cfg *Config) complete() error {
	switch {
	case cfg.SyncPeriod == 0:
		cfg.SyncPeriod = DefaultSyncPeriod
	case cfg.SyncPeriod < minSyncPeriod:
		return fmt.Errorf("attach: SyncPeriod is %v: give zero for the default of %v, or %v or more; DisableSync turns it off", cfg.SyncPeriod, DefaultSyncPeriod, minSyncPeriod)
	}
	if cfg.PollStretch < 0 || cfg.PollStretch > maxPollStretch {
		return fmt.Errorf("attach: PollStretch is %v: give a fraction from 0 to %v", cfg.PollStretch, maxPollStretch)
	}
	if cfg.CacheWait == 0 {
		cfg.CacheWait = DefaultCacheWait
	}
	if cfg.Backends == nil {
		none, err := backends.NewSet()
		if err != nil {
			return err
		}
		cfg.Backends = none
	}
	return nil
}

func newController(a *engine.Actor, cfg Config, podsByClaim *store.Index[*corev1.Pod], constructed time.Time) *controller {
	s := a.Engine().Store()
	c := &controller{
		cfg:            cfg,
		actor:          a,
		events:         a.NewRecorder(actors.AttachDetach),
		ops:            a.NewNestedOperations(),
		infPods:        engine.NewInformer(a, s.Pods),
		infNodes:       engine.NewInformer(a, s.Nodes),
		infClaims:      engine.NewInformer(a, s.Claims),
		infVolumes:     engine.NewInformer(a, s.Volumes),
		infDrivers:     engine.NewInformer(a, s.CSIDrivers),
		infAttachments: engine.NewInformer(a, s.Attachments),
		podsByClaim:    podsByClaim,
		desired:        newDesiredWorld(),
		actual:         newActualWorld(),
		work:           newWorklist(),
	}
	// ATT-031: one worker.
	c.claimQueue = a.NewQueue(engine.QueueConfig{Name: "claims", Kind: api.PersistentVolumeClaim, Sync: c.processClaim})
	// ATT-060: at once, and 100 ms after the end of each pass.
	c.reconciler = a.NewTicker("reconciler", reconcilerPeriod, c.reconcile)
	c.populator = a.NewLoop("populator", populatorPeriod, c.populate)
	c.started = a.Engine().Now()
	// ATT-120: the first sync is a period after construction.
	c.verifier.last = constructed
	return c
}

// run starts the controller on what the API server holds (ATT-130).
func (c *controller) run() {
	// ATT-130: the handlers get all there is first; the worlds are filled from the caches then; the loops come last.
	c.handleEvents()
	c.populateActual()
	c.populateDesired()
	c.unsettle()
	c.unverified()
	c.reconciler.Arm()
}

// review is called after every change to what one of the worlds says about a volume on a node.
func (c *controller) review(at pair) {
	wanted := c.desired.has(at)
	switch state := c.actual.state(at); {
	case !wanted && state != detached:
		c.work.put(c.work.undesired, c.work.unattached, at)
	case wanted && (state != attached || !c.actual.requestedAt(at).IsZero()):
		c.work.put(c.work.unattached, c.work.undesired, at)
	default:
		c.work.drop(at)
	}
	// What happens to a volume on one node can matter on another.
	c.stir()
}

// stir has the reconciler look at what is not as it should be, if anything is not.
func (c *controller) stir() {
	if !c.work.empty() || c.actual.anyDirty() {
		c.reconciler.Arm()
	}
}
