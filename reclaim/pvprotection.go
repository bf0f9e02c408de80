package reclaim

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// newPVProtection adds the pv-protection controller (PROT-010 to PROT-013).
func newPVProtection(e *engine.Engine) (*engine.Actor, error) {
	return e.NewActor(actors.PVProtection, func(a *engine.Actor) {
		c := &pvProtection{volumes: engine.NewInformer(a, e.Store().Volumes)}
		c.queue = a.NewQueue(engine.QueueConfig{Name: "pvprotection", Kind: api.PersistentVolume, Sync: c.sync})
		// PROT-010: deleted volumes are ignored.
		c.volumes.Handle(engine.Handler[*corev1.PersistentVolume]{
			Add:    c.enqueue,
			Update: func(_, pv *corev1.PersistentVolume) { c.enqueue(pv) },
		})
	})
}

type pvProtection struct {
	volumes *engine.Informer[*corev1.PersistentVolume]
	queue   *engine.Queue
}

func (c *pvProtection) enqueue(pv *corev1.PersistentVolume) {
	// PROT-010: a volume is queued if it is being deleted with the finalizer, or lacks it otherwise.
	if objects.FinalizerMisplaced(pv, objects.VolumeProtectionFinalizer) {
		c.queue.Add(pv.Name)
	}
}

func (c *pvProtection) sync(p *engine.Process, name string) error {
	pv, ok := c.volumes.Get(name)
	// PROT-011: a volume that is gone or needs no change is done.
	if !ok || !objects.FinalizerMisplaced(pv, objects.VolumeProtectionFinalizer) {
		return nil
	}
	if pv.DeletionTimestamp == nil {
		// PROT-011: a volume without the finalizer gets it.
		finalizers, _ := objects.WithFinalizer(pv.Finalizers, objects.VolumeProtectionFinalizer)
		p.Decide("PROT-011", pv, "the protection finalizer is missing")
		_, err := p.API().Volumes.Update(p, volumeWith(pv, finalizers))
		// PROT-013: a failure is retried.
		return err
	}
	// PROT-012: a Bound volume is in use, whatever its claimRef. The update to another phase queues it again.
	if pv.Status.Phase == corev1.VolumeBound {
		p.Decide("PROT-012", pv, "the volume is being deleted but is Bound")
		return nil
	}
	finalizers, _ := objects.WithoutFinalizer(pv.Finalizers, objects.VolumeProtectionFinalizer)
	p.Decide("PROT-011", pv, "the volume is being deleted and not in use")
	_, err := p.API().Volumes.Update(p, volumeWith(pv, finalizers))
	// PROT-013: a failure is retried.
	return err
}
