package daemonset

import (
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/parallel"
)

// generationLabel is the label of a pod with the number of the template.
const generationLabel = "pod-template-generation"

// backoff is the pause after the deletion of a failed pod (DS-024).
type backoff struct {
	pause time.Duration
	since time.Time
}

const (
	firstBackoff = time.Second
	maxBackoff   = 15 * time.Minute
)

// manage gives each node its pod (DS-020).
func (u *update) manage(p *engine.Process) error {
	byNode, err := u.podsByNode(p, false)
	if err != nil {
		return err
	}
	var missing []string
	var surplus []*corev1.Pod
	for _, node := range u.nodes {
		create, remove := u.place(p, node, byNode[node.Name])
		if create {
			missing = append(missing, node.Name)
		}
		surplus = append(surplus, remove...)
	}
	// DS-023: pods for nodes that do not exist are never bound, and pod garbage collection does not see them.
	for _, name := range slices.Sorted(maps.Keys(byNode)) {
		if slices.ContainsFunc(u.nodes, func(node *corev1.Node) bool { return node.Name == name }) {
			continue
		}
		for _, pod := range byNode[name] {
			if pod.Spec.NodeName == "" {
				surplus = append(surplus, pod)
			}
		}
	}
	return u.apply(p, missing, surplus)
}

// place reports whether a node needs a pod, and which of its pods must go (DS-020).
func (u *update) place(p *engine.Process, node *corev1.Node, pods []*corev1.Pod) (create bool, remove []*corev1.Pod) {
	run, stay := admits(u.set, node)
	switch {
	case run && len(pods) == 0:
		return true, nil
	case !stay:
		// DS-022: pods on a node that no longer admits them are deleted.
		return false, slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	}
	var running []*corev1.Pod
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil:
		case pod.Status.Phase == corev1.PodFailed:
			// DS-024: a failed pod is deleted, with a pause that grows.
			if !u.mayReplace(node.Name, p.Now()) {
				continue
			}
			u.recorder.Event(p, u.obj, corev1.EventTypeWarning, "FailedDaemonPod", "Found failed daemon pod %s/%s on node %s, will try to kill it",
				pod.Namespace, pod.Name, node.Name)
			remove = append(remove, pod)
		case pod.Status.Phase == corev1.PodSucceeded:
			u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "SucceededDaemonPod", "Found succeeded daemon pod %s/%s on node %s, will try to delete it",
				pod.Namespace, pod.Name, node.Name)
			remove = append(remove, pod)
		default:
			running = append(running, pod)
		}
	}
	byAge(running)
	switch surge := u.surge(1) > 0; {
	case !surge && len(running) > 1:
		// DS-020: the oldest of several pods stays.
		return false, append(remove, running[1:]...)
	case surge && len(running) == 0:
		return run, remove
	case surge && len(running) > 1:
		return false, append(remove, u.replaced(p, running)...)
	}
	return false, remove
}

// replaced returns the pods of a node that must go during an update with surge: all but the oldest of the new template and the oldest other
// one, and that too if the new one is available or the old one is not ready (DS-042).
func (u *update) replaced(p *engine.Process, running []*corev1.Pod) (remove []*corev1.Pod) {
	var newPod, oldPod *corev1.Pod
	for _, pod := range running {
		switch isNew := pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == u.hash; {
		case isNew && newPod == nil:
			newPod = pod
		case !isNew && oldPod == nil:
			oldPod = pod
		default:
			remove = append(remove, pod)
		}
	}
	// DS-042: with both, the old pod stays only while it is ready and the new one is not available.
	if newPod != nil && oldPod != nil && (workload.Ready(oldPod) == nil || u.available(p, newPod)) {
		remove = append(remove, oldPod)
	}
	return remove
}

// mayReplace reports whether a failed pod of a node may be deleted now. If not, the set is queued for later.
func (u *update) mayReplace(node string, now time.Time) bool {
	key := fmt.Sprintf("%s/%d/%s", u.set.UID, u.set.Status.ObservedGeneration, node)
	b := u.backoffs[key]
	switch {
	case b == nil || now.Sub(b.since) > 2*maxBackoff:
		u.backoffs[key] = &backoff{firstBackoff, now}
	case now.Sub(b.since) < b.pause:
		u.queue.AddAfter(u.key, b.pause)
		return false
	default:
		b.pause, b.since = min(2*b.pause, maxBackoff), now
	}
	return true
}

// apply creates pods on nodes and deletes pods (DS-021).
func (u *update) apply(p *engine.Process, missing []string, surplus []*corev1.Pod) error {
	missing, surplus = missing[:min(len(missing), burst)], surplus[:min(len(surplus), burst)]
	u.expected.Set(u.key, len(missing), len(surplus), p.Now())
	tried := 0
	_, errs := workload.SlowStart(p, "daemonset pods", len(missing), 0, func(p *engine.Process, i int) error {
		tried++
		return u.create(p, missing[i])
	})
	for range len(missing) - tried {
		u.expected.Created(u.key)
	}
	parallel.Do(p, "daemonset pods", len(surplus), len(surplus), func(p *engine.Process, i int) {
		if err := u.delete(p, surplus[i]); err != nil {
			errs = append(errs, err)
		}
	})
	return workload.Aggregate(errs)
}

// create creates the pod of a node.
func (u *update) create(p *engine.Process, node string) error {
	template := u.set.Spec.Template.DeepCopy()
	template.Spec.Tolerations = tolerations(&template.Spec)
	template.Spec.Affinity = onNode(template.Spec.Affinity, node)
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	// DS-003: the labels name template and revision.
	if generation := generationOf(u.set); generation != "" {
		template.Labels[generationLabel] = generation
	}
	template.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = u.hash
	p.Decide("DS-020", u.obj, "node %s has no pod", node)
	pod, err := p.API().Pods.Add(p, workload.FromTemplate(template, u.set, u.ref))
	switch {
	case err == nil:
		u.written.Wrote(u.key, "pods", pod)
		// DS-051: Events name the pods.
		u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %s", pod.Name)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		// DS-025: in a namespace that is being deleted every creation fails, and none is retried.
		return nil
	default:
		u.expected.Created(u.key)
		u.recorder.Event(p, u.obj, corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
	}
	return err
}

func (u *update) delete(p *engine.Process, pod *corev1.Pod) error {
	p.Decide("DS-020", pod, "set %s removes or replaces the pod", u.set.Name)
	_, err := p.API().Pods.Delete(p, api.KeyOf(pod), api.DeleteOptions{})
	if err == nil {
		u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", pod.Name)
		return nil
	}
	u.expected.AnyDeleted(u.key)
	if apierrors.IsNotFound(err) {
		return nil
	}
	u.recorder.Event(p, u.obj, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
	return fmt.Errorf("unable to delete pods: %w", err)
}

func (u *update) available(p *engine.Process, pod *corev1.Pod) bool {
	return workload.Available(pod, u.set.Spec.MinReadySeconds, p.Now())
}
