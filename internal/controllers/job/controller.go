package job

import (
	"maps"
	"slices"
	"strings"
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
	jobs    engine.Informer[*plain.Object]
	pods    engine.Informer[*corev1.Pod]
	byOwner store.Index[*corev1.Pod]
	queue   *engine.Queue
	// orphans are keys of pods whose Job may not release them, and selectors of Jobs that have left pods behind (leftKey).
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
func New(e *engine.Engine, jobs store.Table[*plain.Object]) (*engine.Actor, error) {
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

// leftSeparator separates the namespace and the selector in a key of the queue of orphans. No key of a pod contains it.
const leftSeparator = "//"

// enqueueLeft queues the selector of a Job, so that pods which it has left behind lose the finalizer (JOB-042, JOB-043).
func (c *controller) enqueueLeft(job *batchv1.Job) {
	if selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector); err == nil {
		c.orphans.Add(job.Namespace + leftSeparator + selector.String())
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
	c.orphaned(pod)
	c.enqueueSelecting(pod)
}

// orphaned queues a pod without a controller that has the finalizer.
func (c *controller) orphaned(pod *corev1.Pod) {
	if tracked(pod) {
		c.orphans.Add(api.KeyOf(pod))
	}
}

// enqueueSelecting queues the Jobs whose selectors match a pod without a controller.
func (c *controller) enqueueSelecting(pod *corev1.Pod) {
	selectorOf := func(job *plain.Object) *metav1.LabelSelector { return plain.Shared[*batchv1.Job](job).Spec.Selector }
	workload.Selecting(c.jobs.List(), pod, selectorOf, func(key string) { c.queue.AddAfter(key, batch) })
}

func (c *controller) podUpdated(old, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil {
		c.podDeleted(pod, false)
		return
	}
	ref, was := metav1.GetControllerOfNoCopy(pod), metav1.GetControllerOfNoCopy(old)
	moved := !workload.SameController(ref, was)
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
	c.orphaned(pod)
	if moved || !maps.Equal(pod.Labels, old.Labels) {
		c.enqueueSelecting(pod)
	}
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

// syncOrphan releases a pod, or the pods that a Job has left behind.
func (c *controller) syncOrphan(p *engine.Process, key string) error {
	if namespace, text, ok := strings.Cut(key, leftSeparator); ok {
		return c.syncLeft(p, namespace, text)
	}
	pod, ok := c.pods.Get(key)
	if !ok {
		return nil
	}
	return c.releaseOrphan(p, pod)
}

// syncLeft releases the pods that a selector selects, one after the other.
func (c *controller) syncLeft(p *engine.Process, namespace, text string) error {
	selector, err := labels.Parse(text)
	if err != nil {
		return err
	}
	for _, pod := range c.pods.List() {
		if pod.Namespace == namespace && selector.Matches(labels.Set(pod.Labels)) {
			p.WorksOn(pod)
			// JOB-043: a failure is not repeated.
			_ = c.releaseOrphan(p, pod)
		}
	}
	return nil
}

// releaseOrphan removes the finalizer from a pod whose Job will not do it: it is gone or has finished (JOB-042).
func (c *controller) releaseOrphan(p *engine.Process, pod *corev1.Pod) error {
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
