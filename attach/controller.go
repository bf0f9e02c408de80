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
	"github.com/volsim/volsim/internal/core/options"
)

// The periods of the controller's loops.
const (
	reconcilerPeriod  = 100 * time.Millisecond // ATT-060: from the end of a pass to the next
	populatorPeriod   = time.Minute            // ATT-032: between passes that remove pods that are gone
	relistPeriod      = 3 * time.Minute        // ATT-035: between passes that also read all pods
	defaultSyncPeriod = time.Minute            // ATT-120: between verifications
	minSyncPeriod     = time.Second            // ATT-120: the least that --attach-detach-reconcile-sync-period allows
	defaultCacheWait  = 100 * time.Millisecond // ATT-130: the first check of the caches always fails
)

// Config configures the attach/detach controller. The zero value has the defaults of kube-controller-manager.
type Config struct {
	// SyncPeriod is --attach-detach-reconcile-sync-period: the time between verifications that attached volumes still are. Zero is 1
	// minute, negative is none (--disable-attach-detach-reconcile-sync); less than a second is an error (ATT-120).
	SyncPeriod time.Duration
	// DisableForceDetach is --disable-force-detach-on-timeout: a volume that stays mounted on an unhealthy node is not detached after 6
	// minutes (ATT-063).
	DisableForceDetach bool
}

// controller is the attach/detach controller between two crashes: its desired and actual state, its loops and its operations.
type controller struct {
	cfg    Config
	opts   options.Attach
	set    *backends.Set
	actor  *engine.Actor
	events *engine.Recorder
	ops    *engine.NestedOperations
	log    loggers

	infPods        engine.Informer[*corev1.Pod]
	infNodes       engine.Informer[*corev1.Node]
	infClaims      engine.Informer[*corev1.PersistentVolumeClaim]
	infVolumes     engine.Informer[*corev1.PersistentVolume]
	infDrivers     engine.Informer[*storagev1.CSIDriver]
	infAttachments engine.Informer[*storagev1.VolumeAttachment]

	desired desiredState
	actual  actualState
	work    worklist

	claimQueue *engine.Queue
	reconciler *engine.Ticker
	populator  *engine.Ticker
	// relist: the populator has to read all pods again, because something changed since it last did.
	relist   bool
	started  time.Time
	verifier verifier
}

// New is for package volsim: callers use volsim.New.
// It adds the attach/detach controller to the engine. A nil set has no backends. It returns an error for a SyncPeriod below a second, for
// a PollStretch that is no fraction, and for a second controller.
func New(e *engine.Engine, set *backends.Set, cfg Config, opts options.Attach) (*engine.Actor, error) {
	if err := complete(&cfg, &opts); err != nil {
		return nil, err
	}
	if set == nil {
		set = &backends.Set{}
	}
	return e.NewActor(actors.AttachDetach, func(a *engine.Actor) {
		constructed := e.Now()
		if opts.CacheWait <= 0 {
			newController(a, set, cfg, opts, constructed).run()
			return
		}
		// ATT-130: changes before the caches are checked are in the caches.
		a.After(opts.CacheWait, "caches", func(*engine.Process) { newController(a, set, cfg, opts, constructed).run() })
	})
}

// complete sets defaults and checks values.
func complete(cfg *Config, opts *options.Attach) error {
	switch {
	case cfg.SyncPeriod == 0:
		cfg.SyncPeriod = defaultSyncPeriod
	case cfg.SyncPeriod > 0 && cfg.SyncPeriod < minSyncPeriod:
		return fmt.Errorf("attach: Config.SyncPeriod is %v: give zero for the default of %v, %v or more, or a negative value for none",
			cfg.SyncPeriod, defaultSyncPeriod, minSyncPeriod)
	}
	if opts.PollStretch < 0 || opts.PollStretch > maxPollStretch {
		return fmt.Errorf("attach: PollStretch is %v: give a fraction from 0 to %v", opts.PollStretch, maxPollStretch)
	}
	if opts.CacheWait == 0 {
		opts.CacheWait = defaultCacheWait
	}
	return nil
}

func newController(a *engine.Actor, set *backends.Set, cfg Config, opts options.Attach, constructed time.Time) *controller {
	s := a.Engine().Store()
	c := &controller{
		cfg:            cfg,
		opts:           opts,
		set:            set,
		actor:          a,
		events:         a.NewRecorder(actors.AttachDetach).LogTo(loggerName),
		ops:            a.NewNestedOperations(),
		infPods:        engine.NewInformer(a, s.Pods),
		infNodes:       engine.NewInformer(a, s.Nodes),
		infClaims:      engine.NewInformer(a, s.Claims),
		infVolumes:     engine.NewInformer(a, s.Volumes),
		infDrivers:     engine.NewInformer(a, s.CSIDrivers),
		infAttachments: engine.NewInformer(a, s.Attachments),
		desired:        newDesiredState(),
		actual:         newActualState(),
		log:            newLoggers(a),
		work:           newWorklist(),
	}
	c.actual.log = c.log.actual
	// ATT-031: claims are synced one after the other.
	c.claimQueue = a.NewQueue(engine.QueueConfig{Name: "claims", Kind: api.PersistentVolumeClaim, Sync: c.processClaim})
	// ATT-060: the first pass is at once, each later one 100 ms after the end of the last.
	c.reconciler = a.NewTicker(engine.TickerConfig{Name: "reconciler", Period: reconcilerPeriod, Pass: c.reconcile})
	c.populator = a.NewTicker(engine.TickerConfig{Name: "populator", Period: populatorPeriod, Pass: c.populate})
	c.started = a.Engine().Now()
	// ATT-120: the first sync is a period after construction.
	c.verifier.last = constructed
	return c
}

// run starts the controller with the objects that the API server has (ATT-130).
func (c *controller) run() {
	c.log.controller.Info(0, "Starting attach detach controller")
	// ATT-130: the handlers receive all objects first, then both states are filled from the caches, then the loops start.
	c.handleEvents()
	c.populateActual()
	c.populateDesired()
	c.scheduleRelist()
	c.scheduleVerification()
	c.reconciler.Arm()
}

// updateWork puts a volume on a node into the worklist, or removes it. It runs after each change of the desired or actual state.
func (c *controller) updateWork(at pair) {
	wanted := c.desired.has(at)
	switch state := c.actual.state(at); {
	case !wanted && state != detached:
		if _, known := c.work.undesired[at]; !known {
			c.work.found++
		}
		c.work.put(c.work.undesired, c.work.unattached, at)
	case wanted && (state != attached || !c.actual.requestedAt(at).IsZero()):
		c.work.put(c.work.unattached, c.work.undesired, at)
	default:
		c.work.drop(at)
	}
	// A volume that is free on one node may be attached to another.
	c.wake()
}

// wake arms the reconciler if it has work.
func (c *controller) wake() {
	if !c.work.empty() || c.actual.anyDirty() {
		c.reconciler.Arm()
	}
}
