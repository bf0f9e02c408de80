package job

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/engine"
)

// findEnd sets the condition with which the Job ends if it already has one, or has failed (JOB-050).
func (u *update) findEnd(p *engine.Process) {
	now := p.Now()
	spec := &u.job.Spec
	switch target := conditionOf(u.job, batchv1.JobFailureTarget); {
	case isTrue(u.job, batchv1.JobSuccessCriteriaMet):
		u.end = conditionOf(u.job, batchv1.JobSuccessCriteriaMet).DeepCopy()
	case target != nil && target.Status == corev1.ConditionTrue:
		u.end = newCondition(batchv1.JobFailed, target.Reason, target.Message, now)
	case u.failsJob() != "":
		// JOB-101: a rule of the podFailurePolicy ends the Job.
		u.end = newCondition(batchv1.JobFailureTarget, batchv1.JobReasonPodFailurePolicy, u.failsJob(), now)
	case u.failed > *spec.BackoffLimit || u.restartedTooOften():
		// JOB-051: more failures than backoffLimit.
		u.end = newCondition(batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit", now)
	case spec.ActiveDeadlineSeconds == nil || suspended(u.job) || u.job.Status.StartTime == nil:
	default:
		left := u.job.Status.StartTime.Add(time.Duration(*spec.ActiveDeadlineSeconds) * time.Second).Sub(now)
		if left <= 0 {
			// JOB-052: the deadline counts from startTime.
			u.end = newCondition(batchv1.JobFailureTarget, batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline", now)
			return
		}
		u.queue.AddInBackground(u.key, left)
	}
}

// restartedTooOften reports whether the containers of running pods restarted as often as backoffLimit allows; for restartPolicy OnFailure.
func (u *update) restartedTooOften() bool {
	if u.job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	n := int32(0)
	for _, pod := range u.pods {
		if pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodPending {
			continue
		}
		for _, status := range append(slices.Clone(pod.Status.InitContainerStatuses), pod.Status.ContainerStatuses...) {
			n += status.RestartCount
		}
	}
	return n >= max(*u.job.Spec.BackoffLimit, 1)
}

// act deletes the active pods of a Job that ends, or else creates and deletes pods. It reports whether the status must be written.
func (u *update) act(p *engine.Process, met bool) (changed bool, failed error) {
	st, active := &u.job.Status, int32(len(u.active))
	if u.end != nil {
		p.Decide("JOB-050", u.obj, "the Job ends: %s", u.end.Reason)
		deletedReady, deleted, err := u.delete(p, u.active, false)
		if deleted != active || !met {
			u.end = nil
		}
		active, u.terminating, u.ready, failed = active-deleted, u.terminating+deleted, u.ready-deletedReady, err
	} else {
		managed := met && u.job.DeletionTimestamp == nil
		if managed {
			active, failed = u.manage(p)
		}
		completions := u.job.Spec.Completions
		switch {
		// JOB-053: without completions one success is enough, after which the other pods end by themselves.
		case completions == nil && u.succeeded > 0 && active == 0, completions != nil && u.succeeded >= *completions && active == 0:
			u.end = newCondition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods", p.Now())
		case managed:
			changed = u.noteSuspension(p)
		}
	}
	changed = changed || active != st.Active || st.Ready == nil || *st.Ready != u.ready || st.Terminating == nil || *st.Terminating != u.terminating
	st.Active, st.Ready, st.Terminating = active, &u.ready, &u.terminating
	return changed, failed
}

// noteSuspension sets the condition Suspended, and with it startTime (JOB-024).
func (u *update) noteSuspension(p *engine.Process) bool {
	now := p.Now()
	if suspended(u.job) {
		if !ensureCondition(u.job, newCondition(batchv1.JobSuspended, "JobSuspended", "Job suspended", now)) {
			return false
		}
		u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "Suspended", "Job suspended")
		u.job.Status.StartTime = nil
		return true
	}
	resumed := newCondition(batchv1.JobSuspended, "JobResumed", "Job resumed", now)
	resumed.Status = corev1.ConditionFalse
	if !ensureCondition(u.job, resumed) {
		return false
	}
	u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "Resumed", "Job resumed")
	u.job.Status.StartTime = new(metav1.NewTime(now))
	return true
}
