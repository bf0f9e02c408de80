package schedule

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/podpatch"
)

// fail ends a failed attempt: the pod goes back to the queue, and an Event and a condition report why (SCHED-230, SCHED-231, SCHED-238).
// nominate is the new nomination of the pod; nil leaves it as it is.
func (s *scheduler) fail(p *engine.Process, item *queuedPod, err error, nominate *string) {
	// SCHED-230: a rejected pod is unschedulable; any other error is one of the scheduler.
	reason := corev1.PodReasonSchedulerError
	item.plugins, item.noNodes = nil, false
	unfit, rejected := errors.AsType[*fitError](err)
	switch {
	case rejected:
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
		item.set(pod)
		s.queue.requeueFailed(item)
		s.nominateTo(pod, nominate)
		// Nodes may have been added while a request was under way.
		if item.noNodes && len(s.nodes()) > 0 {
			s.queue.nodesAdded()
		}
	}
	text := err.Error()
	// SCHED-231: an Event for each failure. SCHED-012: its note is truncated.
	s.events.Event(p, pod, corev1.EventTypeWarning, "FailedScheduling", note(text))
	// SCHED-238: an error is in the trace and has no other consequence.
	_, _ = s.patchStatus(p, pod, &corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: text, ObservedGeneration: pod.Generation,
	}, nominate)
}

// patchStatus writes a condition and the nomination of a pod, if that changes anything; nil leaves either as it is. It returns the stored
// pod, or after an error the pod that it was given.
func (s *scheduler) patchStatus(p *engine.Process, pod *corev1.Pod, condition *corev1.PodCondition, nominate *string) (*corev1.Pod, error) {
	// The condition itself is not part of the patch, which may outlive this call.
	var conditions []corev1.PodCondition
	var kind corev1.PodConditionType
	reports, nominates := false, nominate != nil && *nominate != pod.Status.NominatedNodeName
	if condition != nil {
		kind = condition.Type
		conditions, reports = podpatch.WithCondition(pod.Status.Conditions, *condition, p.Now())
	}
	// SCHED-231: a patch without changes is not sent.
	if !reports && !nominates {
		return pod, nil
	}
	// SCHED-238: the server merges the condition with those that the pod has when the patch takes effect.
	patch := func(newest *corev1.Pod) error {
		// SCHED-231: a patch of the nomination includes the observed generation of a condition that is otherwise the same.
		if kind != "" {
			newest.Status.Conditions = podpatch.MergeCondition(newest, pod, conditions, kind)
		}
		if nominates {
			newest.Status.NominatedNodeName = *nominate
		}
		return nil
	}
	for pause := patchPause; ; pause *= patchFactor {
		patched, err := s.api.Pods.PatchWith(p, s.inf.pods.KeyOf(pod), patch, api.Status)
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
