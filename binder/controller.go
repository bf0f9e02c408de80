package binder

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/pvcontroller"
	"github.com/volsim/volsim/internal/core/store"
)

// DefaultResyncPeriod is the time between two resyncs of all claims and volumes (BIND-004).
const DefaultResyncPeriod = 15 * time.Second

// Config configures the controller. The zero value is a controller as in a new cluster, without storage and without reclaiming.
type Config struct {
	// Backends are the storage systems that can provision; nil means none.
	Backends *backends.Set
	// NewReclaimer returns the reclaiming half, for each start of the controller. Nil: released volumes stay as they are.
	NewReclaimer func(pvcontroller.Host) pvcontroller.Reclaimer
	// ResyncPeriod is the time between two resyncs of all claims and volumes. Zero is DefaultResyncPeriod; a negative value is an error.
	ResyncPeriod time.Duration
	// DisableProvisioning turns dynamic provisioning off (PROV-020).
	DisableProvisioning bool
	// Migration maps in-tree plugins to the CSI drivers that replace them. Nil is the mapping of Kubernetes 1.36 (PROV-051).
	Migration objects.Migration
}

// controller is one life of the PersistentVolume controller: its caches, queues and operations.
//
// Its workers, its resync and its operations interleave at every API call; each is sequential in itself (BIND-041). Objects in
// caches are shared and never changed: the controller writes copies (BIND-026).
type controller struct {
	cfg       Config
	actor     *engine.Actor
	api       *engine.API
	store     *store.Store // used for keys and indexes only
	reclaimer pvcontroller.Reclaimer
	events    *engine.Recorder
	ops       *engine.NestedOperations
	// The loggers of pv_controller.go and pv_controller_base.go.
	log, base *klog.Logger

	// BIND-025: inf, the informers' view.
	infVolumes engine.Informer[*corev1.PersistentVolume]
	infClaims  engine.Informer[*corev1.PersistentVolumeClaim]
	infClasses engine.Informer[*storagev1.StorageClass]
	infPods    engine.Informer[*corev1.Pod]
	infNodes   engine.Informer[*corev1.Node]

	// BIND-020: own, the controller's private cache of volumes and claims. It is ahead of inf by the controller's own writes.
	own *match.Index

	claimQueue  *engine.Queue
	volumeQueue *engine.Queue
	resync      *engine.Ticker
	dirty       dirtySet
	repeats     repeats
	annotations sharedAnnotations
}

// New is for package volsim: callers use volsim.New.
// It adds the PersistentVolume controller to the engine. A negative ResyncPeriod and a second controller are errors.
func New(e *engine.Engine, cfg Config) (*engine.Actor, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return e.NewActor(actors.PersistentVolume, func(a *engine.Actor) { newController(a, cfg).run() })
}

func (cfg *Config) complete() error {
	if cfg.ResyncPeriod < 0 {
		return fmt.Errorf("binder: ResyncPeriod is %v; use a positive period, or zero for the default of %v",
			cfg.ResyncPeriod, DefaultResyncPeriod)
	}
	if cfg.ResyncPeriod == 0 {
		cfg.ResyncPeriod = DefaultResyncPeriod
	}
	if cfg.Backends == nil {
		none, err := backends.NewSet()
		if err != nil {
			return err
		}
		cfg.Backends = none
	}
	if cfg.Migration == nil {
		cfg.Migration = objects.MigratedDriver
	}
	return nil
}

func newController(a *engine.Actor, cfg Config) *controller {
	s := a.Engine().Store()
	c := &controller{
		cfg:        cfg,
		actor:      a,
		api:        a.Engine().API(),
		store:      s,
		events:     a.NewRecorder(actors.PersistentVolume).LogTo(loggerName),
		log:        a.Logger("pv_controller", loggerName),
		base:       a.Logger("pv_controller_base", loggerName),
		ops:        a.NewNestedOperations(),
		infVolumes: engine.NewInformer(a, s.Volumes),
		infClaims:  engine.NewInformer(a, s.Claims),
		infClasses: engine.NewInformer(a, s.Classes),
		infPods:    engine.NewInformer(a, s.Pods),
		infNodes:   engine.NewInformer(a, s.Nodes),
	}
	c.forget()
	// BIND-034: one worker per queue.
	c.claimQueue = a.NewQueue(engine.QueueConfig{Name: "claims", Kind: api.PersistentVolumeClaim,
		Of: c, Work: engine.Work[*controller]((*controller).processClaim)})
	c.volumeQueue = a.NewQueue(engine.QueueConfig{Name: "volumes", Kind: api.PersistentVolume,
		Of: c, Work: engine.Work[*controller]((*controller).processVolume)})
	c.resync = a.NewTicker(engine.TickerConfig{Name: "resync", Period: cfg.ResyncPeriod, Rank: 1, Pass: c.resyncDirty, Full: c.resyncAll,
		Idle: engine.EveryTick})
	if cfg.NewReclaimer != nil {
		c.reclaimer = cfg.NewReclaimer(c)
	}
	return c
}

// run starts the controller with the objects that exist.
func (c *controller) run() {
	// BIND-024: the own cache starts as a copy of the informers'.
	c.base.Info(0, "Starting persistent volume controller")
	for _, pv := range c.infVolumes.List() {
		c.logStored(lineAdded, aVolume, pv.Name, pv)
		c.markVolume(c.own.PutVolume(pv))
	}
	for _, claim := range c.infClaims.List() {
		c.logStored(lineAdded, aClaim, api.KeyOf(claim), claim)
		c.markClaim(c.own.PutClaim(api.KeyOf(claim), claim))
	}
	c.base.Info(4, "Controller initialized")
	engine.Handle(c.infVolumes, c, &volumeHandlers)
	engine.Handle(c.infClaims, c, &claimHandlers)
	// BIND-004: the first resync is now, even if it has nothing to do; the periods count from here.
	c.resync.ArmBackground()
}

// BIND-030, BIND-031, BIND-033: their own events queue volumes and claims; events of other kinds queue nothing.
var (
	volumeHandlers = engine.Handlers[*controller, *corev1.PersistentVolume]{
		Add:    (*controller).enqueueVolume,
		Update: func(c *controller, _, pv *corev1.PersistentVolume) { c.enqueueVolume(pv) },
		Delete: (*controller).enqueueVolume,
	}
	claimHandlers = engine.Handlers[*controller, *corev1.PersistentVolumeClaim]{
		Add:    (*controller).enqueueClaim,
		Update: func(c *controller, _, claim *corev1.PersistentVolumeClaim) { c.enqueueClaim(claim) },
		Delete: (*controller).enqueueClaim,
	}
)

func (c *controller) enqueueVolume(pv *corev1.PersistentVolume) { c.enqueue(c.volumeQueue, pv.Name) }

func (c *controller) enqueueClaim(claim *corev1.PersistentVolumeClaim) {
	c.enqueue(c.claimQueue, c.infClaims.KeyOf(claim))
}

// enqueue queues the key of an object that changed.
func (c *controller) enqueue(queue *engine.Queue, key string) {
	if c.repeatsSyncs() && queue.Queued(key) {
		c.repeats.add(queue, key)
		return
	}
	c.base.Info(5, "Enqueued for sync", klog.String("objName", key))
	queue.Add(key)
}

// processClaim syncs the claim of a key that the claim worker took from its queue (BIND-037).
func (c *controller) processClaim(p *engine.Process, key string) error {
	c.base.Info(5, "syncClaimByKey", klog.String("claimKey", key))
	defer c.repeat(c.claimQueue, key, (*controller).syncCleanClaim)
	claim, ok := c.infClaims.Get(key)
	if !ok {
		c.forgetClaim(key)
		return nil
	}
	// BIND-022: a version older than what the controller itself wrote is not synced.
	entry, fresh, err := c.storeClaim(key, claim)
	if err != nil || !fresh {
		return err
	}
	before := c.effects(p)
	err = c.syncClaim(p, claim)
	c.logClaimFailure(claim, err)
	// An unbound claim that names no volume reads all volumes, so its next sync may differ although the claim has not changed.
	if err != nil || c.effects(p) != before || claim.Spec.VolumeName == "" && !isBindCompleted(claim) {
		c.markClaim(entry)
	} else {
		entry.Dirty = false
	}
	return err
}

// processVolume syncs the volume of a name that the volume worker took from its queue (BIND-037).
func (c *controller) processVolume(p *engine.Process, name string) error {
	c.base.Info(5, "syncVolumeByKey", klog.String("volumeKey", name))
	defer c.repeat(c.volumeQueue, name, (*controller).syncCleanVolume)
	pv, ok := c.infVolumes.Get(name)
	if !ok {
		c.forgetVolume(name)
		return nil
	}
	// BIND-022: the same for volumes.
	entry, fresh, err := c.storeVolume(pv)
	if err != nil || !fresh {
		return err
	}
	before := c.effects(p)
	err = c.syncVolume(p, pv)
	c.logVolumeFailure(pv, err)
	if err != nil || c.effects(p) != before {
		c.markVolume(entry)
	} else {
		entry.Dirty = false
	}
	return err
}

// forgetVolume handles the deletion of a volume. It writes nothing.
func (c *controller) forgetVolume(name string) {
	entry := c.own.Volume(name)
	if entry == nil {
		c.base.Info(2, "Deletion of volume was already processed", klog.String("volumeKey", name))
		return
	}
	pv := entry.PV
	c.own.DeleteVolume(name)
	c.base.Info(4, "volume deleted", volumeName(pv))
	c.markNaming(entry)
	// BIND-038: its claim is synced at once, and becomes Lost.
	if ref := pv.Spec.ClaimRef; ref != nil {
		c.base.Info(5, "deleteVolume: scheduling sync of claim", claimOfRef(pv), volumeName(pv))
		c.claimQueue.Add(api.Key(ref.Namespace, ref.Name))
	}
}

// forgetClaim handles the deletion of a claim. It writes nothing.
func (c *controller) forgetClaim(key string) {
	entry := c.own.Claim(key)
	if entry == nil {
		c.base.Info(2, "Deletion of claim was already processed", klog.String("claimKey", key))
		return
	}
	claim := entry.Claim
	c.own.DeleteClaim(key)
	c.base.Info(4, "Claim deleted", pvc(claim))
	c.markPointing(entry)
	// BIND-039: its volume is synced at once. A volume that only points at the claim waits for the resync.
	// BIND-040: this does not run for a claim that was created again under the same name meanwhile.
	if claim.Spec.VolumeName == "" {
		c.base.Info(5, "deleteClaim: volume not bound", pvc(claim))
		return
	}
	c.base.Info(5, "deleteClaim: scheduling sync of volume", pvc(claim), klog.String("volumeName", claim.Spec.VolumeName))
	c.volumeQueue.Add(claim.Spec.VolumeName)
}
