package reclaim

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/sidecar"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/storage"
)

// NewProvisioner is for package volsim: callers use volsim.New.
// It adds the external-provisioner of a CSI driver: the sidecar that creates volumes for claims (XPROV-010 to XPROV-040) and
// deletes released ones (XPROV-050 to XPROV-056). A crash loses which claims were in progress and which volumes were still to be saved; the
// driver goes on.
func NewProvisioner(e *engine.Engine, driver storage.Backend, cfg sidecar.Config, opts options.Provisioner) (*engine.Actor, error) {
	if driver == nil {
		return nil, fmt.Errorf("reclaim: NewProvisioner: the driver is nil: give a backend")
	}
	set, err := settings(cfg, opts)
	if err != nil {
		return nil, err
	}
	s := e.Store()
	byUID := s.Claims.NewIndexWith(func(claim *corev1.PersistentVolumeClaim, list []string) []string {
		return append(list, string(claim.UID))
	},
		func(a, b *corev1.PersistentVolumeClaim) bool { return a.UID == b.UID })
	byVolume := s.Attachments.NewIndexWith(func(va *storagev1.VolumeAttachment, list []string) []string {
		if name := va.Spec.Source.PersistentVolumeName; name != nil {
			list = append(list, *name)
		}
		return list
	}, func(a, b *storagev1.VolumeAttachment) bool {
		return a.Spec.Source.PersistentVolumeName == b.Spec.Source.PersistentVolumeName
	})
	calls := newDriverCalls(driver, set.Timeout)
	return e.NewActor(actors.Provisioner(driver.Name()), func(a *engine.Actor) {
		c := &provisioner{
			cfg: set, actor: a, driver: calls, name: driver.Name(),
			attributes: map[string]string{attributeProvisioner: fmt.Sprintf("%d-%s", e.Now().UnixMilli(), driver.Name())},
			claims:     engine.NewInformer(a, s.Claims), byUID: byUID,
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

// provisioner is the external-provisioner of one driver between two crashes.
type provisioner struct {
	cfg    provisionerSettings
	actor  *engine.Actor
	driver *driverCalls
	name   string
	// attributes are those of a volume for which the driver returns none: the name of the provisioner (XPROV-030). Volumes share the map, which,
	// like all stored data, is never changed.
	attributes map[string]string

	claims      engine.Informer[*corev1.PersistentVolumeClaim]
	byUID       store.Index[*corev1.PersistentVolumeClaim]
	volumes     engine.Informer[*corev1.PersistentVolume]
	classes     engine.Informer[*storagev1.StorageClass]
	nodes       engine.Informer[*corev1.Node]
	csiNodes    engine.Informer[*storagev1.CSINode]
	attachments engine.Informer[*storagev1.VolumeAttachment]
	byVolume    store.Index[*storagev1.VolumeAttachment]
	grants      engine.Informer[*plain.Object] // nil: no source may be in another namespace
	recorder    *engine.Recorder
	capacities  *capacities // nil: the driver cannot say what it has

	claimQueue  *engine.Queue // by uid
	volumeQueue *engine.Queue // by name
	saveQueue   *engine.Queue // by name
	// resync queues claims without a volume and objects that failed (XPROV-001). It is armed when that could find something.
	resync *engine.Ticker

	inProgress map[types.UID]*corev1.PersistentVolumeClaim // claims for which a call to the driver may still run (XPROV-011)
	edited     map[types.UID]*corev1.PersistentVolumeClaim // claims as written here, until the informer has them (XPROV-026)
	infeasible map[types.UID]infeasible                    // claims that the driver rejected as invalid (XPROV-012)
	unsaved    map[string]*corev1.PersistentVolume         // volumes that are created and not saved yet (XPROV-040)
	givenUp    map[string]bool                             // keys of both queues that are no longer retried (XPROV-028)

	// lastSize, lastCapacity and lastAnnotations are those of the last volume. See capacityOf and provisionedBy.
	lastSize        int64
	lastCapacity    corev1.ResourceList
	lastAnnotations map[string]string
}

func (c *provisioner) start(a *engine.Actor) {
	// XPROV-001: claims and volumes share one backoff limiter.
	rate, burst := 0, 0
	if c.cfg.retryBucket {
		rate, burst = 10, 100
	}
	limiter := engine.NewLimiter(c.cfg.RetryStart, c.cfg.RetryMax, rate, burst)
	// XPROV-001: resyncs come at fixed times from the start on.
	c.resync = a.NewTicker(engine.TickerConfig{Name: "resync", Period: c.cfg.ResyncPeriod, First: c.cfg.ResyncPeriod, Fixed: true,
		Pass: c.resyncAll})
	c.claimQueue = a.NewQueue(engine.QueueConfig{Name: "claims", Workers: c.cfg.Workers, Limiter: limiter, Sync: c.syncClaimKey})
	c.volumeQueue = a.NewQueue(engine.QueueConfig{Name: "volumes", Kind: api.PersistentVolume, Workers: c.cfg.Workers, Limiter: limiter,
		Sync: c.syncVolumeKey})
	// XPROV-001: four workers save volumes in the background.
	c.saveQueue = a.NewQueue(engine.QueueConfig{Name: "unsavedpvs", Kind: api.PersistentVolume, Workers: 4, Sync: c.saveKey})
	// XPROV-010: every add and update queues a claim; a deletion does not.
	c.claims.Handle(engine.Handler[*corev1.PersistentVolumeClaim]{
		Add:    c.enqueueClaim,
		Update: func(_, claim *corev1.PersistentVolumeClaim) { c.enqueueClaim(claim) },
	})
	c.startSourceProtection(a)
	c.startGrants(a)
	// XPROV-050: every add and update queues a volume.
	c.volumes.Handle(engine.Handler[*corev1.PersistentVolume]{
		Add:    func(pv *corev1.PersistentVolume) { c.volumeQueue.Add(pv.Name) },
		Update: func(_, pv *corev1.PersistentVolume) { c.volumeQueue.Add(pv.Name) },
		Delete: c.volumeDeleted,
	})
	c.startCapacities(a)
	// Upstream ignores changes of classes; the next resync finds their effect.
	c.classes.Handle(engine.Handler[*storagev1.StorageClass]{
		Add:    func(*storagev1.StorageClass) { c.resync.ArmBackground() },
		Update: func(_, _ *storagev1.StorageClass) { c.resync.ArmBackground() },
		Delete: func(*storagev1.StorageClass) { c.resync.ArmBackground() },
	})
}

func (c *provisioner) enqueueClaim(claim *corev1.PersistentVolumeClaim) {
	c.claimQueue.Add(string(claim.UID))
}

func (c *provisioner) volumeDeleted(pv *corev1.PersistentVolume) {
	// XPROV-056: a later volume of that name starts without failures.
	c.volumeQueue.Forget(pv.Name)
	delete(c.givenUp, pv.Name)
	// XPROV-010: the claim that it was for is synced at the next resync.
	if ref := pv.Spec.ClaimRef; ref != nil {
		if claim := c.claimByUID(ref.UID); claim != nil && claim.Spec.VolumeName == "" {
			c.resync.ArmBackground()
		}
	}
}

// resyncAll queues claims without a volume, and objects that failed (XPROV-001). A sync of the other objects would change nothing.
func (c *provisioner) resyncAll(*engine.Process) {
	for _, claim := range c.claims.List() {
		if claim.Spec.VolumeName == "" || c.claimQueue.Failures(string(claim.UID)) > 0 || c.givenUp[string(claim.UID)] {
			c.enqueueClaim(claim)
		}
	}
	for _, pv := range c.volumes.List() {
		if c.volumeQueue.Failures(pv.Name) > 0 || c.givenUp[pv.Name] {
			c.volumeQueue.Add(pv.Name)
		}
	}
}

// isMine reports whether the name is one of this provisioner.
func (c *provisioner) isMine(provisioner string) bool {
	return provisioner == c.name || slices.Contains(c.cfg.AdditionalNames, provisioner)
}

// claimByUID returns the claim as this provisioner wrote it until the informer has that, else as the informer has it; nil for none.
func (c *provisioner) claimByUID(uid types.UID) *corev1.PersistentVolumeClaim {
	found, ok := c.claims.FirstByIndex(c.byUID, string(uid))
	if !ok {
		delete(c.edited, uid)
		return nil
	}
	if edited, ok := c.edited[uid]; ok {
		// XPROV-026: the edited copy has the version that it was made from.
		if edited.ResourceVersion == found.ResourceVersion {
			return edited
		}
		delete(c.edited, uid)
	}
	return found
}

// classOf returns the class of a claim as the informer has it, nil for none.
func (c *provisioner) classOf(claim *corev1.PersistentVolumeClaim) *storagev1.StorageClass {
	class, _ := c.classes.Get(objects.ClassOf(claim))
	return class
}

// retryOrGiveUp returns the error of a sync if the queue has to retry it, and nil if the limit of failures is reached (XPROV-001).
func (c *provisioner) retryOrGiveUp(queue *engine.Queue, key string, err error) error {
	if err == nil {
		delete(c.givenUp, key)
		return nil
	}
	// The next resync also queues objects that failed.
	c.resync.ArmBackground()
	limit := c.cfg.GiveUpAfter
	if limit == 0 || !c.givenUp[key] && queue.Failures(key) < limit {
		return err
	}
	// XPROV-028: the number of failures stays, so that the next event causes one attempt.
	c.givenUp[key] = true
	return nil
}
