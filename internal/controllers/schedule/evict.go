package schedule

import (
	"errors"
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/parallel"
)

// errCanceled is the error of an eviction that stops because that of another victim failed.
var errCanceled = errors.New("context canceled")

// startEviction evicts the victims in the background. Those that are terminating already need nothing.
func (s *scheduler) startEviction(pod *corev1.Pod, e *eviction) {
	victims := slices.DeleteFunc(slices.Clone(e.victims), func(victim *corev1.Pod) bool { return victim.DeletionTimestamp != nil })
	if len(victims) == 0 {
		return
	}
	if s.evicting == nil {
		s.evicting = map[types.UID]string{}
	}
	s.evicting[pod.UID] = ""
	s.actor.Go("preemption for "+api.KeyOf(pod), func(p *engine.Process) { s.evict(p, pod, e.node, victims) })
}

// isEvicting reports whether pods are being evicted for the pod, which is not tried meanwhile. That ends when the last victim is marked for
// deletion, even if the answer to the request is still to come (SCHED-315).
func (s *scheduler) isEvicting(pod *corev1.Pod) bool {
	last, ok := s.evicting[pod.UID]
	if !ok || last == "" {
		return ok
	}
	victim, exists := s.inf.pods.Get(last)
	return exists && victim.DeletionTimestamp == nil
}

// evict takes the nomination from pods that look for another node now, and then deletes the victims: the last one after all others. After an
// error the rest stays, and the pod is tried again (SCHED-243).
func (s *scheduler) evict(p *engine.Process, pod *corev1.Pod, node string, victims []*corev1.Pod) {
	for _, other := range s.nominated.on(node) {
		// SCHED-314: an error does not matter.
		if priorityOf(other) < priorityOf(pod) {
			_, _ = s.patchStatus(p, other, nil, new(""))
		}
	}
	last := len(victims) - 1
	err := s.evictPods(p, pod, victims[:last], node)
	if err == nil {
		s.evicting[pod.UID] = api.KeyOf(victims[last])
		err = s.evictPods(p, pod, victims[last:], node)
	}
	delete(s.evicting, pod.UID)
	if err != nil {
		s.queue.activate(api.KeyOf(pod))
	}
}

// evictPods evicts several victims at the same time. After an error it sends no further request, and returns the error. A victim that is gone
// is none.
func (s *scheduler) evictPods(p *engine.Process, pod *corev1.Pod, victims []*corev1.Pod, node string) (failed error) {
	chunks := slices.Collect(slices.Chunk(victims, chunkSize(len(victims), s.cfg.Parallelism)))
	parallel.Do(p, "eviction", s.cfg.Parallelism, len(chunks), func(p *engine.Process, i int) {
		for _, victim := range chunks[i] {
			if failed != nil {
				return
			}
			err := s.evictPod(p, pod, victim, node, &failed)
			if err != nil && !apierrors.IsNotFound(err) && failed == nil {
				failed = err
			}
		}
	})
	return failed
}

// chunkSize is the number of victims that a worker takes at a time (SCHED-243).
func chunkSize(victims, workers int) int {
	return max(1, min(int(math.Sqrt(float64(victims))), victims/workers+1))
}

// evictPod deletes a victim, or cancels its binding cycle. It returns the error of the API server.
func (s *scheduler) evictPod(p *engine.Process, pod, victim *corev1.Pod, node string, failed *error) error {
	where := node
	if r := s.preBinding[api.KeyOf(victim)]; r != nil && r.pod.UID == victim.UID {
		// SCHED-242: a victim that is not bound yet is not deleted, its binding is canceled.
		r.cancel(errPreempted)
		where += " (in kube-scheduler memory)."
	} else if err := s.deleteVictim(p, pod, victim, failed); err != nil {
		return err
	}
	s.events.Event(p, victim, corev1.EventTypeNormal, "Preempted", "Preempted by pod %s on node %s", pod.UID, where)
	return nil
}

// deleteVictim adds a condition with the reason to a pod and deletes it.
func (s *scheduler) deleteVictim(p *engine.Process, pod, victim *corev1.Pod, failed *error) error {
	_, err := s.patchStatus(p, victim, &corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
		Message:            fmt.Sprintf("%s: preempting to accommodate a higher priority pod", pod.Spec.SchedulerName),
		ObservedGeneration: victim.Generation,
	}, nil)
	if err != nil {
		return err
	}
	if *failed != nil {
		// SCHED-243: the eviction of another victim has failed meanwhile.
		return errCanceled
	}
	// SCHED-234: the uid keeps it from deleting another pod of that name.
	_, err = s.api.Pods.Delete(p, api.KeyOf(victim), api.DeleteOptions{UID: victim.UID})
	return err
}
