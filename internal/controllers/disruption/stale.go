package disruption

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/engine"
)

// staleTimeout is how long a pod may have the condition DisruptionTarget without being deleted (PDB-010).
const staleTimeout = 2 * time.Minute

// staleAfter returns how long a pod may keep its condition DisruptionTarget. It reports false if the condition is none that gets stale.
func (c *controller) staleAfter(pod *corev1.Pod) (time.Duration, bool) {
	i := disruptionTarget(pod)
	if i < 0 || pod.DeletionTimestamp != nil || workload.Ended(pod) {
		return 0, false
	}
	condition := pod.Status.Conditions[i]
	// PDB-010: a kubelet that ends a pod may take any time.
	if condition.Status != corev1.ConditionTrue || condition.Reason == corev1.PodReasonTerminationByKubelet {
		return 0, false
	}
	return max(0, staleTimeout-c.actor.Engine().Now().Sub(condition.LastTransitionTime.Time)), true
}

func disruptionTarget(pod *corev1.Pod) int {
	return slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
}

// resetStale sets the condition DisruptionTarget of a pod to False if the pod was not deleted (PDB-010).
func (c *controller) resetStale(p *engine.Process, key string) error {
	pod, ok := c.pods.Get(key)
	if !ok {
		return nil
	}
	wait, ok := c.staleAfter(pod)
	switch {
	case !ok:
		return nil
	case wait > 0:
		c.stale.AddInBackground(key, wait)
		return nil
	}
	reset := pod.DeepCopy()
	// PDB-010: the condition loses its reason.
	reset.Status.Conditions[disruptionTarget(pod)] = corev1.PodCondition{Type: corev1.DisruptionTarget, ObservedGeneration: pod.Generation,
		Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(p.Now().Truncate(time.Second))}
	_, err := p.API().Pods.UpdateStatus(p, reset)
	return err
}
