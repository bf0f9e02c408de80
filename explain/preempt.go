package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/actors"
)

// evaluator returns the evaluator of pods without a node.
func (x *explainer) evaluator() *schedule.Evaluator {
	if x.scheduler == nil {
		x.scheduler = schedule.NewEvaluator(x.Snapshot)
	}
	return x.scheduler
}

// isScheduled reports whether the default scheduler places a pod that has no node.
func isScheduled(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && len(pod.Spec.SchedulingGates) == 0 &&
		(pod.Spec.SchedulerName == "" || pod.Spec.SchedulerName == corev1.DefaultSchedulerName)
}

// evicts explains a pod that fits on no node, and for which the scheduler evicts others (SCHED-234). It reports whether that is so.
func (x *explainer) evicts(e *Explanation, pod *corev1.Pod) bool {
	if !isScheduled(pod) {
		return false
	}
	node, victims := x.evaluator().Evict(pod)
	var names []string
	for _, victim := range victims {
		if victim.DeletionTimestamp == nil {
			names = append(names, api.KeyOf(victim))
		}
	}
	if len(names) == 0 {
		return false
	}
	shown := strings.Join(names[:min(len(names), manyNames)], ", ")
	if more := len(names) - manyNames; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	e.next(actors.Scheduler, fmt.Sprintf("evicts pod %s from node %s, because this pod has a higher priority (%s), and then places it", shown, node, priority(pod)))
	e.automatic(x.Now, "SCHED-234", "when its turn comes in the scheduling queue, and the evicted pods have stopped")
	return true
}

// manyPreemptors is the number of waiting pods that are looked at to find whom the scheduler evicts.
const manyPreemptors = 20

// preemptor returns the pod for which the scheduler evicts another one; nil if there is none.
func (x *explainer) preemptor(victim *corev1.Pod) *corev1.Pod {
	if x.evicted == nil {
		x.evicted = map[types.UID]*corev1.Pod{}
		lowest := victim
		var waiting []*corev1.Pod
		for _, pod := range x.Pods {
			if pod.Spec.NodeName != "" && schedule.Outranks(lowest, pod) {
				lowest = pod
			}
		}
		for _, pod := range x.Pods {
			if isScheduled(pod) && schedule.Outranks(pod, lowest) {
				waiting = append(waiting, pod)
			}
		}
		slices.SortFunc(waiting, func(a, b *corev1.Pod) int { return cmp.Compare(api.KeyOf(a), api.KeyOf(b)) })
		for _, pod := range waiting[:min(len(waiting), manyPreemptors)] {
			_, victims := x.evaluator().Evict(pod)
			for _, found := range victims {
				if _, known := x.evicted[found.UID]; !known {
					x.evicted[found.UID] = pod
				}
			}
		}
	}
	return x.evicted[victim.UID]
}

// evictedFor explains a pod that the scheduler is about to evict (SCHED-234). It leaves e unchanged for other pods.
func (x *explainer) evictedFor(e *Explanation, pod *corev1.Pod) {
	if e.Changes.When != Settled {
		return
	}
	preemptor := x.preemptor(pod)
	if preemptor == nil {
		return
	}
	e.because("SCHED-234", fmt.Sprintf("%s, and pod %s, which has a higher priority (%s instead of %s), fits on no node while it runs", e.Why, api.KeyOf(preemptor),
		priority(preemptor), priority(pod)))
	e.next(actors.Scheduler, "evicts it for pod "+api.KeyOf(preemptor))
	e.automatic(x.Now, "SCHED-234", "when the turn of that pod comes in the scheduling queue")
}

// priority returns the priority of a pod.
func priority(pod *corev1.Pod) string {
	if pod.Spec.Priority == nil {
		return "0"
	}
	return fmt.Sprint(*pod.Spec.Priority)
}
