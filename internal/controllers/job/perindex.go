package job

import (
	"math"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/controllers/workload"
)

// perIndex reports whether each index has its own backoffLimit (JOB-104).
func (u *update) perIndex() bool { return u.indexed() && u.job.Spec.BackoffLimitPerIndex != nil }

// failedIndexes returns the failed indexes of the status, and those that have failed since (JOB-104).
func (u *update) failedIndexes() indexes {
	var failed indexes
	if text := u.job.Status.FailedIndexes; text != nil {
		failed = parseIndexes(*text, int(*u.job.Spec.Completions))
	}
	for _, pod := range u.pods {
		if index := indexOf(pod); u.valid(index) && tracked(pod) && u.podFailed(pod) && u.exhausts(pod) {
			failed = failed.with(index)
		}
	}
	return failed
}

// exhausts reports whether the index of a failed pod fails with it: by action FailIndex, or because the failure is one too many.
func (u *update) exhausts(pod *corev1.Pod) bool {
	m := matchFailure(u.job, pod)
	return m.action == batchv1.PodFailurePolicyActionFailIndex ||
		m.counts() && annotated(pod, batchv1.JobIndexFailureCountAnnotation) >= *u.job.Spec.BackoffLimitPerIndex
}

// annotated returns the number in an annotation, 0 if there is none.
func annotated(pod *corev1.Pod, name string) int32 {
	n, err := strconv.Atoi(pod.Annotations[name])
	if err != nil || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return int32(n)
}

// failures returns how many pods of the index failed before this one, ignored failures included.
func failures(pod *corev1.Pod) int32 {
	return annotated(pod, batchv1.JobIndexFailureCountAnnotation) + annotated(pod, batchv1.JobIndexIgnoredFailureCountAnnotation)
}

// lastFailures returns the last failed pod of each index that will get another pod. It keeps its finalizer until then, because it has the number
// of failures of the index (JOB-105).
func (u *update) lastFailures() map[int]*corev1.Pod {
	active := map[int]bool{}
	for _, pod := range u.active {
		active[indexOf(pod)] = true
	}
	last := map[int]*corev1.Pod{}
	for _, pod := range u.fresh(nil, u.podFailed) {
		index := indexOf(pod)
		if u.done.has(index) || u.lost.has(index) || active[index] {
			continue
		}
		if was := last[index]; was == nil || failures(was) <= failures(pod) && !endOf(pod).Before(endOf(was)) {
			last[index] = pod
		}
	}
	return last
}

// awaitsSuccessor reports whether a failed pod keeps its finalizer until its index has a new pod (JOB-105).
func (u *update) awaitsSuccessor(pod *corev1.Pod) bool {
	last := u.last[indexOf(pod)]
	return last != nil && last.UID == pod.UID && u.job.DeletionTimestamp == nil && u.end == nil && pod.Status.Phase != corev1.PodSucceeded
}

// due returns those of the indexes whose backoff has passed, or how long the first one still waits (JOB-106).
func (u *update) due(todo []int, now time.Time) (ready []int, wait time.Duration) {
	for _, index := range todo {
		left := time.Duration(0)
		if pod := u.last[index]; pod != nil {
			left = backoff{failures(pod) + 1, endOf(pod)}.left(now)
		}
		if left == 0 {
			ready = append(ready, index)
		} else if wait == 0 || left < wait {
			wait = left
		}
	}
	if len(ready) > 0 {
		wait = 0
	}
	return ready, wait
}

// countFailures gives a new pod the number of failures of its index (JOB-105).
func (u *update) countFailures(annotations map[string]string, index int) {
	failed, ignored := int32(0), int32(0)
	if pod := u.last[index]; pod != nil {
		failed, ignored = annotated(pod, batchv1.JobIndexFailureCountAnnotation), annotated(pod, batchv1.JobIndexIgnoredFailureCountAnnotation)
		if matchFailure(u.job, pod).counts() {
			failed++
		} else {
			ignored++
		}
	}
	annotations[batchv1.JobIndexFailureCountAnnotation] = strconv.Itoa(int(failed))
	if ignored > 0 {
		annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = strconv.Itoa(int(ignored))
	}
}

// findEndOfIndexes sets the condition with which an indexed Job ends: too many indexes failed, no index is left, or enough have succeeded.
func (u *update) findEndOfIndexes(now time.Time) {
	if u.perIndex() {
		u.lost = u.failedIndexes()
		lost, most := u.lost.total(), u.job.Spec.MaxFailedIndexes
		switch {
		case u.end != nil:
		case most != nil && lost > int(*most):
			// JOB-107: more failed indexes than maxFailedIndexes.
			u.end = newCondition(batchv1.JobFailureTarget, batchv1.JobReasonMaxFailedIndexesExceeded,
				"Job has exceeded the specified maximal number of failed indexes", now)
		case lost > 0 && lost+u.done.total() >= int(*u.job.Spec.Completions):
			// JOB-107: no index is left.
			u.end = newCondition(batchv1.JobFailureTarget, batchv1.JobReasonFailedIndexes, "Job has failed indexes", now)
		}
		u.last = u.lastFailures()
	}
	// JOB-108: a rule of the success policy ends the Job.
	if text := u.succeededEarly(); text != "" && u.end == nil {
		u.end = newCondition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonSuccessPolicy, text, now)
	}
}

// covered returns the indexes that get no pod: completed, failed, and those that have one.
func (u *update) covered() indexes {
	taken := u.done.with(u.lost...)
	for _, pod := range u.pods {
		if workload.Active(pod) || u.onlyFailed() && !workload.Ended(pod) {
			taken = taken.with(indexOf(pod))
		}
	}
	return taken
}
