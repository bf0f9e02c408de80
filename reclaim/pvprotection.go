package reclaim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// PVProtectionConfig sets up the pv-protection controller. The zero value works.
type PVProtectionConfig struct {
	// Workers is how many volumes are worked on side by side; zero means 1, as upstream.
	Workers int
}

// NewPVProtection adds the pv-protection controller (PROT-010 to PROT-013).
func NewPVProtection(e *engine.Engine, cfg PVProtectionConfig) (*engine.Actor, error) {
	if err := checkWorkers("PVProtectionConfig", cfg.Workers); err != nil {
		return nil, err
	}
	return e.NewActor(actors.PVProtection, func(a *engine.Actor) {
		c := &pvProtection{volumes: engine.NewInformer(a, e.Store().Volumes)}
		c.queue = a.NewQueue(engine.QueueConfig{Name: "pvprotection", Kind: api.PersistentVolume, Workers: cfg.Workers, Sync: c.sync})
		// PROT-010: deleted volumes are ignored.
		c.volumes.Handle(engine.Handler[*corev1.PersistentVolume]{
			Add:    c.enqueue,
			Update: func(_, pv *corev1.PersistentVolume) { c.enqueue(pv) },
		})
	})
}

func checkWorkers(config string, workers int) error {
	if workers < 0 {
		return fmt.Errorf("reclaim: %s.Workers is %d: give a positive number, or zero for the default", config, workers)
	}
	return nil
}

type pvProtection struct {
	volumes *engine.Informer[*corev1.PersistentVolume]
	queue   *engine.Queue
}

func (c *pvProtection) enqueue(pv *corev1.PersistentVolume) {
	// PROT-010: only a finalizer that is in the wrong state makes work.
	if misplaced(pv, objects.VolumeProtectionFinalizer) {
		c.queue.Add(pv.Name)
	}
}

// misplaced reports whether the finalizer is there although the object is being deleted, or missing although it is not
// (PROT-010, PROT-020).
func misplaced(obj metav1.Object, finalizer string) bool {
	has := false
	for _, f := range obj.GetFinalizers() {
		has = has || f == finalizer
	}
	return has == (obj.GetDeletionTimestamp() != nil)
}

func (c *pvProtection) sync(p *engine.Proc, name string) error {
	pv, ok := c.volumes.Get(name)
	// PROT-011: gone, or in order by now.
	if !ok || !misplaced(pv, objects.VolumeProtectionFinalizer) {
		return nil
	}
	if pv.DeletionTimestamp == nil {
		// PROT-011: a volume that lost its finalizer gets it back.
		finalizers, _ := with(pv.Finalizers, objects.VolumeProtectionFinalizer)
		p.Decide("PROT-011", pv, "the protection finalizer is missing")
		_, err := p.API().Volumes.Update(p, volumeWith(pv, finalizers))
		// PROT-013: a failure is retried.
		return err
	}
	// PROT-012: in use is what is Bound, whatever claimRef says. The update to another phase comes by here again.
	if pv.Status.Phase == corev1.VolumeBound {
		p.Decide("PROT-012", pv, "the volume is being deleted but is Bound")
		return nil
	}
	finalizers, _ := without(pv.Finalizers, objects.VolumeProtectionFinalizer)
	p.Decide("PROT-011", pv, "the volume is being deleted and not in use")
	_, err := p.API().Volumes.Update(p, volumeWith(pv, finalizers))
	// PROT-013: a failure is retried.
	return err
}
