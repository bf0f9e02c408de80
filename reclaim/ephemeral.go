package reclaim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/store"
)

// newEphemeral adds the ephemeral volume controller (EPH-001 to EPH-007). The garbage collector deletes its claims (EPH-006).
func newEphemeral(e *engine.Engine) (*engine.Actor, error) {
	return e.NewActor(actors.Ephemeral, func(a *engine.Actor) {
		c := &ephemeral{
			claims:   engine.NewInformer(a, e.Store().Claims),
			pods:     engine.NewInformer(a, e.Store().Pods),
			byClaim:  e.Store().PodsByClaim,
			recorder: a.NewRecorder("ephemeral_volume"),
		}
		c.queue = a.NewQueue(engine.QueueConfig{Name: "ephemeral_volume", Kind: api.Pod, Workers: 5,
			Of: c, Work: engine.Work[*ephemeral]((*ephemeral).sync)})
		engine.Handle(c.pods, c, &ephemeralPods)
		engine.Handle(c.claims, c, &ephemeralClaims)
	})
}

var (
	// EPH-001: only new pods are handled; the volumes of a pod do not change.
	ephemeralPods   = engine.Handlers[*ephemeral, *corev1.Pod]{Add: (*ephemeral).enqueue}
	ephemeralClaims = engine.Handlers[*ephemeral, *corev1.PersistentVolumeClaim]{Delete: (*ephemeral).claimDeleted}
)

type ephemeral struct {
	claims   engine.Informer[*corev1.PersistentVolumeClaim]
	pods     engine.Informer[*corev1.Pod]
	byClaim  store.Index[*corev1.Pod]
	recorder *engine.Recorder
	queue    *engine.Queue
}

func (c *ephemeral) enqueue(pod *corev1.Pod) {
	// EPH-001: only pods with an ephemeral volume that are not being deleted, in any phase.
	if pod.DeletionTimestamp != nil {
		return
	}
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].Ephemeral != nil {
			c.queue.Add(c.pods.KeyOf(pod))
			return
		}
	}
}

func (c *ephemeral) claimDeleted(claim *corev1.PersistentVolumeClaim) {
	// EPH-001, EPH-007: a pod that still exists gets its claim again.
	for _, pod := range c.pods.ByIndex(c.byClaim, c.claims.KeyOf(claim)) {
		c.enqueue(pod)
	}
}

func (c *ephemeral) sync(p *engine.Process, key string) error {
	pod, ok := c.pods.Get(key)
	// EPH-002: a pod that is gone or being deleted needs no claim.
	if !ok || pod.DeletionTimestamp != nil {
		return nil
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.Ephemeral == nil {
			continue
		}
		if err := c.ensureClaim(p, pod, volume); err != nil {
			// EPH-002: the first volume that fails ends the sync; each retry emits the Event again.
			text := fmt.Sprintf("ephemeral volume %s: %v", volume.Name, err)
			c.recorder.Event(p, pod, corev1.EventTypeWarning, reasonFailedBinding, text)
			return fmt.Errorf("pod %s, %s", key, text)
		}
	}
	return nil
}

func (c *ephemeral) ensureClaim(p *engine.Process, pod *corev1.Pod, volume *corev1.Volume) error {
	// EPH-003: the claim's name is that of the pod, a dash, and that of the volume.
	name := objects.EphemeralClaimName(pod, volume)
	if claim, exists := c.claims.Get(api.Key(pod.Namespace, name)); exists {
		// EPH-004: a claim with another owner is an error; the pod's own is left alone, also one that is being deleted.
		if !objects.OwnsClaim(pod, claim) {
			return fmt.Errorf("PVC %s was not created for pod %s (pod is not owner)", api.KeyOf(claim), api.KeyOf(pod))
		}
		return nil
	}
	p.Decide("EPH-005", pod, "ephemeral volume %s has no claim", volume.Name)
	// EPH-005: if the informer lags, AlreadyExists is an error here, and the retry finds the claim.
	if _, err := p.API().Claims.Create(p, ephemeralClaim(pod, volume)); err != nil {
		return fmt.Errorf("create PVC %s: %w", name, err)
	}
	return nil
}

// ephemeralClaim returns the claim for a generic ephemeral volume of the pod, as it is created (EPH-005). It shares labels, annotations and
// spec with the template.
func ephemeralClaim(pod *corev1.Pod, volume *corev1.Volume) *corev1.PersistentVolumeClaim {
	yes := true
	template := volume.Ephemeral.VolumeClaimTemplate
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   pod.Namespace,
			Name:        objects.EphemeralClaimName(pod, volume),
			Labels:      template.Labels,
			Annotations: template.Annotations,
			// EPH-005, EPH-006: the garbage collector deletes the claim after the pod.
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: string(api.Pod), Name: pod.Name, UID: pod.UID,
				Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: template.Spec,
	}
}
