package expand

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/store"
)

// vacProtection is the controller between two crashes.
type vacProtection struct {
	classes  engine.Informer[*storagev1.VolumeAttributesClass]
	claims   engine.Informer[*corev1.PersistentVolumeClaim]
	volumes  engine.Informer[*corev1.PersistentVolume]
	byClaim  store.Index[*corev1.PersistentVolumeClaim]
	byVolume store.Index[*corev1.PersistentVolume]
	queue    *engine.Queue
}

// NewVACProtection adds the controller of kube-controller-manager that protects VolumeAttributesClasses in use (VAC-020 to VAC-022). It has
// one worker.
func NewVACProtection(e *engine.Engine) (*engine.Actor, error) {
	s := e.Store()
	byClaim, byVolume := s.Claims.NewIndex(classesOfClaim), s.Volumes.NewIndex(classesOfVolume)
	return e.NewActor(actors.VACProtection, func(a *engine.Actor) {
		c := &vacProtection{
			classes: engine.NewInformer(a, s.AttributesClasses), claims: engine.NewInformer(a, s.Claims), volumes: engine.NewInformer(a, s.Volumes),
			byClaim: byClaim, byVolume: byVolume,
		}
		c.queue = a.NewQueue(engine.QueueConfig{Name: "vacprotection", Kind: api.VolumeAttributesClass,
			Of: c, Work: engine.Work[*vacProtection]((*vacProtection).sync)})
		engine.Handle(c.classes, c, &protectedClasses)
		engine.Handle(c.claims, c, &protectingClaims)
		engine.Handle(c.volumes, c, &protectingVolumes)
	})
}

var (
	protectedClasses = engine.Handlers[*vacProtection, *storagev1.VolumeAttributesClass]{
		Add:    (*vacProtection).enqueue,
		Update: func(c *vacProtection, _, class *storagev1.VolumeAttributesClass) { c.enqueue(class) },
	}
	// VAC-020: a class that a claim or volume no longer names may be unused.
	protectingClaims = engine.Handlers[*vacProtection, *corev1.PersistentVolumeClaim]{
		Update: func(c *vacProtection, old, claim *corev1.PersistentVolumeClaim) {
			c.released(classesOfClaim(old, nil), classesOfClaim(claim, nil))
		},
		Delete: func(c *vacProtection, claim *corev1.PersistentVolumeClaim) {
			c.released(classesOfClaim(claim, nil), nil)
		},
	}
	protectingVolumes = engine.Handlers[*vacProtection, *corev1.PersistentVolume]{
		Update: func(c *vacProtection, old, pv *corev1.PersistentVolume) {
			c.released(classesOfVolume(old, nil), classesOfVolume(pv, nil))
		},
		Delete: func(c *vacProtection, pv *corev1.PersistentVolume) { c.released(classesOfVolume(pv, nil), nil) },
	}
)

func (c *vacProtection) enqueue(class *storagev1.VolumeAttributesClass) {
	// VAC-020: only a class whose finalizer is misplaced is synced.
	if objects.FinalizerMisplaced(class, objects.VACProtectionFinalizer) {
		c.queue.Add(class.Name)
	}
}

// released queues the classes that are named before and not after.
func (c *vacProtection) released(before, after []string) {
	for _, name := range before {
		// VAC-020: a class that is still named is not synced.
		if class, ok := c.classes.Get(name); ok && !slices.Contains(after, name) &&
			objects.FinalizerMisplaced(class, objects.VACProtectionFinalizer) {
			c.queue.Add(name)
		}
	}
}

func (c *vacProtection) sync(p *engine.Process, name string) error {
	class, ok := c.classes.Get(name)
	// VAC-021: the class is gone, or its finalizer is right.
	if !ok || !objects.FinalizerMisplaced(class, objects.VACProtectionFinalizer) {
		return nil
	}
	edited := *class
	switch {
	case class.DeletionTimestamp == nil:
		// VAC-021: a class that lost its finalizer gets it back.
		p.Decide("VAC-021", class, "the protection finalizer is missing")
		edited.Finalizers, _ = objects.WithFinalizer(class.Finalizers, objects.VACProtectionFinalizer)
	case c.isUsed(name):
		// VAC-021: when it is no longer used, it is queued again.
		p.Decide("VAC-022", class, "the class is being deleted but in use")
		return nil
	default:
		p.Decide("VAC-021", class, "the class is being deleted and not in use")
		edited.Finalizers, _ = objects.WithoutFinalizer(class.Finalizers, objects.VACProtectionFinalizer)
	}
	_, err := p.API().AttributesClasses.Update(p, &edited)
	return err
}

// isUsed reports whether a volume or a claim refers to the class.
func (c *vacProtection) isUsed(name string) bool {
	// VAC-022: this reads the caches, which may be out of date.
	return len(c.volumes.ByIndex(c.byVolume, name)) > 0 || len(c.claims.ByIndex(c.byClaim, name)) > 0
}

// classesOfClaim returns the classes that a claim refers to, each once (VAC-022).
func classesOfClaim(claim *corev1.PersistentVolumeClaim, names []string) []string {
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	// VAC-022: the requested, the current and the target class count.
	add(wantedClass(claim))
	add(objects.ValueOf(claim.Status.CurrentVolumeAttributesClassName))
	if status := claim.Status.ModifyVolumeStatus; status != nil {
		add(status.TargetVolumeAttributesClassName)
	}
	return names
}

// classesOfVolume returns the class of a volume.
func classesOfVolume(pv *corev1.PersistentVolume, names []string) []string {
	if name := objects.ValueOf(pv.Spec.VolumeAttributesClassName); name != "" {
		names = append(names, name)
	}
	return names
}
