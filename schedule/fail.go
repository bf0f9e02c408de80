package schedule

import (
	"encoding/json"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/engine"
	"github.com/volsim/volsim/store"
)

// fail ends an attempt that came to nothing: the pod goes back to the queue, and everybody is told why (SCHED-230, SCHED-231,
// SCHED-238). nominate is what becomes of the pod's nomination; nil leaves it.
func (s *scheduler) fail(p *engine.Proc, item *queuedPod, err error, nominate *string) {
	// SCHED-230: a pod that was turned down is unschedulable; anything else is a mistake of the scheduler.
	reason := corev1.PodReasonSchedulerError
	item.plugins, item.noNodes = nil, false
	var none *unfit
	switch {
	case errors.As(err, &none):
		reason = corev1.PodReasonUnschedulable
		// SCHED-250
		item.plugins = none.diagnosis.plugins
	case errors.Is(err, errNoNodes):
		// SCHED-022: no plugin said so, hence it is retried like an error (SCHED-254).
		reason = corev1.PodReasonUnschedulable
		item.noNodes = true
	}
	// SCHED-238: it may be gone, or be on a node by now, or be another one.
	pod, ok := s.inf.pods.Get(item.key)
	switch {
	case !ok:
		pod = item.pod
	case pod.Spec.NodeName != "":
		pod = item.pod
	case pod.UID != item.pod.UID:
		return
	default:
		// What the scheduler itself wrote may not have come back yet.
		if older(pod, item.pod) {
			pod = item.pod
		}
		item.pod = pod
		s.queue.giveBack(item)
		s.nominateTo(pod, nominate)
		// Nodes may have come while an answer was under way.
		if item.noNodes && len(s.nodeNames()) > 0 {
			s.queue.nodesThere()
		}
	}
	text := err.Error()
	// SCHED-231: each time, SCHED-012: and not too long.
	s.events.Event(p, pod, corev1.EventTypeWarning, "FailedScheduling", "%s", note(text))
	s.patchStatus(p, pod, &corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: text, ObservedGeneration: pod.Generation,
	}, nominate)
}

// patchStatus writes a condition and the nomination of a pod, if that changes anything; nil leaves either. It returns the pod as it is
// then. A failure is ignored.
func (s *scheduler) patchStatus(p *engine.Proc, pod *corev1.Pod, condition *corev1.PodCondition, nominate *string) *corev1.Pod {
	changes := map[string]any{}
	if condition != nil {
		if conditions, changed := withCondition(pod.Status.Conditions, *condition, metav1.NewTime(p.Now())); changed {
			changes["conditions"] = besideOthers(p, pod, conditions, condition.Type)
		}
	}
	if nominate != nil && *nominate != pod.Status.NominatedNodeName {
		changes["nominatedNodeName"] = any(nil)
		if *nominate != "" {
			changes["nominatedNodeName"] = *nominate
		}
	}
	// SCHED-231: nothing new is not written.
	if len(changes) == 0 {
		return pod
	}
	patch, err := json.Marshal(map[string]any{"status": changes})
	if err != nil {
		panic("schedule: a condition cannot be written as JSON: " + err.Error())
	}
	// SCHED-028, SCHED-238: whether it is stored or not is in the trace.
	patched, err := s.api.Pods.Patch(p, store.KeyOf(pod), patch, store.Status)
	if err != nil {
		return pod
	}
	return patched
}

// besideOthers puts one of the wanted conditions beside those of other types that the pod of that name has by now: a patch does not
// touch what others wrote, even if it is another pod (SCHED-238).
func besideOthers(p *engine.Proc, pod *corev1.Pod, wanted []corev1.PodCondition, kind corev1.PodConditionType) []corev1.PodCondition {
	newest, ok := p.Engine().Store().Pods.Lookup(store.KeyOf(pod))
	if !ok {
		return wanted
	}
	ofKind := func(c corev1.PodCondition) bool { return c.Type == kind }
	condition := wanted[slices.IndexFunc(wanted, ofKind)]
	conditions := slices.Clone(newest.Status.Conditions)
	if at := slices.IndexFunc(conditions, ofKind); at >= 0 {
		conditions[at] = condition
		return conditions
	}
	return append(conditions, condition)
}

// withCondition is a copy of the conditions with this one in it, and whether that says anything new (SCHED-230, SCHED-231).
func withCondition(conditions []corev1.PodCondition, condition corev1.PodCondition, now metav1.Time) ([]corev1.PodCondition, bool) {
	at := slices.IndexFunc(conditions, func(c corev1.PodCondition) bool { return c.Type == condition.Type })
	condition.LastTransitionTime = now
	if at < 0 {
		return append(slices.Clone(conditions), condition), true
	}
	old := conditions[at]
	// SCHED-231
	if old.Status == condition.Status && old.Reason == condition.Reason && old.Message == condition.Message {
		return conditions, false
	}
	// SCHED-230: the time is that of the last change of the status.
	if old.Status == condition.Status {
		condition.LastTransitionTime = old.LastTransitionTime
	}
	conditions = slices.Clone(conditions)
	conditions[at] = condition
	return conditions, true
}
