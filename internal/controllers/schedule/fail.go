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

// fail ends a failed attempt: the pod goes back to the queue, and an Event and a condition report why (SCHED-230, SCHED-231, SCHED-238).
// nominate is the new nomination of the pod; nil leaves it as it is.
func (s *scheduler) fail(p *engine.Process, item *queuedPod, err error, nominate *string) {
	// SCHED-230: a rejected pod is unschedulable; any other error is one of the scheduler.
	reason := corev1.PodReasonSchedulerError
	item.plugins, item.noNodes = nil, false
	var unfit *fitError
	switch {
	case errors.As(err, &unfit):
		reason = corev1.PodReasonUnschedulable
		// SCHED-250: it waits for changes that these plugins ask for.
		item.plugins = unfit.diagnosis.plugins
	case errors.Is(err, errNoNodes):
		// SCHED-022: no plugin rejected it, so it is retried like an error (SCHED-254).
		reason = corev1.PodReasonUnschedulable
		item.noNodes = true
	}
	// SCHED-238: by now the pod may be gone, bound, or replaced by another of its name.
	pod, ok := s.inf.pods.Get(item.key)
	switch {
	case !ok:
		pod = item.pod
	case pod.Spec.NodeName != "":
		pod = item.pod
	case pod.UID != item.pod.UID:
		return
	default:
		// The informer may not have delivered the scheduler's own write yet.
		if older(pod, item.pod) {
			pod = item.pod
		}
		item.pod = pod
		s.queue.requeueFailed(item)
		s.nominateTo(pod, nominate)
		// Nodes may have been added while a request was under way.
		if item.noNodes && len(s.nodeNames()) > 0 {
			s.queue.nodesAdded()
		}
	}
	text := err.Error()
	// SCHED-231: an Event for each failure. SCHED-012: its note is truncated.
	s.events.Event(p, pod, corev1.EventTypeWarning, "FailedScheduling", "%s", note(text))
	// SCHED-238: an error is in the trace and has no other consequence.
	_, _ = s.patchStatus(p, pod, &corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: text, ObservedGeneration: pod.Generation,
	}, nominate)
}

// patchStatus writes a condition and the nomination of a pod, if that changes anything; nil leaves either as it is. It returns the stored pod,
// or after an error the pod that it was given.
func (s *scheduler) patchStatus(p *engine.Process, pod *corev1.Pod, condition *corev1.PodCondition, nominate *string) (*corev1.Pod, error) {
	var conditions []corev1.PodCondition
	reports, nominates := false, nominate != nil && *nominate != pod.Status.NominatedNodeName
	if condition != nil {
		conditions, reports = withCondition(pod.Status.Conditions, *condition, metav1.NewTime(p.Now()))
	}
	// SCHED-231: a patch without changes is not sent.
	if !reports && !nominates {
		return pod, nil
	}
	// SCHED-238: the server merges the condition with those that the pod has when the patch takes effect.
	patch := func(newest *corev1.Pod) ([]byte, error) {
		changes := map[string]any{}
		if reports {
			changes["conditions"] = mergeCondition(newest, pod, conditions, condition.Type)
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

// retriable reports whether a patch is sent again after this error.
func retriable(err error) bool {
	// SCHED-244: the errors that a patch of a status is retried after.
	return apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsConflict(err)
}

// mergeCondition merges the wanted condition of a type into the conditions of the newest pod of that name, as the server does with a strategic
// merge patch: it leaves what others wrote, even if the newest pod is another one (SCHED-238).
func mergeCondition(newest, pod *corev1.Pod, wanted []corev1.PodCondition, kind corev1.PodConditionType) []corev1.PodCondition {
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

// overlay applies to a stored condition what differs between two versions of it: a patch has only the differences (SCHED-238).
func overlay(stored, from, to corev1.PodCondition) corev1.PodCondition {
	// SCHED-238: another writer may have set the rest, such as a binding whose response was lost.
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

// withCondition returns a copy of the conditions that contains this one, and whether that changes anything (SCHED-230, SCHED-231).
func withCondition(conditions []corev1.PodCondition, condition corev1.PodCondition, now metav1.Time) ([]corev1.PodCondition, bool) {
	at := slices.IndexFunc(conditions, func(c corev1.PodCondition) bool { return c.Type == condition.Type })
	condition.LastTransitionTime = now
	if at < 0 {
		return append(slices.Clone(conditions), condition), true
	}
	old := conditions[at]
	// SCHED-231: the same status, reason and message are no change.
	if old.Status == condition.Status && old.Reason == condition.Reason && old.Message == condition.Message {
		return conditions, false
	}
	// SCHED-230: lastTransitionTime is the time of the last change of the status.
	if old.Status == condition.Status {
		condition.LastTransitionTime = old.LastTransitionTime
	}
	conditions = slices.Clone(conditions)
	conditions[at] = condition
	return conditions, true
}
