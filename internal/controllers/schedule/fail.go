package schedule

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
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
	// SCHED-238: whether it is stored or not is in the trace.
	_, _ = s.patchStatus(p, pod, &corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: text, ObservedGeneration: pod.Generation,
	}, nominate)
}

// patchStatus writes a condition and the nomination of a pod, if that changes anything; nil leaves either. It returns the pod as it is
// then, as far as is known: it is the same after an error.
func (s *scheduler) patchStatus(p *engine.Proc, pod *corev1.Pod, condition *corev1.PodCondition, nominate *string) (*corev1.Pod, error) {
	var conditions []corev1.PodCondition
	told, nominates := false, nominate != nil && *nominate != pod.Status.NominatedNodeName
	if condition != nil {
		conditions, told = withCondition(pod.Status.Conditions, *condition, metav1.NewTime(p.Now()))
	}
	// SCHED-231: nothing new is not written.
	if !told && !nominates {
		return pod, nil
	}
	// SCHED-238: the server puts the condition beside what the pod has when the patch takes effect.
	patch := func(newest *corev1.Pod) ([]byte, error) {
		changes := map[string]any{}
		if told {
			changes["conditions"] = besideOthers(newest, pod, conditions, condition.Type)
		}
		if nominates {
			changes["nominatedNodeName"] = any(nil)
			if *nominate != "" {
				changes["nominatedNodeName"] = *nominate
			}
		}
		return json.Marshal(map[string]any{"status": changes})
	}
	for pause := patchPause; ; pause *= patchFactor {
		patched, err := s.api.Pods.PatchNewest(p, api.KeyOf(pod), patch, api.Status)
		switch {
		case err == nil:
			return patched, nil
		case pause > patchPauses || !retriable(err):
			return pod, err
		}
		// SCHED-244: SIM: without the random part of up to a tenth.
		p.Sleep(pause)
	}
}

// The pauses between attempts to patch a status (SCHED-244).
const (
	patchPause  = 10 * time.Millisecond
	patchFactor = 5
	patchPauses = 250 * time.Millisecond // the last
)

// retriable reports whether a patch that failed like that is worth another attempt.
func retriable(err error) bool {
	// SCHED-244
	return apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsConflict(err)
}

// besideOthers puts one of the wanted conditions beside those of other types that the newest pod of that name has: a patch does not
// touch what others wrote, even if it is another pod (SCHED-238).
func besideOthers(newest, pod *corev1.Pod, wanted []corev1.PodCondition, kind corev1.PodConditionType) []corev1.PodCondition {
	ofKind := func(c corev1.PodCondition) bool { return c.Type == kind }
	before := corev1.PodCondition{Type: kind}
	if at := slices.IndexFunc(pod.Status.Conditions, ofKind); at >= 0 {
		before = pod.Status.Conditions[at]
	}
	condition := wanted[slices.IndexFunc(wanted, ofKind)]
	conditions := slices.Clone(newest.Status.Conditions)
	if at := slices.IndexFunc(conditions, ofKind); at >= 0 {
		conditions[at] = overlay(conditions[at], before, condition)
		return conditions
	}
	return append(conditions, overlay(corev1.PodCondition{Type: kind}, before, condition))
}

// overlay is the stored condition with what a patch from one version to another changes in it. A patch has no more than what differs
// (SCHED-238).
func overlay(stored, from, to corev1.PodCondition) corev1.PodCondition {
	// SCHED-238: another may have set the rest, as the binding of a pod does whose answer was lost.
	if from.Status != to.Status {
		stored.Status = to.Status
	}
	if from.Reason != to.Reason {
		stored.Reason = to.Reason
	}
	if from.Message != to.Message {
		stored.Message = to.Message
	}
	if from.ObservedGeneration != to.ObservedGeneration {
		stored.ObservedGeneration = to.ObservedGeneration
	}
	if !from.LastTransitionTime.Equal(&to.LastTransitionTime) {
		stored.LastTransitionTime = to.LastTransitionTime
	}
	return stored
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
