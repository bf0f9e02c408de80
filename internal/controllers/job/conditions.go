package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func isFinished(job *batchv1.Job) bool {
	return isTrue(job, batchv1.JobComplete) || isTrue(job, batchv1.JobFailed)
}

func isTrue(job *batchv1.Job, kind batchv1.JobConditionType) bool {
	c := conditionOf(job, kind)
	return c != nil && c.Status == corev1.ConditionTrue
}

func conditionOf(job *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if c := &job.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}

func newCondition(kind batchv1.JobConditionType, reason, text string, now time.Time) *batchv1.JobCondition {
	return &batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: text, LastProbeTime: metav1.NewTime(now),
		LastTransitionTime: metav1.NewTime(now)}
}

// ensureCondition sets a condition. It reports whether it has changed; a condition that was never True does not become False.
func ensureCondition(job *batchv1.Job, c *batchv1.JobCondition) bool {
	was := conditionOf(job, c.Type)
	switch {
	case was != nil && was.Status == c.Status && was.Reason == c.Reason && was.Message == c.Message, was == nil && c.Status == corev1.ConditionFalse:
		return false
	case was != nil:
		*was = *c
	default:
		job.Status.Conditions = append(job.Status.Conditions, *c)
	}
	return true
}

func suspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

// managedElsewhere reports whether another controller is responsible for a Job (JOB-013).
func managedElsewhere(job *batchv1.Job) bool {
	return job.Spec.ManagedBy != nil && *job.Spec.ManagedBy != batchv1.JobControllerName
}
