package statefulset

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// run updates the pods, the status and the history of a set.
func (u *update) run(p *engine.Process, pods []*corev1.Pod, selector labels.Selector) (*appsv1.StatefulSetStatus, error) {
	revisions := u.revisions.List(u.set, selector)
	current, next, status, err := u.apply(p, pods, revisions)
	truncated := u.truncate(p, pods, revisions, current, next)
	if err != nil {
		return nil, workload.Aggregate([]error{err, truncated})
	}
	return status, truncated
}

func (u *update) apply(p *engine.Process, pods []*corev1.Pod, revisions []*appsv1.ControllerRevision) (
	current, next *appsv1.ControllerRevision, status *appsv1.StatefulSetStatus, err error) {
	current, next, collisions, err := u.findRevisions(p, revisions)
	if err != nil {
		return nil, nil, nil, err
	}
	s := &state{update: u, current: current, next: next}
	if s.oldTemplate, err = workload.TemplateOf(current); err != nil {
		return current, next, nil, err
	}
	if s.newTemplate, err = workload.TemplateOf(next); err != nil {
		return current, next, nil, err
	}
	s.status = appsv1.StatefulSetStatus{
		ObservedGeneration: u.set.Generation, CurrentRevision: current.Name, UpdateRevision: next.Name, CollisionCount: &collisions,
	}
	err = s.reconcile(p, pods)
	if failed := s.writeStatus(p); err == nil {
		err = failed
	}
	return current, next, &s.status, err
}

// findRevisions returns the revision of the pods that are not updated yet, and that of the template. It creates the latter, or renumbers an
// earlier one with the same content (STS-041).
func (u *update) findRevisions(p *engine.Process, revisions []*appsv1.ControllerRevision) (
	current, next *appsv1.ControllerRevision, collisions int32, err error) {
	if u.set.Status.CollisionCount != nil {
		collisions = *u.set.Status.CollisionCount
	}
	number, n := int64(1), len(revisions)
	if n > 0 {
		number = revisions[n-1].Revision + 1
	}
	next, err = workload.NewRevision(u.set, u.ref, &u.set.Spec.Template, number, &collisions)
	if err != nil {
		return nil, nil, collisions, err
	}
	var same []*appsv1.ControllerRevision
	for _, r := range revisions {
		if workload.SameRevision(r, next) {
			same = append(same, r)
		}
	}
	switch {
	case len(same) > 0 && workload.SameRevision(revisions[n-1], same[len(same)-1]):
		next = revisions[n-1]
	case len(same) > 0:
		// STS-041: a rollback renumbers the earlier revision.
		next, err = u.revisions.Renumber(p, same[len(same)-1], number)
	case n > 0 && workload.Restates(revisions[n-1], next):
		next = revisions[n-1]
	default:
		// STS-041: a new template is a new revision.
		next, err = u.revisions.Create(p, u.set, next, &collisions)
	}
	if err != nil {
		return nil, nil, collisions, err
	}
	for _, r := range revisions {
		if r.Name == u.set.Status.CurrentRevision {
			current = r
			break
		}
	}
	if current == nil {
		current = next
	}
	return current, next, collisions, nil
}

// truncate deletes old revisions that no pod has (STS-042).
func (u *update) truncate(p *engine.Process, pods []*corev1.Pod, revisions []*appsv1.ControllerRevision, live ...*appsv1.ControllerRevision) error {
	var unused []*appsv1.ControllerRevision
	for _, r := range revisions {
		used := slices.ContainsFunc(live, func(l *appsv1.ControllerRevision) bool { return l != nil && l.Name == r.Name }) ||
			slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return revisionOf(pod) == r.Name })
		if !used {
			unused = append(unused, r)
		}
	}
	limit := 10
	if u.set.Spec.RevisionHistoryLimit != nil {
		limit = int(*u.set.Spec.RevisionHistoryLimit)
	}
	// STS-042: a negative limit retains all.
	if limit < 0 || len(unused) <= limit {
		return nil
	}
	for _, r := range unused[:len(unused)-limit] {
		if err := u.revisions.Delete(p, r); err != nil {
			return err
		}
	}
	return nil
}

func revisionOf(pod *corev1.Pod) string { return pod.Labels[appsv1.StatefulSetRevisionLabel] }

// state is the state of the pods of a set during a sync.
type state struct {
	*update
	current, next            *appsv1.ControllerRevision
	oldTemplate, newTemplate *corev1.PodTemplateSpec
	status                   appsv1.StatefulSetStatus
	// replicas are the pods that the set wants, by ordinal; one that does not exist has no phase. condemned are the others, the last first.
	replicas, condemned []*corev1.Pod
}

func created(pod *corev1.Pod) bool { return pod.Status.Phase != "" }

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

func ready(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && workload.Ready(pod) != nil
}

func (s *state) available(pod *corev1.Pod) bool {
	return workload.Available(pod, s.set.Spec.MinReadySeconds, s.now)
}

func (s *state) unavailable(pod *corev1.Pod) bool {
	return !s.available(pod) || pod.DeletionTimestamp != nil
}

// count sets the numbers in the status (STS-050).
func (s *state) count(lists ...[]*corev1.Pod) {
	st := &s.status
	st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.CurrentReplicas, st.UpdatedReplicas = 0, 0, 0, 0, 0
	for _, list := range lists {
		for _, pod := range list {
			if !created(pod) {
				continue
			}
			st.Replicas++
			if ready(pod) {
				st.ReadyReplicas++
				if s.available(pod) {
					st.AvailableReplicas++
				}
			}
			if pod.DeletionTimestamp != nil {
				continue
			}
			if revisionOf(pod) == s.current.Name {
				st.CurrentReplicas++
			}
			if revisionOf(pod) == s.next.Name {
				st.UpdatedReplicas++
			}
		}
	}
}

// reconcile creates, corrects and deletes pods (STS-020).
func (s *state) reconcile(p *engine.Process, pods []*corev1.Pod) error {
	s.count(pods)
	s.sort(pods)
	if s.set.DeletionTimestamp != nil {
		// STS-026: a set that is being deleted only gets its status.
		return nil
	}
	parallel := s.set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement
	first := s.firstUnavailable()
	steps := []struct {
		pods []*corev1.Pod
		fn   func(p *engine.Process, i int) (stop bool, err error)
	}{
		{s.replicas, func(p *engine.Process, i int) (bool, error) { return s.processReplica(p, i, !parallel) }},
		{s.condemned, func(p *engine.Process, i int) (bool, error) {
			if s.ownersOK(s.condemned[i]) {
				return false, nil
			}
			err := s.updateOwners(p, s.set, s.condemned[i])
			return err != nil, err
		}},
		{s.condemned, func(p *engine.Process, i int) (bool, error) {
			return s.processCondemned(p, s.condemned[i], first, !parallel)
		}},
	}
	for _, step := range steps {
		stop, err := forAll(p, len(step.pods), parallel, step.fn)
		if stop || err != nil {
			s.count(s.replicas, s.condemned)
			return err
		}
	}
	s.count(s.replicas, s.condemned)
	return s.roll(p)
}

// forAll calls fn for each pod: one after the other until one stops it, or, in parallel, in growing batches.
func forAll(p *engine.Process, n int, parallel bool, fn func(p *engine.Process, i int) (bool, error)) (bool, error) {
	if parallel {
		_, errs := workload.SlowStart(p, "statefulset pods", n, 500, func(p *engine.Process, i int) error {
			_, err := fn(p, i)
			return err
		})
		return len(errs) > 0, workload.Aggregate(errs)
	}
	for i := range n {
		if stop, err := fn(p, i); stop || err != nil {
			return true, err
		}
	}
	return false, nil
}

// sort splits the pods into replicas and condemned ones, and adds the replicas that do not exist.
func (s *state) sort(pods []*corev1.Pod) {
	s.replicas = make([]*corev1.Pod, replicas(s.set))
	for _, pod := range pods {
		switch ordinal := ordinalOf(pod); {
		case inRange(s.set, ordinal):
			s.replicas[ordinal-start(s.set)] = pod
		case ordinal >= 0:
			s.condemned = append(s.condemned, pod)
		}
	}
	for i := range s.replicas {
		if s.replicas[i] == nil {
			s.replicas[i] = s.missing(start(s.set) + i)
		}
	}
	slices.SortStableFunc(s.condemned, func(a, b *corev1.Pod) int { return ordinalOf(b) - ordinalOf(a) })
}

// missing returns the pod of an ordinal that does not exist, at the revision that it should have (STS-043).
func (s *state) missing(ordinal int) *corev1.Pod {
	strategy := s.set.Spec.UpdateStrategy
	old := false
	if strategy.RollingUpdate == nil {
		old = strategy.Type == appsv1.RollingUpdateStatefulSetStrategyType && ordinal < start(s.set)+int(s.set.Status.CurrentReplicas)
	} else {
		// STS-043: ordinals below the partition have the old revision.
		old = ordinal < start(s.set)+partition(s.set)
	}
	if old {
		return s.newPod(s.oldTemplate, s.current.Name, ordinal)
	}
	return s.newPod(s.newTemplate, s.next.Name, ordinal)
}

func partition(set *appsv1.StatefulSet) int {
	if r := set.Spec.UpdateStrategy.RollingUpdate; r != nil && r.Partition != nil {
		return int(*r.Partition)
	}
	return 0
}

// firstUnavailable returns the first pod by ordinal that is not available, or nil: condemned pods count after the replicas.
func (s *state) firstUnavailable() *corev1.Pod {
	for _, pod := range s.replicas {
		if s.unavailable(pod) {
			return pod
		}
	}
	for _, pod := range slices.Backward(s.condemned) {
		if s.unavailable(pod) {
			return pod
		}
	}
	return nil
}

// processReplica creates or corrects one pod. It reports whether the pods after it must wait (STS-020).
func (s *state) processReplica(p *engine.Process, i int, ordered bool) (bool, error) {
	pod := s.replicas[i]
	if ended(pod) {
		// STS-023: an ended pod is replaced after its deletion.
		if pod.DeletionTimestamp == nil {
			return true, s.deletePod(p, "the pod has ended and is replaced (STS-023)", pod)
		}
		return true, nil
	}
	if !created(pod) {
		// STS-033: the claim of the pod before it must go first.
		if s.blockedByClaim(pod) {
			return true, nil
		}
		if err := s.createPod(p, s.set, pod); err != nil {
			return true, err
		}
		if ordered {
			return true, nil
		}
	}
	if pod.Status.Phase == corev1.PodPending {
		// STS-024: missing claims of a pending pod are created.
		if err := s.createMissingClaims(p, s.set, pod); err != nil {
			return true, err
		}
	}
	if ordered && (pod.DeletionTimestamp != nil || !ready(pod) || !s.available(pod)) {
		// STS-022: pods after it wait, even for one that never ends.
		return true, nil
	}
	if identified(s.set, pod) && mountsClaims(s.set, pod) && s.ownersOK(pod) {
		return false, nil
	}
	err := s.correct(p, pod)
	return err != nil, err
}

// processCondemned deletes a surplus pod. It reports whether those before it must wait (STS-027).
func (s *state) processCondemned(p *engine.Process, pod, firstUnavailable *corev1.Pod, ordered bool) (bool, error) {
	switch {
	case pod.DeletionTimestamp != nil:
		return ordered, nil
	case ordered && (!ready(pod) || !s.available(pod)) && pod != firstUnavailable:
		// STS-027: an unavailable pod other than the first one blocks scaling down.
		return true, nil
	}
	return true, s.deletePod(p, "the set has too many pods (STS-027)", pod)
}

// roll deletes the last pod of an old revision if all pods after it are available (STS-040).
func (s *state) roll(p *engine.Process) error {
	if s.set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		// STS-044: the user deletes the pods.
		return nil
	}
	for i := len(s.replicas) - 1; i >= partition(s.set); i-- {
		pod := s.replicas[i]
		if revisionOf(pod) != s.next.Name && pod.DeletionTimestamp == nil {
			// STS-040: the pod is created again at the new revision.
			if err := s.deletePod(p, fmt.Sprintf("the pod has not revision %s (STS-040)", s.next.Name), pod); err != nil {
				return err
			}
			s.status.CurrentReplicas--
			return nil
		}
		if s.unavailable(pod) {
			return nil
		}
	}
	return nil
}

// writeStatus writes the status if it has changed (STS-050).
func (s *state) writeStatus(p *engine.Process) error {
	status, set := &s.status, s.set
	n := int32(replicas(set))
	// STS-045: when all pods are updated and ready, the new revision becomes the current one.
	if set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType &&
		status.UpdatedReplicas == n && status.ReadyReplicas == n && status.Replicas == n {
		status.CurrentReplicas, status.CurrentRevision = status.UpdatedReplicas, status.UpdateRevision
	}
	was := &set.Status
	if status.ObservedGeneration <= was.ObservedGeneration && status.Replicas == was.Replicas && status.CurrentReplicas == was.CurrentReplicas &&
		status.ReadyReplicas == was.ReadyReplicas && status.UpdatedReplicas == was.UpdatedReplicas &&
		status.AvailableReplicas == was.AvailableReplicas && status.CurrentRevision == was.CurrentRevision && status.UpdateRevision == was.UpdateRevision {
		return nil
	}
	for attempt := 1; ; attempt++ {
		c := set.DeepCopy()
		c.APIVersion, c.Kind, c.Status = apiVersion, kindName, *status
		updated, err := p.API().Update(p, c, api.Status, store.UpdateOptions{})
		if err == nil {
			s.written.Wrote(s.key, "statefulsets", updated)
			return nil
		}
		// STS-052: a conflict is repeated soon.
		if !apierrors.IsConflict(err) || attempt == statusAttempts {
			return err
		}
		if cached, ok := s.sets.Get(s.key); ok {
			set = plain.Shared[*appsv1.StatefulSet](cached)
		}
		p.Sleep(statusPause)
	}
}

// The attempts to write the status after conflicts, and the pause between them (STS-052).
const (
	statusAttempts = 5
	statusPause    = 10 * time.Millisecond
)
