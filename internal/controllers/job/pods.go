package job

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/parallel"
)

// manage creates the pods that are missing, or deletes those that are too many (JOB-020). It returns the number of active pods afterwards.
func (u *update) manage(p *engine.Process) (int32, error) {
	active := int32(len(u.active))
	want := *u.job.Spec.Parallelism
	switch completions := u.job.Spec.Completions; {
	case suspended(u.job):
		// JOB-024: a suspended Job has no pods.
		want = 0
	case completions != nil:
		// JOB-020: never more pods than completions that are missing.
		want = max(min(want, *completions-u.succeeded), 0)
	case u.succeeded > 0:
		want = active
	}
	surplus := u.surplus(int(max(active-want, 0)))
	if len(surplus) > 0 || suspended(u.job) {
		if !suspended(u.job) {
			surplus = surplus[:min(len(surplus), burst)]
		}
		u.expected.Set(u.key, 0, len(surplus), p.Now())
		removedReady, removed, err := u.delete(p, surplus, true)
		u.terminating, u.ready = u.terminating+removed, u.ready-removedReady
		return active - removed, err
	}
	missing := want - active
	if u.onlyFailed() {
		// JOB-023: with podReplacementPolicy Failed a pod that is being deleted has no successor yet.
		missing -= u.terminating
	}
	if missing <= 0 {
		return active, nil
	}
	wait, n, todo := time.Duration(0), int(min(missing, burst)), []int(nil)
	if !u.perIndex() {
		// JOB-022: after failures new pods wait.
		wait = u.backoff.left(p.Now())
	}
	if wait == 0 && u.indexed() {
		todo = u.pending(n)
		if u.perIndex() {
			todo, wait = u.due(todo, p.Now())
		}
		n = len(todo)
	}
	if wait > 0 {
		u.queue.AddAfter(u.key, max(wait, batch))
		return active, nil
	}
	return u.create(p, active, n, todo)
}

// create creates n pods, of an indexed Job those of the indexes.
func (u *update) create(p *engine.Process, active int32, n int, todo []int) (int32, error) {
	p.Decide("JOB-020", u.obj, "%d pods are missing", n)
	u.expected.Set(u.key, n, 0, p.Now())
	tried, created := 0, int32(0)
	_, errs := workload.SlowStart(p, "job pods", n, 0, func(p *engine.Process, i int) error {
		tried++
		index := noIndex
		if u.indexed() {
			index = todo[i]
		}
		pod, err := p.API().Pods.Add(p, u.newPod(index))
		switch {
		case err == nil:
			created++
			u.written.Wrote(u.key, "pods", pod)
			// JOB-060: Events name the pods.
			u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %s", pod.Name)
		case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			// JOB-025: in a namespace that is being deleted every creation fails, and none is retried.
			created++
			return nil
		default:
			u.expected.Created(u.key)
			u.recorder.Event(p, u.obj, corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
		}
		return err
	})
	for range n - tried {
		u.expected.Created(u.key)
	}
	return active + created, workload.First(errs)
}

// newPod returns a pod of the Job (JOB-002).
func (u *update) newPod(index int) *corev1.Pod {
	template := u.job.Spec.Template.DeepCopy()
	if !slices.Contains(template.Finalizers, batchv1.JobTrackingFinalizer) {
		template.Finalizers = append(template.Finalizers, batchv1.JobTrackingFinalizer)
	}
	if !u.indexed() {
		return workload.FromTemplate(template, u.job, u.ref)
	}
	// JOB-031: the index is an annotation, a label, an environment variable, and part of name and hostname.
	for _, list := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range list {
			if !slices.ContainsFunc(list[i].Env, func(v corev1.EnvVar) bool { return v.Name == indexVariable }) {
				list[i].Env = append(list[i].Env, corev1.EnvVar{Name: indexVariable, ValueFrom: &corev1.EnvVarSource{
					FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + batchv1.JobCompletionIndexAnnotation + "']"}}})
			}
		}
	}
	pod := workload.FromTemplate(template, u.job, u.ref)
	text := strconv.Itoa(index)
	pod.Annotations[batchv1.JobCompletionIndexAnnotation], pod.Labels[batchv1.JobCompletionIndexAnnotation] = text, text
	if u.perIndex() {
		u.countFailures(pod.Annotations, index)
	}
	pod.Spec.Hostname = u.job.Name + "-" + text
	suffix := "-" + text + "-"
	pod.GenerateName = u.job.Name[:min(len(u.job.Name), maxGeneratedName-len(suffix))] + suffix
	return pod
}

const (
	indexVariable = "JOB_COMPLETION_INDEX"
	// maxGeneratedName is the length of a prefix for generated names.
	maxGeneratedName = 58
)

// delete deletes pods. With release it removes their finalizer first; else that happens when they are counted. It returns how many were
// deleted, and how many of these were ready.
func (u *update) delete(p *engine.Process, pods []*corev1.Pod, release bool) (ready, deleted int32, failed error) {
	var errs []error
	parallel.Do(p, "job pods", len(pods), len(pods), func(p *engine.Process, i int) {
		pod := pods[i]
		fail := func(err error) {
			if release {
				u.expected.AnyDeleted(u.key)
			}
			if apierrors.IsNotFound(err) {
				deleted++
			} else {
				errs = append(errs, err)
			}
		}
		if release {
			if err := u.controller.release(p, u.key, pod); err != nil {
				fail(fmt.Errorf("removing completion finalizer: %w", err))
				return
			}
		}
		p.Decide("JOB-021", pod, "Job %s has no use for the pod", u.job.Name)
		_, err := p.API().Pods.Delete(p, api.KeyOf(pod), api.DeleteOptions{})
		switch {
		case err == nil:
			deleted++
			u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", pod.Name)
		case !apierrors.IsNotFound(err):
			u.recorder.Event(p, u.obj, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
			fail(fmt.Errorf("unable to delete pods: %w", err))
		default:
			fail(err)
		}
		if workload.Ready(pod) != nil {
			ready++
		}
	})
	return ready, deleted, workload.First(errs)
}

// surplus returns at least n active pods to delete: of an indexed Job those without a valid index or with one that another pod has, then
// those that are least advanced (JOB-021).
func (u *update) surplus(n int) []*corev1.Pod {
	left := slices.Clone(u.active)
	var remove []*corev1.Pod
	if u.indexed() {
		groups := map[int][]*corev1.Pod{}
		left = nil
		for _, pod := range u.active {
			index := indexOf(pod)
			groups[index] = append(groups[index], pod)
		}
		for _, index := range sortedIndexes(groups) {
			pods := groups[index]
			if !u.valid(index) {
				remove = append(remove, pods...)
				continue
			}
			slices.SortStableFunc(pods, leastAdvanced)
			remove = append(remove, pods[:len(pods)-1]...)
			left = append(left, pods[len(pods)-1])
		}
	}
	if len(remove) < n {
		slices.SortStableFunc(left, leastAdvanced)
		remove = append(remove, left[:n-len(remove)]...)
	}
	return remove
}

// leastAdvanced compares pods: without a node, pending, not ready, ready for a shorter time, with more restarts, younger ones first.
func leastAdvanced(a, b *corev1.Pod) int {
	first := func(yes, other bool) int {
		switch {
		case yes == other:
			return 0
		case yes:
			return -1
		}
		return 1
	}
	phase := map[corev1.PodPhase]int{corev1.PodPending: 0, corev1.PodUnknown: 1, corev1.PodRunning: 2}
	readyA, readyB := workload.Ready(a), workload.Ready(b)
	if c := cmp.Or(first(a.Spec.NodeName == "", b.Spec.NodeName == ""), cmp.Compare(phase[a.Status.Phase], phase[b.Status.Phase]),
		first(readyA == nil, readyB == nil)); c != 0 {
		return c
	}
	if readyA != nil && readyB != nil {
		if c := readyB.LastTransitionTime.Compare(readyA.LastTransitionTime.Time); c != 0 {
			return c
		}
	}
	restarts := func(pod *corev1.Pod) (n int32) {
		for _, status := range pod.Status.ContainerStatuses {
			n = max(n, status.RestartCount)
		}
		return n
	}
	return cmp.Or(cmp.Compare(restarts(b), restarts(a)), b.CreationTimestamp.Compare(a.CreationTimestamp.Time))
}

// backoff counts the failures of a Job since its last success (JOB-022).
type backoff struct {
	failures int32
	last     time.Time
}

const (
	firstBackoff = 10 * time.Second
	maxBackoff   = 10 * time.Minute
)

// with returns the record with pods that ended.
func (b backoff) with(succeeded, failed []*corev1.Pod) backoff {
	if len(succeeded) == 0 && len(failed) == 0 {
		return b
	}
	byEnd := func(a, b *corev1.Pod) int { return endOf(a).Compare(endOf(b)) }
	slices.SortStableFunc(failed, byEnd)
	if len(succeeded) == 0 {
		return backoff{b.failures + int32(len(failed)), endOf(failed[len(failed)-1])}
	}
	success := endOf(slices.MaxFunc(succeeded, byEnd))
	next := backoff{}
	for _, pod := range slices.Backward(failed) {
		end := endOf(pod)
		if !end.After(success) {
			break
		}
		if next.failures == 0 {
			next.last = end
		}
		next.failures++
	}
	return next
}

// left returns how long new pods must wait: 10 seconds after the first failure, and twice as long after each further one.
func (b backoff) left(now time.Time) time.Duration {
	if b.failures == 0 {
		return 0
	}
	pause := firstBackoff
	for range b.failures - 1 {
		if pause *= 2; pause >= maxBackoff {
			pause = maxBackoff
			break
		}
	}
	return max(pause-now.Sub(b.last), 0)
}

// endOf returns when a pod ended: by its containers, its readiness, its deletion, or else its creation.
func endOf(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Terminated == nil || status.State.Terminated.FinishedAt.IsZero() {
			last = time.Time{}
			break
		}
		if end := status.State.Terminated.FinishedAt.Time; end.After(last) {
			last = end
		}
	}
	if !last.IsZero() {
		return last
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	if pod.DeletionTimestamp != nil {
		grace := int64(0)
		if pod.DeletionGracePeriodSeconds != nil {
			grace = *pod.DeletionGracePeriodSeconds
		}
		return pod.DeletionTimestamp.Add(-time.Duration(grace) * time.Second)
	}
	return pod.CreationTimestamp.Time
}
