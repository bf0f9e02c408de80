package expand

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
	"github.com/volsim/volsim/internal/core/sidecar"
	"github.com/volsim/volsim/storage"
)

// resizerDefaults are the settings of external-resizer 2 (EXP-020). RetryMax is also the time for which an infeasible request is not
// retried (EXP-026, VAC-014).
var resizerDefaults = sidecar.Config{
	RetryStart: time.Second, RetryMax: 5 * time.Minute, ResyncPeriod: 10 * time.Minute, Timeout: 10 * time.Second,
}

// resizerComponent returns the source of the Events of a driver's external-resizer.
func resizerComponent(driver string) string { return "external-resizer " + driver }

// resizer is the external-resizer of one CSI driver between two crashes: the caches, and the two halves that share them.
type resizer struct {
	cfg     sidecar.Config
	opts    options.Resizer
	actor   *engine.Actor
	driver  string
	backend storage.Backend
	calls   sidecar.Driver
	events  *engine.Recorder

	claims  *cache[*corev1.PersistentVolumeClaim]
	volumes *cache[*corev1.PersistentVolume]
	pods    engine.Informer[*corev1.Pod]
	classes engine.Informer[*storagev1.VolumeAttributesClass]

	expander *expander      // nil if the driver does not expand
	modifier *modifier      // nil if the driver does not modify
	resync   *engine.Ticker // armed when it could find something
}

// NewResizer adds the external-resizer of a CSI driver to the engine, as actors.Resizer of its name. It expands volumes if the driver can
// Expand or NodeExpand (EXP-020 to EXP-026), and modifies them if it can Modify (VAC-001 to VAC-014). It returns an error for a backend
// that is no CSI driver or can do none of this, for a negative period or delay, and for a RetryMax below RetryStart.
func NewResizer(e *engine.Engine, backend storage.Backend, cfg sidecar.Config, opts options.Resizer) (*engine.Actor, error) {
	if backend == nil || backends.IsInTree(backend) {
		return nil, fmt.Errorf("expand: the backend of an external resizer must be a CSI driver: in-tree plugins are the expand controller's")
	}
	if !Resizes(backend) {
		return nil, fmt.Errorf("expand: the backend %s can neither %s nor %s nor %s: it needs no external resizer", backend.Name(),
			storage.Expand, storage.NodeExpand, storage.Modify)
	}
	if err := cfg.Complete("expand: Resizer", resizerDefaults); err != nil {
		return nil, err
	}
	return e.NewActor(actors.Resizer(backend.Name()), func(a *engine.Actor) { newResizer(a, backend, cfg, opts) })
}

// Resizes reports whether a driver needs an external-resizer.
func Resizes(backend storage.Backend) bool {
	return backends.Can(backend, storage.Expand) || backends.Can(backend, storage.NodeExpand) || backends.Can(backend, storage.Modify)
}

func newResizer(a *engine.Actor, backend storage.Backend, cfg sidecar.Config, opts options.Resizer) *resizer {
	s := a.Engine().Store()
	r := &resizer{
		cfg: cfg, opts: opts, actor: a, driver: backend.Name(), backend: backend, calls: sidecar.Driver{Backend: backend, Timeout: cfg.Timeout},
		events: a.NewRecorder(resizerComponent(backend.Name())),
		pods:   engine.NewInformer(a, s.Pods), classes: engine.NewInformer(a, s.AttributesClasses),
	}
	// EXP-020: resyncs come at fixed times from the start on.
	r.resync = a.NewTicker(engine.TickerConfig{Name: "resync", Period: cfg.ResyncPeriod, First: cfg.ResyncPeriod, Fixed: true,
		Pass: r.resyncAll})
	if backends.Can(backend, storage.Expand) || backends.Can(backend, storage.NodeExpand) {
		r.expander = newExpander(r)
	}
	if backends.Can(backend, storage.Modify) {
		r.modifier = newModifier(r)
	}
	r.volumes = newCache(engine.NewInformer(a, s.Volumes), engine.Handler[*corev1.PersistentVolume]{
		Update: func(_, pv *corev1.PersistentVolume) { r.volumeChanged(pv) },
	})
	claims := engine.NewInformer(a, s.Claims)
	if r.modifier != nil {
		r.modifier.rememberInProgress(claims.List())
	}
	r.claims = newCache(claims, engine.Handler[*corev1.PersistentVolumeClaim]{})
	r.claims.informer.Handle(engine.Handler[*corev1.PersistentVolumeClaim]{
		Add:    r.claimAdded,
		Update: r.claimUpdated,
		Delete: r.claimDeleted,
	})
	return r
}

func (r *resizer) claimAdded(claim *corev1.PersistentVolumeClaim) {
	if r.expander != nil {
		r.expander.enqueue(claim)
	}
	if r.modifier != nil {
		r.modifier.enqueue(claim)
	}
}

func (r *resizer) claimUpdated(old, claim *corev1.PersistentVolumeClaim) {
	if r.expander != nil && expansionChanged(old, claim) {
		r.expander.enqueue(claim)
	}
	if r.modifier != nil && r.modifier.modificationChanged(old, claim) {
		r.modifier.enqueue(claim)
	}
}

func (r *resizer) claimDeleted(claim *corev1.PersistentVolumeClaim) {
	// EXP-020, VAC-001: other state about the claim stays, for the next one of that name.
	key := r.claims.informer.KeyOf(claim)
	if r.expander != nil {
		r.expander.queue.Forget(key)
	}
	if r.modifier != nil {
		r.modifier.queue.Forget(key)
	}
}

// volumeChanged arms the resync if the change of a volume requires a sync. Upstream ignores changes of volumes; the next resync finds
// their effect.
func (r *resizer) volumeChanged(pv *corev1.PersistentVolume) {
	ref := pv.Spec.ClaimRef
	if ref == nil {
		return
	}
	claim, ok := r.claims.getNamed(ref.Namespace, ref.Name)
	if ok && claim.Spec.VolumeName == pv.Name && (r.expander != nil && r.expander.hasWork(claim) || r.modifier != nil &&
		r.modifier.hasWork(claim)) {
		r.resync.ArmBackground()
	}
}

// resyncAll queues all claims with work again.
func (r *resizer) resyncAll(*engine.Process) {
	for _, known := range r.claims.informer.List() {
		claim, _ := r.claims.get(api.KeyOf(known))
		if r.expander != nil {
			// EXP-020: a resync queues all claims with work.
			r.expander.enqueue(claim)
		}
		// VAC-001: a claim that waits for its class is not queued.
		if r.modifier != nil && r.modifier.modificationChanged(claim, claim) {
			r.modifier.enqueue(claim)
		}
	}
}

// newQueue adds a queue of claims. A claim that fails is synced again after a delay that grows with its failures (rule).
func (r *resizer) newQueue(name, rule string, sync func(*engine.Process, string) error) *engine.Queue {
	return r.actor.NewQueue(engine.QueueConfig{
		Name: name, Kind: api.PersistentVolumeClaim, Workers: sidecar.Workers(r.opts.Workers, defaultWorkers), Sync: sync,
		// EXP-020: 1 s, 2 s, 4 s and so on, up to 5 min.
		Limiter: engine.NewLimiter(r.cfg.RetryStart, r.cfg.RetryMax, 0, 0),
		OnFailure: func(p *engine.Process, key string, delay time.Duration, err error) {
			// The resync queues a failed claim as well, whatever its delay.
			r.resync.ArmBackground()
			if claim, ok := r.claims.get(key); ok {
				p.Decide(rule, claim, "again in %v: %v", delay, err)
			}
		},
	})
}

// absent is the failure of a claim whose volume does not exist, or is not bound to it. It is retried like any other, but in the background:
// it is likely to fail again until something changes.
func absent(err error) error { return &engine.Retry{Err: err, Background: true} }

// patchClaim writes the status of a claim. Errors have the text of the sidecar.
func (r *resizer) patchClaim(p *engine.Process, old, edited *corev1.PersistentVolumeClaim,
	patch claimPatch) (*corev1.PersistentVolumeClaim, error) {
	newer, err := patch(p, old, edited)
	if err != nil {
		return old, fmt.Errorf("can't patch status of  PVC %s with %w", api.KeyOf(old), err)
	}
	return newer, nil
}

// claimPatch is claimstatus.Patch or claimstatus.Force.
type claimPatch func(p *engine.Process, old, edited *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error)
