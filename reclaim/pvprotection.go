package reclaim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/objects"
)

// newPVProtection adds the pv-protection controller (PROT-010 to PROT-013).
func newPVProtection(e *engine.Engine) (*engine.Actor, error) {
	return e.NewActor(actors.PVProtection, func(a *engine.Actor) {
		c := &pvProtection{
			volumes: engine.NewInformer(a, e.Store().Volumes),
			log:     a.Logger("pv_protection_controller", "persistentvolume-protection-controller"),
		}
		c.errors = a.Logger("pv_protection_controller", unhandled)
		c.log.Info(0, "Starting PV protection controller")
		c.queue = a.NewQueue(engine.QueueConfig{Name: "pvprotection", Kind: api.PersistentVolume,
			Of: c, Work: engine.Work[*pvProtection]((*pvProtection).sync)})
		engine.Handle(c.volumes, c, &protectedVolumes)
	})
}

// PROT-010: deleted volumes are ignored.
var protectedVolumes = engine.Handlers[*pvProtection, *corev1.PersistentVolume]{
	Add:    (*pvProtection).enqueue,
	Update: func(c *pvProtection, _, pv *corev1.PersistentVolume) { c.enqueue(pv) },
}

type pvProtection struct {
	volumes engine.Informer[*corev1.PersistentVolume]
	queue   *engine.Queue
	log     *klog.Logger
	errors  *klog.Logger
}

func (c *pvProtection) enqueue(pv *corev1.PersistentVolume) {
	c.log.Info(4, "Got event on PV", klog.Object("PV", pv))
	// PROT-010: a volume is queued if it is being deleted with the finalizer, or lacks it otherwise.
	if objects.FinalizerMisplaced(pv, objects.VolumeProtectionFinalizer) {
		c.queue.Add(pv.Name)
	}
}

func (c *pvProtection) sync(p *engine.Process, name string) error {
	c.log.Info(4, "Processing PV", klog.String("PV", name))
	start := p.Now()
	err := c.syncVolume(p, name)
	c.log.Info(4, "Finished processing PV", klog.String("PV", name), klog.Duration("cost", p.Now().Sub(start)))
	if err != nil {
		c.errors.Error(fmt.Errorf("PV %v failed with : %v", name, err), "Unhandled Error")
	}
	return err
}

func (c *pvProtection) syncVolume(p *engine.Process, name string) error {
	pv, ok := c.volumes.Get(name)
	if !ok {
		c.log.Info(4, "PV not found, ignoring", klog.String("PV", name))
	}
	// PROT-011: a volume that is gone or needs no change is done.
	if !ok || !objects.FinalizerMisplaced(pv, objects.VolumeProtectionFinalizer) {
		return nil
	}
	if pv.DeletionTimestamp == nil {
		// PROT-011: a volume without the finalizer gets it.
		finalizers, _ := objects.WithFinalizer(pv.Finalizers, objects.VolumeProtectionFinalizer)
		p.Decide("PROT-011", pv, "the protection finalizer is missing")
		if _, err := p.API().Volumes.Replace(p, volumeWith(pv, finalizers)); err != nil {
			// PROT-013: a failure is retried.
			c.log.Info(3, "Error adding protection finalizer to PV", klog.Object("PV", pv), klog.Err(err))
			return err
		}
		c.log.Info(3, "Added protection finalizer to PV", klog.Object("PV", pv))
		return nil
	}
	// PROT-012: a Bound volume is in use, whatever its claimRef. The update to another phase queues it again.
	if pv.Status.Phase == corev1.VolumeBound {
		p.Decide("PROT-012", pv, "the volume is being deleted but is Bound")
		c.log.Info(4, "Keeping PV because it is being used", klog.String("PV", name))
		return nil
	}
	finalizers, _ := objects.WithoutFinalizer(pv.Finalizers, objects.VolumeProtectionFinalizer)
	p.Decide("PROT-011", pv, "the volume is being deleted and not in use")
	if _, err := p.API().Volumes.Replace(p, volumeWith(pv, finalizers)); err != nil {
		// PROT-013: a failure is retried.
		c.log.Info(3, "Error removing protection finalizer from PV", klog.Object("PV", pv), klog.Err(err))
		return err
	}
	c.log.Info(3, "Removed protection finalizer from PV", klog.Object("PV", pv))
	return nil
}
