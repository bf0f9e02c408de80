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
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/store"
)

// DefaultResyncPeriod is the time between two passes over all claims and volumes (BIND-004).
const DefaultResyncPeriod = 15 * time.Second

// Reclaimer is what becomes of volumes whose claim is gone. Package reclaim has the real one; binder only says when.
type Reclaimer interface {
	// Finalizers is what the finalizers of a volume should be, and whether that is a change (RECL-040).
	Finalizers(pv *corev1.PersistentVolume) (finalizers []string, changed bool)
	// Reclaim acts on a released volume by its policy (RECL-001). An error has the volume synced again.
	Reclaim(p *engine.Proc, pv *corev1.PersistentVolume) error
}

// Config sets up the controller. The zero value is a controller as in a new cluster, without storage and without reclaiming.
type Config struct {
	// Backends are the storage systems there are; nil is none.
	Backends *backends.Set
	// NewReclaimer makes the reclaiming half for one life of the controller; nil leaves released volumes alone.
	NewReclaimer func(c *Controller) Reclaimer
	// ResyncPeriod is the time between passes; zero is 15 s.
	ResyncPeriod time.Duration
	// DisableProvisioning turns dynamic provisioning off (PROV-020).
	DisableProvisioning bool
	// Migration says which in-tree plugins CSI drivers took over; nil is that of Kubernetes 1.36 (PROV-051).
	Migration Migration
	// FullResync syncs every claim and volume at each pass, as upstream does, and not only those whose sync could have an effect.
	// The outcome is the same; it is there to show just that.
	FullResync bool
}

// Controller is one life of the PersistentVolume controller: its caches, queues and operations. Use it through New, or in a
// Trial to run single syncs.
//
// Its workers, its resync and its operations interleave at every API call; each is sequential in itself (BIND-041). What they take
// from a cache is shared and never changed: they write to copies (BIND-026).
type Controller struct {
	cfg       Config
	actor     *engine.Actor
	api       *engine.API
	store     *store.Store // to find keys only
	reclaimer Reclaimer
	events    *engine.Recorder
	ops       *engine.NestedOperations

	// BIND-025: inf, the informers' view.
	infVolumes  *engine.Informer[*corev1.PersistentVolume]
	infClaims   *engine.Informer[*corev1.PersistentVolumeClaim]
	infClasses  *engine.Informer[*storagev1.StorageClass]
	infPods     *engine.Informer[*corev1.Pod]
	infNodes    *engine.Informer[*corev1.Node]
	podsByClaim *store.Index[*corev1.Pod]

	// BIND-020: own, the controller's private caches.
	volumes *Index
	claims  claimCache
	// doubts are the volumes, with the claims they point at, whose last sync had to ask the API server whether that is another claim.
	doubts map[string]string

	claimQueue  *engine.Queue
	volumeQueue *engine.Queue
	resync      *engine.Loop
	restless    restless
}

// New adds the PersistentVolume controller to the engine. It refuses a negative ResyncPeriod, and a second controller.
func New(e *engine.Engine, cfg Config) (*engine.Actor, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	podsByClaim := e.Store().Pods.NewIndexWith(objects.ClaimsOf, objects.SameVolumes)
	var c *Controller // of the actor's last life
	e.OnFault(func() {
		if c != nil && c.actor.Alive() {
			c.faulted()
		}
	})
	return e.NewActor(actors.PersistentVolume, func(a *engine.Actor) {
		c = newController(a, cfg, podsByClaim)
		c.run()
	})
}

func (cfg *Config) complete() error {
	if cfg.ResyncPeriod < 0 {
		return fmt.Errorf("binder: ResyncPeriod is %v: give zero for the default of %v, or more", cfg.ResyncPeriod, DefaultResyncPeriod)
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
		cfg.Migration = MigratedDriver
	}
	return nil
}

func newController(a *engine.Actor, cfg Config, podsByClaim *store.Index[*corev1.Pod]) *Controller {
	s := a.Engine().Store()
	c := &Controller{
		cfg:         cfg,
		actor:       a,
		api:         a.Engine().API(),
		store:       s,
		events:      a.NewRecorder(actors.PersistentVolume),
		ops:         a.NewNestedOperations(),
		infVolumes:  engine.NewInformer(a, s.Volumes),
		infClaims:   engine.NewInformer(a, s.Claims),
		infClasses:  engine.NewInformer(a, s.Classes),
		infPods:     engine.NewInformer(a, s.Pods),
		infNodes:    engine.NewInformer(a, s.Nodes),
		podsByClaim: podsByClaim,
		doubts:      map[string]string{},
	}
	c.forget()
	// BIND-034: one worker per queue.
	c.claimQueue = a.NewQueue(engine.QueueConfig{Name: "claims", Kind: api.PersistentVolumeClaim, Sync: c.processClaim})
	c.volumeQueue = a.NewQueue(engine.QueueConfig{Name: "volumes", Kind: api.PersistentVolume, Sync: c.processVolume})
	c.resync = a.NewLoop("resync", cfg.ResyncPeriod, c.pass)
	if cfg.NewReclaimer != nil {
		c.reclaimer = cfg.NewReclaimer(c)
	}
	return c
}

// run starts the controller on what the API server holds.
func (c *Controller) run() {
	// BIND-024: the own caches begin as copies of the informers'.
	for pv := range c.infVolumes.All() {
		own := c.volumes.entryFor(pv.Name)
		c.volumes.put(own, pv)
		c.stirVolume(own)
	}
	for claim := range c.infClaims.All() {
		c.stirClaim(c.claims.put(api.KeyOf(claim), claim))
	}
	// BIND-030, BIND-031, BIND-033: volumes and claims are queued by their events; nothing else queues anything.
	c.infVolumes.Handle(engine.Handler[*corev1.PersistentVolume]{
		Add:    func(pv *corev1.PersistentVolume) { c.volumeQueue.Add(pv.Name) },
		Update: func(_, pv *corev1.PersistentVolume) { c.volumeQueue.Add(pv.Name) },
		Delete: func(pv *corev1.PersistentVolume) { c.volumeQueue.Add(pv.Name) },
	})
	c.infClaims.Handle(engine.Handler[*corev1.PersistentVolumeClaim]{
		Add:    func(claim *corev1.PersistentVolumeClaim) { c.claimQueue.Add(c.infClaims.KeyOf(claim)) },
		Update: func(_, claim *corev1.PersistentVolumeClaim) { c.claimQueue.Add(c.infClaims.KeyOf(claim)) },
		Delete: func(claim *corev1.PersistentVolumeClaim) { c.claimQueue.Add(c.infClaims.KeyOf(claim)) },
	})
	// BIND-004: the first pass is now, whether there is something for it to do or not; the periods count from here.
	c.resync.Arm()
}

// processClaim is a turn of the claim worker (BIND-037).
func (c *Controller) processClaim(p *engine.Proc, key string) error {
	claim, ok := c.infClaims.Get(key)
	if !ok {
		c.forgetClaim(key)
		return nil
	}
	// BIND-022: a version older than what the controller itself wrote is not worth a sync.
	own, fresh, err := c.newClaim(key, claim)
	if err != nil || !fresh {
		return err
	}
	before := c.stirred(p)
	err = c.syncClaim(p, claim)
	// A claim without a volume looks at all volumes, so its next sync may differ although nothing about itself has changed.
	if err != nil || c.stirred(p) != before || claim.Spec.VolumeName == "" && !isBindCompleted(claim) {
		c.stirClaim(own)
	} else {
		own.restless = false
	}
	return err
}

// processVolume is a turn of the volume worker (BIND-037).
func (c *Controller) processVolume(p *engine.Proc, name string) error {
	pv, ok := c.infVolumes.Get(name)
	if !ok {
		c.forgetVolume(name)
		return nil
	}
	// BIND-022
	own, fresh, err := c.newVolume(pv)
	if err != nil || !fresh {
		return err
	}
	before := c.stirred(p)
	err = c.syncVolume(p, pv)
	if err != nil || c.stirred(p) != before {
		c.stirVolume(own)
	} else {
		own.restless = false
	}
	return err
}

// forgetVolume is the handler of a volume's deletion. It writes nothing.
func (c *Controller) forgetVolume(name string) {
	own := c.volumes.find(name)
	if own == nil {
		return
	}
	pv := own.pv
	c.volumes.Delete(name)
	delete(c.doubts, name)
	c.touchNaming(own.naming)
	// BIND-038: its claim is looked at at once, and found Lost.
	if ref := pv.Spec.ClaimRef; ref != nil {
		c.claimQueue.Add(api.Key(ref.Namespace, ref.Name))
	}
}

// forgetClaim is the handler of a claim's deletion. It writes nothing.
func (c *Controller) forgetClaim(key string) {
	own := c.claims.find(key)
	if own == nil {
		return
	}
	claim := own.claim
	c.claims.delete(key)
	c.touchPointing(own.pointing)
	// BIND-039: its volume is looked at at once. A volume that only points at the claim waits for the resync.
	// BIND-040: a claim that came back under the same name meanwhile does not get here.
	if claim.Spec.VolumeName != "" {
		c.volumeQueue.Add(claim.Spec.VolumeName)
	}
}
