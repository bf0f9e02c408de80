package binder

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// Trial is the PersistentVolume controller on its own, for tables of binding rules: no worker, no resync, no other controller.
// Objects are put in place as they are, and single syncs are called.
//
//	t, err := binder.NewTrial(binder.TrialConfig{}, volume, claim)
//	err = t.SyncClaim("default/data")
//	pv, err := t.Store().Volumes.Get("snug")
type Trial struct {
	engine     *engine.Engine
	controller *controller
	actor      *engine.Actor
	trace      trace.Trace
}

// TrialConfig is a Config with what the engine of a trial may need.
type TrialConfig struct {
	Config
	// Injector makes API and backend calls fail; nil is none.
	Injector api.Injector
	// AsGiven has the API server take objects as they are given, without defaults, admission and validation (store.Config.AsGiven).
	AsGiven bool
	// BeforeOperation is called as each background operation begins. It may write to the trial's Store, and call Remember and
	// Forget; the operation finds what it left. Nil is nothing.
	BeforeOperation func(name string)
}

// NewTrial puts the objects into the API server and into the controller's caches, as they are (store.Table.Load).
func NewTrial(cfg TrialConfig, objs ...api.Object) (*Trial, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	t := &Trial{}
	e, err := engine.New(engine.Config{Injector: cfg.Injector, Trace: &t.trace, AsGiven: cfg.AsGiven})
	if err != nil {
		return nil, err
	}
	t.engine = e
	podsByClaim := e.Store().Pods.NewIndexWith(objects.ClaimsOf, objects.SameVolumes)
	t.actor, err = e.NewActor(actors.PersistentVolume, func(a *engine.Actor) {
		t.controller = newController(a, cfg.Config, podsByClaim)
		// What syncs queue stays where it is.
		t.controller.claimQueue = a.NewQueue(engine.QueueConfig{Name: "claims", Sync: ignore})
		t.controller.volumeQueue = a.NewQueue(engine.QueueConfig{Name: "volumes", Sync: ignore})
	})
	if err != nil {
		return nil, err
	}
	if cfg.BeforeOperation != nil {
		t.controller.ops.Before = func(p *engine.Process, name string) {
			cfg.BeforeOperation(name)
			// The informers know what it changed before the operation goes on.
			p.Sleep(time.Nanosecond)
		}
	}
	if err := t.Load(objs...); err != nil {
		return nil, err
	}
	return t, nil
}

func ignore(*engine.Process, string) error { return nil }

// Load puts objects, as they are, into the API server and into the controller's caches.
func (t *Trial) Load(objs ...api.Object) error {
	for _, obj := range objs {
		if _, err := t.engine.Store().Load(obj); err != nil {
			return err
		}
	}
	// What is loaded is known: the informers have delivered it before anything is synced.
	t.settle()
	t.Remember(objs...)
	return nil
}

// Remember puts volumes and claims into the controller's own caches only, replacing what they hold of that name. An object that
// the API server has too is remembered under that version.
func (t *Trial) Remember(objs ...api.Object) {
	for _, obj := range objs {
		switch obj := obj.(type) {
		case *corev1.PersistentVolume:
			t.controller.own.PutVolume(t.asStored(obj).(*corev1.PersistentVolume))
		case *corev1.PersistentVolumeClaim:
			t.controller.own.PutClaim(api.KeyOf(obj), t.asStored(obj).(*corev1.PersistentVolumeClaim))
		}
	}
}

func (t *Trial) asStored(obj api.Object) api.Object {
	remembered := obj.DeepCopyObject().(api.Object)
	if stored, err := t.engine.Store().Get(api.KindOf(obj), api.KeyOf(obj)); err == nil {
		remembered.SetResourceVersion(stored.GetResourceVersion())
	} else {
		remembered.SetResourceVersion("0")
	}
	return remembered
}

// Forget empties the controller's own caches.
func (t *Trial) Forget() { t.controller.forget() }

// SyncClaim syncs one claim as the API server has it, and lets the operations that this starts run to their end. The error is
// that of the sync, or NotFound.
func (t *Trial) SyncClaim(key string) error {
	claim, err := t.engine.Store().Claims.Get(key)
	if err != nil {
		return err
	}
	return t.run(func(p *engine.Process) error { return t.controller.syncClaim(p, claim) })
}

// SyncVolume does for a volume what SyncClaim does for a claim.
func (t *Trial) SyncVolume(name string) error {
	pv, err := t.engine.Store().Volumes.Get(name)
	if err != nil {
		return err
	}
	return t.run(func(p *engine.Process) error { return t.controller.syncVolume(p, pv) })
}

// operationLimit is the virtual time that operations started by a sync of a Trial may take.
const operationLimit = time.Hour

func (t *Trial) run(sync func(*engine.Process) error) error {
	var err error
	t.actor.Go("sync", func(p *engine.Process) { err = sync(p) })
	if stuck := t.settle(); stuck != nil {
		return fmt.Errorf("operations did not end: %w", stuck)
	}
	return err
}

func (t *Trial) settle() error { return t.engine.Settle(operationLimit) }

// Store is the API server.
func (t *Trial) Store() *store.Store { return t.engine.Store() }

// Trace is what happened so far, Events before correlation included.
func (t *Trial) Trace() *trace.Trace { return &t.trace }
