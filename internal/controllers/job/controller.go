package job

import (
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Kind is the kind of Jobs.
const Kind api.Kind = "Job.batch"

const (
	apiVersion = "batch/v1"
	kindName   = "Job"
	workers    = 5
	// batch is the pause between a change of a pod and the sync that it causes (JOB-010).
	batch = time.Second
	// retryStart and retryMax are the pauses after failed syncs (JOB-011).
	retryStart, retryMax = time.Second, time.Minute
	// burst is how many pods a sync creates or deletes at most, and how many uncounted pods the status names.
	burst = 500
)

// controller is one life of the Job controller.
type controller struct {
	jobs     *engine.Informer[*plain.Object]
	pods     *engine.Informer[*corev1.Pod]
	byOwner  *store.Index[*corev1.Pod]
	queue    *engine.Queue
	orphans  *engine.Queue
	recorder *engine.Recorder
	now      func() time.Time
	// written are the controller's own writes that its informers may lack (JOB-012).
	written  *workload.Consistency
	expected *workload.Expectations
	failed   engine.Repeats
	// released are the pods, by key of the Job, whose finalizer the controller has removed and its informer still shows (JOB-040).
	released map[string]map[types.UID]bool
	// finished are the Jobs whose end is written, and not yet delivered.
	finished map[types.UID]bool
	backoffs map[string]backoff
}

// New adds the controller. jobs contains the Jobs.
func New(e *engine.Engine, jobs *store.Table[*plain.Object]) (*engine.Actor, error) {
	byOwner := workload.IndexPods(e.Store())
	return e.NewActor(actors.Job, func(a *engine.Actor) {
		c := &controller{
			jobs: engine.NewInformer(a, jobs), pods: engine.NewInformer(a, e.Store().Pods), byOwner: byOwner,
			recorder: a.NewRecorder("job-controller"), now: e.Now, expected: workload.NewExpectations(), failed: engine.Repeats{},
			released: map[string]map[types.UID]bool{}, finished: map[types.UID]bool{}, backoffs: map[string]backoff{},
		}
		a.Keeps(&c.failed)
		c.written = workload.NewConsistency(map[string]workload.Reached{"pods": c.pods.Reached, "jobs": c.jobs.Reached})
		c.queue = a.NewQueue(engine.QueueConfig{Name: "job", Kind: Kind, Workers: workers, Limiter: engine.NewLimiter(retryStart, retryMax, 0, 0),
			Sync: func(p *engine.Process, key string) error { return c.failed.Of(key, c.sync(p, key)) }})
		c.orphans = a.NewQueue(engine.QueueConfig{Name: "job_orphan_pod", Kind: api.Pod, Workers: workers,
			Limiter: engine.NewLimiter(retryStart, retryMax, 0, 0), Sync: c.syncOrphan})
		c.jobs.Handle(engine.Handler[*plain.Object]{
			Add: func(job *plain.Object) { c.queue.Add(api.KeyOf(job)) }, Update: c.jobUpdated, Delete: c.jobDeleted})
		c.pods.Handle(engine.Handler[*corev1.Pod]{Add: c.podAdded, Update: c.podUpdated, Delete: func(pod *corev1.Pod) { c.podDeleted(pod, true) }})
	})
}

// jobUpdated queues a Job: at once if its spec has changed, else with those changes of pods that follow within a second (JOB-010).
func (c *controller) jobUpdated(old, obj *plain.Object) {
	key, job, was := api.KeyOf(obj), plain.Shared[*batchv1.Job](obj), plain.Shared[*batchv1.Job](old)
	if old.UID != obj.UID {
		c.jobDeleted(old)
	}
	switch {
	case isFinished(job):
		c.enqueueLeft(job)
		delete(c.finished, job.UID)
		return
	case obj.Generation == old.Generation:
		c.queue.AddAfter(key, batch)
	default:
		c.queue.Add(key)
	}
	deadline := job.Spec.ActiveDeadlineSeconds
	if start := job.Status.StartTime; start != nil && deadline != nil && (was.Spec.ActiveDeadlineSeconds == nil || *was.Spec.ActiveDeadlineSeconds != *deadline) {
		c.queue.AddInBackground(key, start.Add(time.Duration(*deadline)*time.Second).Sub(c.now()))
	}
}

func (c *controller) jobDeleted(obj *plain.Object) {
	key := api.KeyOf(obj)
	c.written.Forget(key)
	delete(c.finished, obj.UID)
	delete(c.backoffs, key)
	c.enqueueLeft(plain.Shared[*batchv1.Job](obj))
	c.queue.Add(key)
}

// enqueueLeft queues the pods that a Job selects, so that they lose a finalizer that is left (JOB-042).
func (c *controller) enqueueLeft(job *batchv1.Job) {
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		return
	}
	for _, pod := range c.pods.List() {
		if pod.Namespace == job.Namespace && tracked(pod) && selector.Matches(labels.Set(pod.Labels)) {
			c.orphans.Add(api.KeyOf(pod))
		}
	}
}

// owner returns the Job that a controller reference names.
func (c *controller) owner(namespace string, ref *metav1.OwnerReference) (*batchv1.Job, bool) {
	if ref == nil || ref.Kind != kindName {
		return nil, false
	}
	obj, ok := c.jobs.Get(api.Key(namespace, ref.Name))
	if !ok || obj.UID != ref.UID {
		return nil, false
	}
	return plain.Shared[*batchv1.Job](obj), true
}

// podAdded queues the Job of a new pod, or the Jobs that may adopt it.
func (c *controller) podAdded(pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil {
		c.podDeleted(pod, false)
		return
	}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		if job, ok := c.owner(pod.Namespace, ref); ok {
			c.expected.Created(api.KeyOf(job))
			c.queue.AddAfter(api.KeyOf(job), batch)
		}
		return
	}
	c.orphaned(pod, true)
}

// orphaned queues a pod without a controller that has the finalizer, and with adopt the Jobs that select it.
func (c *controller) orphaned(pod *corev1.Pod, adopt bool) {
	if tracked(pod) {
		c.orphans.Add(api.KeyOf(pod))
	}
	if !adopt {
		return
	}
	for _, obj := range c.jobs.List() {
		if obj.Namespace != pod.Namespace {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(plain.Shared[*batchv1.Job](obj).Spec.Selector)
		if err == nil && !selector.Empty() && selector.Matches(labels.Set(pod.Labels)) {
			c.queue.AddAfter(api.KeyOf(obj), batch)
		}
	}
}

func (c *controller) podUpdated(old, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil {
		c.podDeleted(pod, false)
		return
	}
	ref, was := metav1.GetControllerOfNoCopy(pod), metav1.GetControllerOfNoCopy(old)
	moved := (ref == nil) != (was == nil) || ref != nil && ref.UID != was.UID
	notice := func(ref *metav1.OwnerReference) {
		if job, ok := c.owner(pod.Namespace, ref); ok {
			if !tracked(pod) {
				delete(c.released[api.KeyOf(job)], pod.UID)
			}
			c.queue.AddAfter(api.KeyOf(job), batch)
		}
	}
	if moved {
		notice(was)
	}
	if ref != nil {
		notice(ref)
		return
	}
	c.orphaned(pod, moved || !maps.Equal(pod.Labels, old.Labels))
}

// podDeleted counts a deletion: when it begins, and with final when the pod is gone.
func (c *controller) podDeleted(pod *corev1.Pod, final bool) {
	ref := metav1.GetControllerOfNoCopy(pod)
	job, ok := c.owner(pod.Namespace, ref)
	if !ok || isFinished(job) {
		if tracked(pod) && (ref == nil || ref.Kind == kindName || !ok) {
			c.orphans.Add(api.KeyOf(pod))
		}
		return
	}
	key := api.KeyOf(job)
	c.expected.AnyDeleted(key)
	if final || !tracked(pod) {
		delete(c.released[key], pod.UID)
	}
	c.queue.AddAfter(key, batch)
}

// syncOrphan removes the finalizer from a pod whose Job will not do it: it is gone or has finished (JOB-042).
func (c *controller) syncOrphan(p *engine.Process, key string) error {
	pod, ok := c.pods.Get(key)
	if !ok {
		return nil
	}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		if ref.Kind != kindName || ref.APIVersion != apiVersion {
			return nil
		}
		if job, ok := c.owner(pod.Namespace, ref); ok && (!isFinished(job) || managedElsewhere(job)) {
			return nil
		}
	}
	// JOB-042: the pod must not wait for a Job that does not act.
	if err := c.release(p, "", pod); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// tracked reports whether a pod has the finalizer of Jobs.
func tracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

// release removes the finalizer from a pod.
func (c *controller) release(p *engine.Process, key string, pod *corev1.Pod) error {
	if !tracked(pod) {
		return nil
	}
	p.Decide("JOB-040", pod, "the finalizer of its Job is removed")
	patched, err := p.API().Pods.PatchWith(p, api.KeyOf(pod), func(newest *corev1.Pod) error {
		newest.Finalizers = slices.DeleteFunc(slices.Clone(newest.Finalizers), func(name string) bool { return name == batchv1.JobTrackingFinalizer })
		return nil
	}, api.Main)
	if err == nil && key != "" && patched != nil {
		c.written.Wrote(key, "pods", patched)
	}
	return err
}

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
func ensureCondition(job *batchv1.Job, kind batchv1.JobConditionType, status corev1.ConditionStatus, reason, text string, now time.Time) bool {
	c := newCondition(kind, reason, text, now)
	c.Status = status
	was := conditionOf(job, kind)
	switch {
	case was != nil && was.Status == status && was.Reason == reason && was.Message == text, was == nil && status == corev1.ConditionFalse:
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
	// before and done are the completed indexes in the status, and with those of the pods.
	before, done indexes
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
	if name := notSimulated(u.job); name != "" {
		// JOB-090: the outcome would be wrong without that field.
		c.recorder.Event(p, obj, corev1.EventTypeWarning, "NotSimulated", "volsim does not simulate spec.%s; the Job is left alone", name)
		return nil
	}
	return u.run(p)
}

// notSimulated returns the name of a field of the Job that the controller does not implement, or "".
func notSimulated(job *batchv1.Job) string {
	switch {
	case job.Spec.PodFailurePolicy != nil:
		return "podFailurePolicy"
	case job.Spec.SuccessPolicy != nil:
		return "successPolicy"
	case job.Spec.BackoffLimitPerIndex != nil:
		return "backoffLimitPerIndex"
	}
	return ""
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

// onlyFailed reports whether a pod is replaced only when it has ended (JOB-023).
func (u *update) onlyFailed() bool {
	return u.job.Spec.PodReplacementPolicy != nil && *u.job.Spec.PodReplacementPolicy == batchv1.Failed
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
	u.failed = st.Failed + int32(len(newFailed)+len(u.uncounted.failed))
	if st.StartTime == nil && !suspended(u.job) {
		st.StartTime = new(metav1.NewTime(p.Now()))
	}
	u.backoff = u.backoffs[u.key].with(newSucceeded, newFailed)
	u.findEnd(p)
	if u.indexed() {
		u.before, u.done = u.completed()
		u.succeeded = int32(u.done.total())
	}
	changed, failed := u.act(p, met)
	if err := u.track(p, changed); err != nil {
		return fmt.Errorf("tracking status: %w", err)
	}
	return failed
}

// findEnd sets the condition with which the Job ends if it already has one, or has failed (JOB-050).
func (u *update) findEnd(p *engine.Process) {
	now := p.Now()
	spec := &u.job.Spec
	switch target := conditionOf(u.job, batchv1.JobFailureTarget); {
	case isTrue(u.job, batchv1.JobSuccessCriteriaMet):
		u.end = conditionOf(u.job, batchv1.JobSuccessCriteriaMet).DeepCopy()
	case target != nil && target.Status == corev1.ConditionTrue:
		u.end = newCondition(batchv1.JobFailed, target.Reason, target.Message, now)
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
		if !ensureCondition(u.job, batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended", now) {
			return false
		}
		u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "Suspended", "Job suspended")
		u.job.Status.StartTime = nil
		return true
	}
	if !ensureCondition(u.job, batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed", now) {
		return false
	}
	u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "Resumed", "Job resumed")
	u.job.Status.StartTime = new(metav1.NewTime(now))
	return true
}
