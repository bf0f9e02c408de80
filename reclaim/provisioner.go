package reclaim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/storage"
)

// NewProvisioner adds the external provisioner of a CSI driver: the sidecar that creates volumes for claims (XPROV-010 to XPROV-040)
// and deletes released ones (XPROV-050 to XPROV-056). A crash makes it forget which claims were in progress and which volumes were
// still to be stored; the driver goes on.
func NewProvisioner(e *engine.Engine, driver storage.Backend, cfg ProvisionerConfig) (*engine.Actor, error) {
	if driver == nil {
		return nil, fmt.Errorf("reclaim: NewProvisioner: the driver is nil: give a backend")
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	s := e.Store()
	byUID := s.Claims.NewIndexWith(func(claim *corev1.PersistentVolumeClaim) []string { return []string{string(claim.UID)} },
		func(a, b *corev1.PersistentVolumeClaim) bool { return a.UID == b.UID })
	byVolume := s.Attachments.NewIndexWith(func(va *storagev1.VolumeAttachment) []string {
		if name := va.Spec.Source.PersistentVolumeName; name != nil {
			return []string{*name}
		}
		return nil
	}, func(a, b *storagev1.VolumeAttachment) bool {
		return a.Spec.Source.PersistentVolumeName == b.Spec.Source.PersistentVolumeName
	})
	calls := newDriverCalls(driver, cfg.Timeout)
	return e.NewActor(actors.Provisioner(driver.Name()), func(a *engine.Actor) {
		c := &provisioner{
			cfg: cfg, actor: a, driver: calls, name: driver.Name(), started: e.Now(),
			claims: engine.NewInformer(a, s.Claims), byUID: byUID,
			volumes: engine.NewInformer(a, s.Volumes), classes: engine.NewInformer(a, s.Classes),
			nodes: engine.NewInformer(a, s.Nodes), csiNodes: engine.NewInformer(a, s.CSINodes),
			attachments: engine.NewInformer(a, s.Attachments), byVolume: byVolume,
			recorder:   a.NewRecorder(driver.Name()),
			inProgress: map[types.UID]*corev1.PersistentVolumeClaim{},
			edited:     map[types.UID]*corev1.PersistentVolumeClaim{},
			infeasible: map[types.UID]infeasible{},
			unsaved:    map[string]*corev1.PersistentVolume{},
			givenUp:    map[string]bool{},
		}
		c.start(a)
	})
}

// provisioner is one life of an external provisioner.
type provisioner struct {
	cfg     ProvisionerConfig
	actor   *engine.Actor
	driver  *driverCalls
	name    string
	started time.Time

	claims      *engine.Informer[*corev1.PersistentVolumeClaim]
	byUID       *store.Index[*corev1.PersistentVolumeClaim]
	volumes     *engine.Informer[*corev1.PersistentVolume]
	classes     *engine.Informer[*storagev1.StorageClass]
	nodes       *engine.Informer[*corev1.Node]
	csiNodes    *engine.Informer[*storagev1.CSINode]
	attachments *engine.Informer[*storagev1.VolumeAttachment]
	byVolume    *store.Index[*storagev1.VolumeAttachment]
	recorder    *engine.Recorder

	claimQueue  *engine.Queue // by uid
	volumeQueue *engine.Queue // by name
	saveQueue   *engine.Queue // by name
	armed       bool          // for the next resync

	inProgress map[types.UID]*corev1.PersistentVolumeClaim // claims that the driver may be provisioning for (XPROV-011)
	edited     map[types.UID]*corev1.PersistentVolumeClaim // claims as this provisioner wrote them, ahead of the informer (XPROV-026)
	infeasible map[types.UID]infeasible                    // claims that wait for longer (XPROV-012)
	unsaved    map[string]*corev1.PersistentVolume         // volumes still to be stored (XPROV-040)
	givenUp    map[string]bool                             // keys of both queues that are not retried any more (XPROV-028)
}

func (c *provisioner) start(a *engine.Actor) {
	// XPROV-001: claims and volumes share one limiter.
	rate, burst := 0, 0
	if c.cfg.RetryBucket {
		rate, burst = 10, 100
	}
	limiter := engine.NewLimiter(c.cfg.RetryBase, c.cfg.RetryMax, rate, burst)
	c.claimQueue = a.NewQueue(engine.QueueConfig{Name: "claims", Workers: c.cfg.Workers, Limiter: limiter, Sync: c.syncClaimKey})
	c.volumeQueue = a.NewQueue(engine.QueueConfig{Name: "volumes", Kind: api.PersistentVolume, Workers: c.cfg.Workers, Limiter: limiter, Sync: c.syncVolumeKey})
	// XPROV-001: volumes are stored in the background by four workers.
	c.saveQueue = a.NewQueue(engine.QueueConfig{Name: "unsavedpvs", Kind: api.PersistentVolume, Workers: 4, Sync: c.saveKey})
	// XPROV-010: every add and update counts; what was deleted is in progress or of no interest.
	c.claims.Handle(engine.Handler[*corev1.PersistentVolumeClaim]{
		Add:    c.enqueueClaim,
		Update: func(_, claim *corev1.PersistentVolumeClaim) { c.enqueueClaim(claim) },
	})
	// XPROV-050: every add and update counts.
	c.volumes.Handle(engine.Handler[*corev1.PersistentVolume]{
		Add:    func(pv *corev1.PersistentVolume) { c.volumeQueue.Add(pv.Name) },
		Update: func(_, pv *corev1.PersistentVolume) { c.volumeQueue.Add(pv.Name) },
		Delete: c.volumeDeleted,
	})
	// A class has no event of its own: what it changes is found by the resync.
	c.classes.Handle(engine.Handler[*storagev1.StorageClass]{
		Add:    func(*storagev1.StorageClass) { c.armResync() },
		Update: func(_, _ *storagev1.StorageClass) { c.armResync() },
		Delete: func(*storagev1.StorageClass) { c.armResync() },
	})
}

func (c *provisioner) enqueueClaim(claim *corev1.PersistentVolumeClaim) {
	c.claimQueue.Add(string(claim.UID))
}

func (c *provisioner) volumeDeleted(pv *corev1.PersistentVolume) {
	// XPROV-056: a volume of that name that comes later begins anew.
	c.volumeQueue.Forget(pv.Name)
	delete(c.givenUp, pv.Name)
	// XPROV-010: the claim it was for hears nothing of this before the resync.
	if ref := pv.Spec.ClaimRef; ref != nil {
		if claim := c.claimByUID(ref.UID); claim != nil && claim.Spec.VolumeName == "" {
			c.armResync()
		}
	}
}

// armResync has the next resync take place. They come at fixed intervals from the start (XPROV-001), but those that would find
// nothing are left out.
func (c *provisioner) armResync() {
	if c.armed {
		return
	}
	c.armed = true
	past := c.actor.Engine().Now().Sub(c.started)
	c.actor.Background(c.cfg.Resync-past%c.cfg.Resync, "resync", c.resyncAll)
}

// resyncAll looks again at everything that an event may not have brought back: claims without a volume, and whatever failed
// (XPROV-001). The other objects would be found in order.
func (c *provisioner) resyncAll(*engine.Proc) {
	c.armed = false
	for claim := range c.claims.All() {
		if claim.Spec.VolumeName == "" || c.claimQueue.Failures(string(claim.UID)) > 0 || c.givenUp[string(claim.UID)] {
			c.enqueueClaim(claim)
		}
	}
	for pv := range c.volumes.All() {
		if c.volumeQueue.Failures(pv.Name) > 0 || c.givenUp[pv.Name] {
			c.volumeQueue.Add(pv.Name)
		}
	}
}

// isMine reports whether the name is one that this provisioner answers to.
func (c *provisioner) isMine(provisioner string) bool {
	return provisioner == c.name || slices.Contains(c.cfg.AdditionalNames, provisioner)
}

// claimByUID is the claim as the informer has it, or as this provisioner wrote it if the informer does not know that yet; nil for
// none.
func (c *provisioner) claimByUID(uid types.UID) *corev1.PersistentVolumeClaim {
	found := c.claims.ByIndex(c.byUID, string(uid))
	if len(found) == 0 {
		delete(c.edited, uid)
		return nil
	}
	if edited, ok := c.edited[uid]; ok {
		// XPROV-026: the edited copy stands under the version it was made from.
		if edited.ResourceVersion == found[0].ResourceVersion {
			return edited
		}
		delete(c.edited, uid)
	}
	return found[0]
}

// classOf is the class of a claim as the informer has it, nil for none.
func (c *provisioner) classOf(claim *corev1.PersistentVolumeClaim) *storagev1.StorageClass {
	class, _ := c.classes.Get(objects.ClassOf(claim))
	return class
}

// settle is what a queue does with the outcome of a sync: an error is retried, but not for ever if so configured (XPROV-001).
func (c *provisioner) settle(queue *engine.Queue, key string, err error) error {
	if err == nil {
		delete(c.givenUp, key)
		return nil
	}
	// What failed is looked at by the resync as well.
	c.armResync()
	limit := c.cfg.GiveUpAfter
	if limit == 0 || !c.givenUp[key] && queue.Failures(key) < limit {
		return err
	}
	// XPROV-028: the count stays as it is, so that the next event has one try.
	c.givenUp[key] = true
	return nil
}
