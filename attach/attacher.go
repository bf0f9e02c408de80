package attach

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/sidecar"
	"github.com/volsim/volsim/storage"
)

// attacherDefaults are the settings of external-attacher 4.13 (ATT-170 to ATT-172).
var attacherDefaults = sidecar.Config{
	RetryStart: time.Second, RetryMax: 5 * time.Minute, ResyncPeriod: 10 * time.Minute, Timeout: 15 * time.Second,
}

const (
	// defaultAttacherWorkers is the default of options.Attacher.Workers.
	defaultAttacherWorkers = 10
	// comparePeriod is the time between comparisons with the volumes that the driver reports as attached (ATT-181).
	comparePeriod = time.Minute
)

// attacher is the external-attacher of one CSI driver between two crashes.
type attacher struct {
	cfg     sidecar.Config
	opts    options.Attacher
	actor   *engine.Actor
	driver  string
	backend storage.Backend
	calls   sidecar.Driver

	infAttachments engine.Informer[*storagev1.VolumeAttachment]
	infVolumes     engine.Informer[*corev1.PersistentVolume]
	infNodes       engine.Informer[*storagev1.CSINode]

	attachments *engine.Queue
	volumes     *engine.Queue
	resync      *engine.Ticker
	reconciler  *engine.Ticker
	// forced are VolumeAttachments that are synced although their status needs no change (ATT-181).
	forced map[string]bool
	// ids are the annotations with the ids of nodes, see withID.
	ids map[string]map[string]string
}

// NewAttacher is for package volsim: callers use volsim.New.
// It adds the external-attacher of a CSI driver to the engine, as actors.Attacher of its name. It returns an error for a negative
// period or delay, for a RetryMax below RetryStart, and for a backend that is no CSI driver.
func NewAttacher(e *engine.Engine, driver storage.Backend, cfg sidecar.Config, opts options.Attacher) (*engine.Actor, error) {
	if driver == nil || backends.IsInTree(driver) {
		return nil, fmt.Errorf("attach: the backend of an external attacher must be a CSI driver: in-tree plugins attach by themselves")
	}
	if err := cfg.Complete("attach: Attacher", attacherDefaults); err != nil {
		return nil, err
	}
	opts.Workers = sidecar.Workers(opts.Workers, defaultAttacherWorkers)
	if opts.Finalizer == "" {
		opts.Finalizer = objects.AttacherFinalizer(driver.Name())
	}
	return e.NewActor(actors.Attacher(driver.Name()), func(a *engine.Actor) { newAttacher(a, driver, cfg, opts).run() })
}

func newAttacher(actor *engine.Actor, backend storage.Backend, cfg sidecar.Config, opts options.Attacher) *attacher {
	s := actor.Engine().Store()
	a := &attacher{
		cfg:            cfg,
		opts:           opts,
		actor:          actor,
		driver:         backend.Name(),
		backend:        backend,
		calls:          sidecar.Driver{Backend: backend, Timeout: cfg.Timeout},
		infAttachments: engine.NewInformer(actor, s.Attachments),
		infVolumes:     engine.NewInformer(actor, s.Volumes),
		infNodes:       engine.NewInformer(actor, s.CSINodes),
		forced:         map[string]bool{},
	}
	a.attachments = a.newQueue("attachments", api.VolumeAttachment, a.syncAttachment)
	a.volumes = a.newQueue("volumes", api.PersistentVolume, a.syncVolume)
	a.resync = actor.NewTicker(engine.TickerConfig{Name: "resync", Period: cfg.ResyncPeriod, Pass: a.enqueueAll})
	a.reconciler = actor.NewTicker(engine.TickerConfig{Name: "reconcile state", Period: comparePeriod, Pass: a.compare})
	return a
}

// newQueue adds a queue whose failed keys are synced again after a backoff (ATT-171).
func (a *attacher) newQueue(name string, kind api.Kind, sync func(*engine.Process, string) error) *engine.Queue {
	return a.actor.NewQueue(engine.QueueConfig{
		Name: name, Kind: kind, Workers: a.opts.Workers, Sync: sync,
		// ATT-171: the backoff is 1 s, 2 s, 4 s and so on, for every kind of error; the earliest of several pending retries counts.
		Limiter: engine.NewLimiter(a.cfg.RetryStart, a.cfg.RetryMax, 0, 0),
		// The plain attacher has one pending retry of a key, and an event replaces it.
		SingleRetry: a.opts.Plain,
	})
}

// run registers the handlers. They receive all objects first.
func (a *attacher) run() {
	a.infAttachments.Handle(engine.Handler[*storagev1.VolumeAttachment]{
		Add: func(va *storagev1.VolumeAttachment) { a.enqueue(va) },
		Update: func(old, va *storagev1.VolumeAttachment) {
			if a.changed(old, va) {
				a.enqueue(va)
			}
		},
		Delete: func(va *storagev1.VolumeAttachment) {
			// ATT-170: the volume may be attached nowhere now, and lose its finalizer.
			if name := va.Spec.Source.PersistentVolumeName; name != nil && va.Spec.Attacher == a.driver && !a.opts.Plain {
				a.volumes.Add(*name)
			}
		},
	})
	if !a.opts.Plain {
		a.infVolumes.Handle(engine.Handler[*corev1.PersistentVolume]{
			Add:    a.enqueueVolume,
			Update: func(_, pv *corev1.PersistentVolume) { a.enqueueVolume(pv) },
		})
	}
	if _, ok := a.backend.(storage.PublishedLister); ok && !a.opts.Plain {
		a.reconciler.ArmBackground()
	}
}

// enqueue queues a VolumeAttachment of this driver.
func (a *attacher) enqueue(va *storagev1.VolumeAttachment) {
	// ATT-170: VolumeAttachments of other drivers are ignored.
	if va.Spec.Attacher == a.driver {
		a.attachments.Add(va.Name)
	}
}

// changed reports whether a change of a VolumeAttachment needs a sync.
func (a *attacher) changed(old, va *storagev1.VolumeAttachment) bool {
	if a.opts.Plain {
		return old.Status.Attached != va.Status.Attached || old.DeletionTimestamp == nil && va.DeletionTimestamp != nil
	}
	if !hasError(old) && !hasError(va) {
		return true
	}
	// ATT-170: writing an error does not cause a sync; the backoff decides when to retry.
	return !apiequality.Semantic.DeepEqual(withoutErrors(old), withoutErrors(va))
}

func hasError(va *storagev1.VolumeAttachment) bool {
	return va.Status.AttachError != nil || va.Status.DetachError != nil
}

// withoutErrors returns the VolumeAttachment without the fields that change when an error is written.
func withoutErrors(va *storagev1.VolumeAttachment) *storagev1.VolumeAttachment {
	c := *va
	c.Status.AttachError, c.Status.DetachError = nil, nil
	c.ManagedFields, c.ResourceVersion = nil, ""
	return &c
}

// enqueueVolume queues a PersistentVolume that may lose its finalizer.
func (a *attacher) enqueueVolume(pv *corev1.PersistentVolume) {
	// ATT-170: only volumes that are being deleted and have the finalizer are synced.
	if pv.DeletionTimestamp != nil && slices.Contains(pv.Finalizers, a.opts.Finalizer) {
		a.volumes.Add(pv.Name)
	}
}

// enqueueAll is a resync. It runs only after a failure; for the other objects a sync would change nothing.
func (a *attacher) enqueueAll(*engine.Process) {
	// ATT-170, ATT-214: a resync retries failed objects before their backoff ends.
	for _, va := range a.infAttachments.List() {
		a.enqueue(va)
	}
	if !a.opts.Plain {
		for _, pv := range a.infVolumes.List() {
			a.enqueueVolume(pv)
		}
	}
}

// syncAttachment attaches or detaches for a VolumeAttachment.
func (a *attacher) syncAttachment(p *engine.Process, name string) (err error) {
	va, ok := a.infAttachments.Get(name)
	if !ok {
		// ATT-171: the failures of an object that is gone count for the next one with its name.
		return engine.Gone
	}
	switch {
	case !backends.Can(a.backend, storage.Attach):
		// ATT-179: a driver that cannot attach needs no call.
		err = a.attachWithoutDriver(p, va)
	case va.DeletionTimestamp == nil:
		err = a.attach(p, va)
	default:
		err = a.detach(p, va)
	}
	if err != nil && !a.opts.Plain {
		a.resync.ArmBackground()
	}
	return err
}

// attachWithoutDriver sets status.attached for a driver that cannot attach.
func (a *attacher) attachWithoutDriver(p *engine.Process, va *storagev1.VolumeAttachment) error {
	// ATT-179: there is no finalizer, so that a deletion takes effect at once.
	if va.Status.Attached {
		return nil
	}
	return a.markAttached(p, va, nil)
}
