package binder

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// Trial is the PersistentVolume controller on its own, for tables of binding rules: no worker, no resync, no other controller.
// Objects are stored as they are, and the caller runs single syncs.
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

// TrialConfig is a Config with settings for the engine of a trial.
type TrialConfig struct {
	Config
	// Injector injects faults into API and backend calls; nil is none.
	Injector api.Injector
	// AsGiven stores objects as they are given, without defaults, admission and validation (store.Config.AsGiven). The default is false.
	AsGiven bool
	// BeforeOperation, when set, runs as each background operation begins. It may write to the trial's Store, and call Remember and
	// Forget; the operation sees the result.
	BeforeOperation func(name string)
}

// NewTrial stores the objects in the API server and in the controller's caches, as they are (store.Table.Load).
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
	t.actor, err = e.NewActor(actors.PersistentVolume, func(a *engine.Actor) {
		t.controller = newController(a, cfg.Config)
		// No worker takes the keys that syncs queue.
		t.controller.claimQueue = a.NewQueue(engine.QueueConfig{Name: "claims", Sync: ignore})
		t.controller.volumeQueue = a.NewQueue(engine.QueueConfig{Name: "volumes", Sync: ignore})
	})
	if err != nil {
		return nil, err
	}
	if cfg.BeforeOperation != nil {
		t.controller.ops.Before = func(p *engine.Process, name string) {
			cfg.BeforeOperation(name)
			// The informers deliver its changes before the operation goes on.
			p.Sleep(time.Nanosecond)
		}
	}
	if err := t.Load(objs...); err != nil {
		return nil, err
	}
	return t, nil
}

func ignore(*engine.Process, string) error { return nil }

// Load stores objects, as they are, in the API server and in the controller's caches.
func (t *Trial) Load(objs ...api.Object) error {
	for _, obj := range objs {
		if _, err := t.engine.Store().Load(obj); err != nil {
			return err
		}
		if err := fake.Err(obj); err != nil {
			return err
		}
	}
	// The informers deliver what is loaded before anything is synced.
	t.settle()
	t.Remember(objs...)
	return nil
}

// Remember puts volumes and claims into the controller's own caches only, and replaces those of the same name. An object that the API
// server has too gets the version that it has there.
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

// SyncClaim syncs one claim as stored in the API server, and runs the operations that this starts to their end. The error is that of the
// sync, or NotFound.
func (t *Trial) SyncClaim(key string) error {
	claim, err := t.engine.Store().Claims.Get(key)
	if err != nil {
		return err
	}
	return t.run(func(p *engine.Process) error { return t.controller.syncClaim(p, claim) })
}

// SyncVolume syncs one volume, like SyncClaim.
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

// Store returns the API server's storage.
func (t *Trial) Store() *store.Store { return t.engine.Store() }

// Trace returns all entries so far, including Events before correlation.
func (t *Trial) Trace() *trace.Trace { return &t.trace }
