package attach

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
)

// AttacherConfig sets up an external attacher. The zero value is one with the defaults of external-attacher 4.13.
type AttacherConfig struct {
	// RetryStart and RetryMax are the first and the longest delay after an error, of which each is twice the one before; zero is 1 s
	// and 5 min (ATT-171).
	RetryStart, RetryMax time.Duration
	// Timeout is how long a call to the driver may take; zero is 15 s, less than zero is no limit (ATT-172).
	Timeout time.Duration
	// Workers is how many VolumeAttachments, and how many PersistentVolumes, are worked on side by side; zero is 10, less than zero
	// is no limit.
	Workers int
	// ResyncPeriod is the time between two looks at everything; zero is 10 min (ATT-170).
	ResyncPeriod time.Duration
	// ReconcilePeriod is the time between two comparisons with what the driver says is attached; zero is 1 min (ATT-181).
	ReconcilePeriod time.Duration
	// Finalizer is put on PersistentVolumes and VolumeAttachments; "" is FinalizerOf the driver (ATT-004).
	Finalizer string
	// PublishReadOnly says that the driver can attach for reading only (ATT-180).
	PublishReadOnly bool
	// SingleNodeMultiWriter says that the driver tells one pod from one node (ATT-176).
	SingleNodeMultiWriter bool
	// Plain makes a simpler attacher: it looks neither at PersistentVolumes, which get no finalizer, nor at CSINodes. It looks at a
	// VolumeAttachment when that is created, when its deletion begins, when its status.attached changes and when a retry is due, and
	// the begin of a deletion takes the place of a retry to come.
	Plain bool
}

// The defaults of AttacherConfig.
const (
	DefaultRetryStart      = time.Second
	DefaultRetryMax        = 5 * time.Minute
	DefaultAttacherTimeout = 15 * time.Second
	DefaultAttacherWorkers = 10
	DefaultAttacherResync  = 10 * time.Minute
	DefaultReconcilePeriod = time.Minute
)

func (cfg *AttacherConfig) complete(driver string) error {
	for _, d := range []struct {
		field   string
		value   *time.Duration
		standby time.Duration
	}{
		{"RetryStart", &cfg.RetryStart, DefaultRetryStart},
		{"RetryMax", &cfg.RetryMax, DefaultRetryMax},
		{"ResyncPeriod", &cfg.ResyncPeriod, DefaultAttacherResync},
		{"ReconcilePeriod", &cfg.ReconcilePeriod, DefaultReconcilePeriod},
	} {
		if *d.value < 0 {
			return fmt.Errorf("attach: AttacherConfig.%s is %v: give zero for the default of %v, or more", d.field, *d.value, d.standby)
		}
		if *d.value == 0 {
			*d.value = d.standby
		}
	}
	if cfg.RetryMax < cfg.RetryStart {
		return fmt.Errorf("attach: AttacherConfig.RetryMax is %v, less than RetryStart with %v: give at least that", cfg.RetryMax, cfg.RetryStart)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultAttacherTimeout
	}
	if cfg.Workers == 0 {
		cfg.Workers = DefaultAttacherWorkers
	}
	if cfg.Workers < 0 {
		cfg.Workers = noLimit
	}
	if cfg.Finalizer == "" {
		cfg.Finalizer = FinalizerOf(driver)
	}
	return nil
}

// noLimit is more workers than there can be keys.
const noLimit = 1 << 30

// attacher is one life of the external attacher of one CSI driver.
type attacher struct {
	cfg     AttacherConfig
	actor   *engine.Actor
	driver  string
	backend storage.Backend

	infAttachments *engine.Informer[*storagev1.VolumeAttachment]
	infVolumes     *engine.Informer[*corev1.PersistentVolume]
	infNodes       *engine.Informer[*storagev1.CSINode]

	attachments *retryQueue
	volumes     *retryQueue
	resync      *engine.Loop
	reconciler  *engine.Loop
	// forced are VolumeAttachments to be worked on although their status says that there is nothing to do (ATT-181).
	forced map[string]bool
}

// NewAttacher adds the external attacher of a CSI driver to the engine, under the name AttacherName. It refuses a negative period
// or delay, a RetryMax below RetryStart, and a backend that is no CSI driver.
func NewAttacher(e *engine.Engine, backend storage.Backend, cfg AttacherConfig) (*engine.Actor, error) {
	if backend == nil || storage.IsInTree(backend) {
		return nil, fmt.Errorf("attach: the backend of an external attacher must be a CSI driver: in-tree plugins attach by themselves")
	}
	driver := backend.Name()
	if err := cfg.complete(driver); err != nil {
		return nil, err
	}
	return e.NewActor(actors.Attacher(driver), func(a *engine.Actor) { newAttacher(a, backend, cfg).run() })
}

// NewAttachers adds an external attacher for every CSI driver of the set, in the order of their names.
func NewAttachers(e *engine.Engine, backends *backends.Set, cfg AttacherConfig) ([]*engine.Actor, error) {
	var actors []*engine.Actor
	for name := range backends.All() {
		driver, ok := backends.Driver(name)
		if !ok {
			continue
		}
		a, err := NewAttacher(e, driver, cfg)
		if err != nil {
			return actors, err
		}
		actors = append(actors, a)
	}
	return actors, nil
}

func newAttacher(actor *engine.Actor, backend storage.Backend, cfg AttacherConfig) *attacher {
	s := actor.Engine().Store()
	a := &attacher{
		cfg:            cfg,
		actor:          actor,
		driver:         backend.Name(),
		backend:        backend,
		infAttachments: engine.NewInformer(actor, s.Attachments),
		infVolumes:     engine.NewInformer(actor, s.Volumes),
		infNodes:       engine.NewInformer(actor, s.CSINodes),
		forced:         map[string]bool{},
	}
	a.attachments = newRetryQueue(actor, "attachments", cfg, a.syncAttachment)
	a.volumes = newRetryQueue(actor, "volumes", cfg, a.syncVolume)
	a.resync = actor.NewLoop("resync", cfg.ResyncPeriod, a.lookAtAll)
	a.reconciler = actor.NewLoop("reconcile state", cfg.ReconcilePeriod, a.compare)
	return a
}

// run starts the attacher on what the API server holds.
func (a *attacher) run() {
	a.infAttachments.Handle(engine.Handler[*storagev1.VolumeAttachment]{
		Add: func(va *storagev1.VolumeAttachment) { a.look(va) },
		Update: func(old, va *storagev1.VolumeAttachment) {
			if a.matters(old, va) {
				a.look(va)
			}
		},
		Delete: func(va *storagev1.VolumeAttachment) {
			// ATT-170: the volume may be free now.
			if name := va.Spec.Source.PersistentVolumeName; name != nil && va.Spec.Attacher == a.driver && !a.cfg.Plain {
				a.volumes.add(*name)
			}
		},
	})
	if !a.cfg.Plain {
		a.infVolumes.Handle(engine.Handler[*corev1.PersistentVolume]{
			Add:    a.lookAtVolume,
			Update: func(_, pv *corev1.PersistentVolume) { a.lookAtVolume(pv) },
		})
	}
	if _, ok := a.backend.(storage.PublishedLister); ok && !a.cfg.Plain {
		a.reconciler.Arm()
	}
}

// look queues a VolumeAttachment.
func (a *attacher) look(va *storagev1.VolumeAttachment) {
	// ATT-170: those of other drivers are theirs.
	if va.Spec.Attacher == a.driver {
		a.attachments.add(va.Name)
	}
}

// matters reports whether a change of a VolumeAttachment is worth a look.
func (a *attacher) matters(old, va *storagev1.VolumeAttachment) bool {
	if a.cfg.Plain {
		return old.Status.Attached != va.Status.Attached || old.DeletionTimestamp == nil && va.DeletionTimestamp != nil
	}
	if !hasError(old) && !hasError(va) {
		return true
	}
	// ATT-170: an error that the attacher itself has written must not bring it back before its time.
	return !apiequality.Semantic.DeepEqual(withoutErrors(old), withoutErrors(va))
}

func hasError(va *storagev1.VolumeAttachment) bool {
	return va.Status.AttachError != nil || va.Status.DetachError != nil
}

// withoutErrors is the VolumeAttachment without what a write of an error changes.
func withoutErrors(va *storagev1.VolumeAttachment) *storagev1.VolumeAttachment {
	c := *va
	c.Status.AttachError, c.Status.DetachError = nil, nil
	c.ManagedFields, c.ResourceVersion = nil, ""
	return &c
}

// lookAtVolume queues a PersistentVolume that may be let go.
func (a *attacher) lookAtVolume(pv *corev1.PersistentVolume) {
	// ATT-170
	if pv.DeletionTimestamp != nil && hasFinalizer(pv.Finalizers, a.cfg.Finalizer) {
		a.volumes.add(pv.Name)
	}
}

// lookAtAll is a resync. It takes place only while something has failed: all else would be found as it was.
func (a *attacher) lookAtAll(*engine.Proc) {
	// ATT-170, ATT-214: a failure is tried again, whatever its delay.
	for va := range a.infAttachments.All() {
		a.look(va)
	}
	if !a.cfg.Plain {
		for pv := range a.infVolumes.All() {
			a.lookAtVolume(pv)
		}
	}
}

// syncAttachment brings a VolumeAttachment to what it should be.
func (a *attacher) syncAttachment(p *engine.Proc, name string) (known bool, err error) {
	va, ok := a.infAttachments.Get(name)
	if !ok {
		return false, nil
	}
	switch {
	case !backends.Can(a.backend, storage.Attach):
		// ATT-179
		err = a.pretend(p, va)
	case va.DeletionTimestamp == nil:
		err = a.attach(p, va)
	default:
		err = a.detach(p, va)
	}
	if err != nil && !a.cfg.Plain {
		a.resync.Arm()
	}
	return true, err
}

// pretend is all that is done for a driver that cannot attach: nothing needs to be.
func (a *attacher) pretend(p *engine.Proc, va *storagev1.VolumeAttachment) error {
	// ATT-179: no finalizer, so that a deletion takes effect at once.
	if va.Status.Attached {
		return nil
	}
	return a.markAttached(p, va, nil)
}

// call asks the driver something about the volume on the node.
func (a *attacher) call(p *engine.Proc, op storage.Op, handle, node string, fn func() error) error {
	call := api.Call{Target: a.driver, Verb: string(op), Key: handle, Node: node}
	delay := backends.Delay(a.backend, op, handle)
	safely := func() error { return backends.Safely(a.driver, op, fn) }
	if a.cfg.Timeout < 0 {
		return p.Backend(call, delay, safely)
	}
	// ATT-172, ATT-175: the attacher has given up by then.
	return p.BackendWithin(call, delay, a.cfg.Timeout, storage.Errorf(storage.DeadlineExceeded, "context deadline exceeded"), safely)
}
