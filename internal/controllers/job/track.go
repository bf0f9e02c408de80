package job

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/parallel"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// track counts the pods that have ended: it names them in the status, removes their finalizer, and then raises the counters (JOB-040). At the
// end of the Job it adds the last condition.
func (u *update) track(p *engine.Process, flush bool) error {
	if u.indexed() {
		slices.SortStableFunc(u.pods, func(a, b *corev1.Pod) int { return indexOf(a) - indexOf(b) })
	}
	held := map[types.UID]bool{}
	for _, pod := range u.pods {
		if tracked(pod) && !u.released[u.key][pod.UID] {
			held[pod.UID] = true
		}
	}
	flush = count(&u.job.Status, held) || flush
	release, newIndexes, full := u.name(held)
	if uncounted := u.job.Status.UncountedTerminatedPods; len(newIndexes) > 0 || len(uncounted.Succeeded) > len(u.uncounted.succeeded) ||
		len(uncounted.Failed) > len(u.uncounted.failed) {
		flush = true
	}
	if u.indexed() {
		// JOB-032: completed indexes are counted once, whatever pods they had.
		u.done = u.done.with(newIndexes...)
		flush = flush || u.done.String() != u.job.Status.CompletedIndexes
		u.job.Status.Succeeded, u.job.Status.CompletedIndexes = int32(u.done.total()), u.done.String()
		flush = u.setFailedIndexes() || flush
	}
	flush = u.announceEnd(p) || flush
	flush, err := u.flush(p, release, held, flush)
	if err != nil {
		return err
	}
	finished := !full && u.finish(p)
	if !flush && !finished {
		return nil
	}
	if err := u.writeStatus(p); err != nil {
		return fmt.Errorf("removing uncounted pods from status: %w", err)
	}
	if finished {
		u.recordEnd(p)
		u.controller.finished[u.job.UID] = true
	}
	return nil
}

// setFailedIndexes lists the failed indexes in the status (JOB-104), and reports whether they have changed.
func (u *update) setFailedIndexes() bool {
	was := u.job.Status.FailedIndexes
	u.job.Status.FailedIndexes = nil
	if u.perIndex() {
		u.job.Status.FailedIndexes = new(u.lost.String())
	}
	now := u.job.Status.FailedIndexes
	return (was == nil) != (now == nil) || now != nil && *now != *was
}

// name adds the pods that have ended to the uncounted ones of the status, and returns those whose finalizer can go.
func (u *update) name(held map[types.UID]bool) (release []*corev1.Pod, newIndexes []int, full bool) {
	uncounted := u.job.Status.UncountedTerminatedPods
	for _, pod := range u.pods {
		failed := u.podFailed(pod)
		// JOB-041: at the end of the Job all pods lose the finalizer; those that have not succeeded count as failed.
		if !held[pod.UID] || !failed && u.job.DeletionTimestamp == nil && u.end == nil && pod.Status.Phase != corev1.PodSucceeded ||
			u.awaitsSuccessor(pod) {
			continue
		}
		release = append(release, pod)
		index := indexOf(pod)
		switch valid := u.indexed() && u.valid(index); {
		case pod.Status.Phase == corev1.PodSucceeded && !u.uncounted.failed[pod.UID]:
			if valid && !u.before.has(index) {
				newIndexes = append(newIndexes, index)
			} else if !u.indexed() && !u.uncounted.succeeded[pod.UID] {
				uncounted.Succeeded = append(uncounted.Succeeded, pod.UID)
			}
		case (failed || u.end != nil && u.end.Type != batchv1.JobSuccessCriteriaMet) && !u.uncounted.failed[pod.UID] && (!u.indexed() || valid):
			// JOB-102: an ignored failure is not counted.
			if matchFailure(u.job, pod).counts() {
				uncounted.Failed = append(uncounted.Failed, pod.UID)
			}
		}
		if len(newIndexes)+len(uncounted.Succeeded)+len(uncounted.Failed) >= burst {
			return release, newIndexes, true
		}
	}
	return release, newIndexes, false
}

// count moves uncounted pods without the finalizer to the counters, and reports whether there were any.
func count(status *batchv1.JobStatus, held map[types.UID]bool) bool {
	uncounted := status.UncountedTerminatedPods
	keep := func(uids []types.UID, counter *int32) []types.UID {
		var left []types.UID
		for _, uid := range uids {
			if held[uid] {
				left = append(left, uid)
			} else {
				*counter++
			}
		}
		return left
	}
	succeeded, failed := status.Succeeded, status.Failed
	uncounted.Succeeded, uncounted.Failed = keep(uncounted.Succeeded, &status.Succeeded), keep(uncounted.Failed, &status.Failed)
	return status.Succeeded != succeeded || status.Failed != failed
}

// announceEnd adds the condition that announces the end of the Job, before pods lose their finalizer (JOB-054). It reports whether it did.
func (u *update) announceEnd(p *engine.Process) bool {
	if u.end == nil {
		return false
	}
	announced := u.end
	switch announced.Type {
	case batchv1.JobFailureTarget:
		u.end = newCondition(batchv1.JobFailed, announced.Reason, announced.Message, p.Now())
	case batchv1.JobSuccessCriteriaMet:
		u.end = newCondition(batchv1.JobComplete, announced.Reason, announced.Message, p.Now())
		if isTrue(u.job, batchv1.JobSuccessCriteriaMet) {
			return false
		}
	default:
		return false
	}
	// JOB-054: FailureTarget comes before Failed, SuccessCriteriaMet before Complete.
	u.job.Status.Conditions = append(u.job.Status.Conditions, *announced)
	return true
}

// flush writes the status with the uncounted pods, removes finalizers, and counts the pods that lost it. It reports whether the status must
// be written once more.
func (u *update) flush(p *engine.Process, release []*corev1.Pod, held map[types.UID]bool, needed bool) (bool, error) {
	if needed {
		if err := u.writeStatus(p); err != nil {
			return true, fmt.Errorf("adding uncounted pods to status: %w", err)
		}
		u.backoffs[u.key] = u.backoff
	}
	if u.released[u.key] == nil {
		u.released[u.key] = map[types.UID]bool{}
	}
	for _, pod := range release {
		u.released[u.key][pod.UID] = true
	}
	var errs []error
	parallel.Do(p, "job pods", len(release), len(release), func(p *engine.Process, i int) {
		err := u.controller.release(p, u.key, release[i])
		if err != nil {
			delete(u.released[u.key], release[i].UID)
			if !apierrors.IsNotFound(err) {
				errs = append(errs, err)
				return
			}
		}
		delete(held, release[i].UID)
	})
	counted := count(&u.job.Status, held)
	if len(errs) > 0 && counted {
		if err := u.writeStatus(p); err != nil {
			return true, fmt.Errorf("removing uncounted pods from status: %w", err)
		}
	}
	return counted, workload.First(errs)
}

// finish adds the last condition, once no pod is uncounted or being deleted (JOB-055).
func (u *update) finish(p *engine.Process) bool {
	uncounted := u.job.Status.UncountedTerminatedPods
	if u.end == nil || uncounted != nil && len(uncounted.Succeeded)+len(uncounted.Failed) > 0 || u.terminating > 0 {
		return false
	}
	last := newCondition(u.end.Type, u.end.Reason, u.end.Message, p.Now())
	last.Status = u.end.Status
	ensureCondition(u.job, last)
	if u.end.Type == batchv1.JobComplete {
		u.job.Status.CompletionTime = &u.end.LastTransitionTime
	}
	return true
}

// recordEnd emits the Event about the end of the Job (JOB-060).
func (u *update) recordEnd(p *engine.Process) {
	if u.end.Type != batchv1.JobComplete {
		u.recorder.Event(p, u.obj, corev1.EventTypeWarning, u.end.Reason, "%s", u.end.Message)
		return
	}
	if u.job.Spec.Completions != nil && u.job.Status.Succeeded > *u.job.Spec.Completions {
		u.recorder.Event(p, u.obj, corev1.EventTypeWarning, "TooManySucceededPods", "Too many succeeded pods running after completion count reached")
	}
	u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "Completed", "Job completed")
}

// writeStatus writes the status. The stored Job replaces the copy, so that a sync can write several times.
func (u *update) writeStatus(p *engine.Process) error {
	c := u.job.DeepCopy()
	c.APIVersion, c.Kind = apiVersion, kindName
	updated, err := p.API().Update(p, c, api.Status, store.UpdateOptions{})
	if err != nil {
		return err
	}
	u.written.Wrote(u.key, "jobs", updated)
	stored, err := plain.As[*batchv1.Job](updated)
	if err != nil {
		return err
	}
	u.job = stored.DeepCopy()
	if u.job.Status.UncountedTerminatedPods == nil {
		u.job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	return nil
}
