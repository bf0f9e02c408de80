package job

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
)

// update is one sync of a Job.
type update struct {
	*controller
	key string
	obj *plain.Object
	// job is a copy of the Job. A write of the status replaces it.
	job  *batchv1.Job
	ref  metav1.OwnerReference
	pods []*corev1.Pod
	// active are the pods that have not ended and are not being deleted.
	active                                []*corev1.Pod
	ready, terminating, succeeded, failed int32
	// uncounted are the pods that the status names.
	uncounted struct{ succeeded, failed map[types.UID]bool }
	// end is the condition with which the Job ends, nil while it runs.
	end     *batchv1.JobCondition
	backoff backoff
	// before and done are the completed indexes in the status, and with those of the pods; lost are the failed ones.
	before, done, lost indexes
	// last are the last failed pods of the indexes that will get another pod.
	last map[int]*corev1.Pod
}

func (c *controller) sync(p *engine.Process, key string) error {
	if err := c.written.Ready(key, "pods", "jobs"); err != nil {
		return err
	}
	obj, ok := c.jobs.Get(key)
	if !ok {
		c.written.Forget(key)
		c.expected.Forget(key)
		delete(c.released, key)
		delete(c.backoffs, key)
		return nil
	}
	u := &update{controller: c, key: key, obj: obj, job: plain.Shared[*batchv1.Job](obj).DeepCopy()}
	switch {
	case managedElsewhere(u.job):
		// JOB-013: another controller does the work.
		return nil
	case isFinished(u.job):
		delete(c.backoffs, key)
		delete(c.finished, u.job.UID)
		return nil
	case c.finished[u.job.UID]:
		return nil
	}
	return u.run(p)
}

// claim finds the pods of the Job. It adopts and releases as WORK-001 says; adopted pods get the finalizer (JOB-001).
func (u *update) claim(p *engine.Process) error {
	selector, err := metav1.LabelSelectorAsSelector(u.job.Spec.Selector)
	if err != nil {
		return fmt.Errorf("couldn't convert Job selector: %w", err)
	}
	u.pods, err = workload.Claimer{
		Pods: u.controller.pods, ByOwner: u.byOwner, Owner: u.job, Ref: u.ref, Selector: selector, Finalizers: []string{batchv1.JobTrackingFinalizer},
		Fresh:   func(p *engine.Process) (api.Object, error) { return p.API().Get(p, api.Ref{Kind: Kind, Key: u.key}) },
		Written: func(pod *corev1.Pod) { u.written.Wrote(u.key, "pods", pod) },
	}.Claim(p)
	return err
}

// podFailed reports whether a pod counts as failed (JOB-030).
func (u *update) podFailed(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodFailed {
		return true
	}
	// JOB-030: a pod that is being deleted has failed, unless only ended pods are replaced.
	return !u.onlyFailed() && pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodSucceeded
}

// onlyFailed reports whether a pod is replaced only when it has ended (JOB-023, JOB-103).
func (u *update) onlyFailed() bool {
	return u.job.Spec.PodFailurePolicy != nil || u.job.Spec.PodReplacementPolicy != nil && *u.job.Spec.PodReplacementPolicy == batchv1.Failed
}

// fresh lists the pods that have ended and that neither the status nor its counters contain.
func (u *update) fresh(named map[types.UID]bool, ended func(*corev1.Pod) bool) []*corev1.Pod {
	var list []*corev1.Pod
	for _, pod := range u.pods {
		if !tracked(pod) || named[pod.UID] || u.released[u.key][pod.UID] || u.indexed() && !u.valid(indexOf(pod)) || !ended(pod) {
			continue
		}
		list = append(list, pod)
	}
	return list
}

func (u *update) run(p *engine.Process) error {
	u.ref = workload.ControllerRef(u.job, apiVersion, kindName)
	if u.job.Status.UncountedTerminatedPods == nil {
		u.job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	met := u.expected.Met(u.key, p.Now())
	if err := u.claim(p); err != nil {
		return err
	}
	for _, pod := range u.pods {
		switch {
		case workload.Active(pod):
			u.active = append(u.active, pod)
			if workload.Ready(pod) != nil {
				u.ready++
			}
		case !workload.Ended(pod):
			u.terminating++
		}
	}
	st := &u.job.Status
	named := func(uids []types.UID) map[types.UID]bool {
		m := map[types.UID]bool{}
		for _, uid := range uids {
			m[uid] = true
		}
		return m
	}
	u.uncounted.succeeded, u.uncounted.failed = named(st.UncountedTerminatedPods.Succeeded), named(st.UncountedTerminatedPods.Failed)
	newSucceeded := u.fresh(u.uncounted.succeeded, func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded })
	newFailed := u.fresh(u.uncounted.failed, u.podFailed)
	u.succeeded = st.Succeeded + int32(len(newSucceeded)+len(u.uncounted.succeeded))
	u.failed = st.Failed + u.counted(newFailed) + int32(len(u.uncounted.failed))
	if st.StartTime == nil && !suspended(u.job) {
		st.StartTime = new(metav1.NewTime(p.Now()))
	}
	u.backoff = u.backoffs[u.key].with(newSucceeded, newFailed)
	u.findEnd(p)
	if u.indexed() {
		u.before, u.done = u.completed()
		u.succeeded = int32(u.done.total())
		u.findEndOfIndexes(p.Now())
	}
	changed, failed := u.act(p, met)
	if err := u.track(p, changed); err != nil {
		return fmt.Errorf("tracking status: %w", err)
	}
	return failed
}
