package nodelifecycle

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/engine"
)

// markPodsNotReady writes Ready=False to the pods of a node, one after the other, and emits an Event about each (NODE-035). It reports
// whether all of that succeeded.
func (c *controller) markPodsNotReady(p *engine.Process, pods []*corev1.Pod, node string) bool {
	ok := true
	for _, pod := range pods {
		if pod.Spec.NodeName != node {
			continue
		}
		i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
		// NODE-035: a pod without the condition, or that is not ready, stays as it is.
		if i < 0 || pod.Status.Conditions[i].Status == corev1.ConditionFalse {
			continue
		}
		changed := *pod
		changed.Status.Conditions = slices.Clone(pod.Status.Conditions)
		changed.Status.Conditions[i].Status = corev1.ConditionFalse
		changed.Status.Conditions[i].LastTransitionTime = metav1.NewTime(p.Now())
		if _, err := p.API().Pods.UpdateStatus(p, &changed); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			p.Decide("NODE-035", pod, "the pod could not be marked as not ready: %v", err)
			ok = false
		}
		// NODE-035: the Event is emitted after a failed write, too.
		c.events.Event(p, pod, corev1.EventTypeWarning, "NodeNotReady", "Node is not ready")
	}
	return ok
}

// Errors of a sync of a pod.
var (
	errNoNode    = errors.New("its node is unknown")
	errNotMarked = errors.New("it could not be marked as not ready")
)

// syncPod marks a pod as not ready that has got a node that is not (NODE-036).
func (c *controller) syncPod(p *engine.Process, key string) error {
	pod, ok := c.pods.Get(key)
	if !ok {
		return engine.Gone
	}
	// NODE-036: what the last pass saw of the node counts.
	h := c.health[pod.Spec.NodeName]
	if h == nil {
		return engine.Gone
	}
	// NODE-036: a node that no longer exists may come back, and need not.
	if _, ok := c.nodes.Get(pod.Spec.NodeName); !ok {
		return &engine.Retry{Err: errNoNode, Background: true}
	}
	if isNotReady(h.Ready) && !c.markPodsNotReady(p, []*corev1.Pod{pod}, pod.Spec.NodeName) {
		return errNotMarked
	}
	// NODE-036: a success does not reset the backoff.
	return engine.Gone
}
