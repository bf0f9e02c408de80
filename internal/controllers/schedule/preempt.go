package schedule

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// eviction is what would make room for a pod on a node.
type eviction struct {
	node    string
	victims []*corev1.Pod // the most important first
}

// postFilter tries to make room for a pod that was turned down everywhere (SCHED-234, SCHED-235). It notes what came of it, and
// returns the node that the pod is nominated for; nil leaves its nomination as it is.
func (s *scheduler) postFilter(c *cycle, d *diagnosis) (nominate *string) {
	if d.preFilter != "" {
		// SCHED-235: resource claims were not looked at, and their plugin misses what it would know; that ends it.
		d.after = "not found"
		return nil
	}
	if c.pod.Spec.PreemptionPolicy != nil && *c.pod.Spec.PreemptionPolicy == corev1.PreemptNever {
		d.after = noDeallocation + "not eligible due to preemptionPolicy=Never."
		return nil
	}
	if s.preempting(c.pod, d) {
		d.after = noDeallocation + "not eligible due to a terminating pod on the nominated node."
		return nil
	}
	best, why, err := s.bestEviction(c, d)
	switch {
	case best == nil && err != nil:
		// SCHED-241
		d.after = preemption + err.Error()
		return nil
	case best == nil:
		// SCHED-234
		d.after = noDeallocation + why
		return new("")
	default:
		// SCHED-234: room is made, and nothing is said about it.
		s.actor.Go("preemption for "+api.KeyOf(c.pod), func(p *engine.Proc) { s.evict(p, c.pod, best) })
		return new(best.node)
	}
}

// noDeallocation is the answer of the plugin that is asked before preemption. There are no resource claims here, but a message that is
// compared with that of a cluster has to have it (SCHED-240).
const noDeallocation = "no new claims to deallocate, " + preemption

// preemption begins what is said about the attempt to make room.
const preemption = "preemption: "

// preempting reports whether pods on the node that the pod is nominated for are still on their way out for it.
func (s *scheduler) preempting(pod *corev1.Pod, d *diagnosis) bool {
	node := pod.Status.NominatedNodeName
	if node == "" || d.byNode[node].code == unresolvable {
		return false
	}
	return slices.ContainsFunc(s.pods.on(node), func(other *corev1.Pod) bool {
		return other.DeletionTimestamp != nil && priorityOf(other) < priorityOf(pod) &&
			slices.ContainsFunc(other.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonPreemptionByScheduler
			})
	})
}

// bestEviction is the least harmful way to make room; nil and a text if there is none. The error is what went wrong on nodes.
func (s *scheduler) bestEviction(c *cycle, d *diagnosis) (best *eviction, why string, err error) {
	var errs []error
	after := diagnosis{nodes: d.nodes}
	for _, name := range sortedKeys(d.byNode) {
		node, ok := s.inf.nodes.Get(name)
		if !ok || d.byNode[name].code != unschedulable {
			// SCHED-234
			after.add(name, rejectFor("Preemption is not helpful for scheduling"))
			continue
		}
		candidate, answer := s.victimsOn(c, node)
		switch {
		case answer.code == failed:
			errs = append(errs, answer.err)
		case candidate == nil:
			after.add(name, answer)
		case best == nil || candidate.before(best):
			best = candidate
		}
	}
	return best, after.message(), utilerrors.NewAggregate(errs)
}

// victimsOn finds the pods that have to leave a node for the pod to fit: those of lower priority, but as few as possible, the least
// important first (SCHED-234). Without an eviction the status says why there is none.
func (s *scheduler) victimsOn(c *cycle, node *corev1.Node) (*eviction, status) {
	restrictions := c.restrictions
	defer func() { c.restrictions = restrictions }()
	var stay, candidates []*corev1.Pod
	for _, pod := range s.pods.on(node.Name) {
		if priorityOf(pod) < priorityOf(c.pod) {
			candidates = append(candidates, pod)
		} else {
			stay = append(stay, pod)
		}
	}
	if len(candidates) == 0 {
		// SCHED-234
		return nil, rejectFor("No preemption victims found for incoming pod")
	}
	fits := func(gone []*corev1.Pod, here []*corev1.Pod) status {
		c.restrictions = restrictions
		// SCHED-186: who is gone holds no claim.
		for _, pod := range gone {
			c.restrictions = c.restrictions.without(pod)
		}
		return c.filterWith(s.nominatedTo(node.Name, c.pod), func(expected []*corev1.Pod) place {
			return placeOf(node, slices.Concat(here, expected))
		})
	}
	if answer := fits(candidates, stay); answer.code != success {
		return nil, answer
	}
	slices.SortStableFunc(candidates, func(a, b *corev1.Pod) int { return cmp.Compare(priorityOf(b), priorityOf(a)) })
	e := &eviction{node: node.Name}
	for i, pod := range candidates {
		gone := append(slices.Clone(e.victims), candidates[i+1:]...)
		if fits(gone, append(slices.Clone(stay), pod)).code == success {
			stay = append(stay, pod)
		} else {
			e.victims = append(e.victims, pod)
		}
	}
	return e, status{}
}

// before reports whether an eviction does less harm than another: by the most important victim, by the sum of their priorities, by
// their number, then by the name of the node.
func (e *eviction) before(other *eviction) bool {
	highest := func(e *eviction) int32 {
		if len(e.victims) == 0 {
			return math.MinInt32
		}
		return priorityOf(e.victims[0])
	}
	sum := func(e *eviction) (sum int64) {
		for _, pod := range e.victims {
			sum += int64(priorityOf(pod)) + math.MaxInt32 + 1
		}
		return sum
	}
	return cmp.Or(
		cmp.Compare(highest(e), highest(other)),
		cmp.Compare(sum(e), sum(other)),
		cmp.Compare(len(e.victims), len(other.victims)),
		strings.Compare(e.node, other.node),
	) < 0
}

// evict deletes the victims of a pod. If one cannot be deleted, the others stay as well, and the pod is tried again (SCHED-243).
func (s *scheduler) evict(p *engine.Proc, pod *corev1.Pod, e *eviction) {
	for _, victim := range e.victims {
		if victim.DeletionTimestamp != nil {
			continue
		}
		if err := s.evictPod(p, pod, victim, e.node); err != nil && !apierrors.IsNotFound(err) {
			// SCHED-243
			s.queue.activate(api.KeyOf(pod))
			return
		}
	}
}

// evictPod takes a pod's node away from it. The error is that of the API server.
func (s *scheduler) evictPod(p *engine.Proc, pod, victim *corev1.Pod, node string) error {
	where := node
	if r := s.preBinding[api.KeyOf(victim)]; r != nil && r.pod.UID == victim.UID {
		// SCHED-242: it is not bound yet, so that it is enough if it never is.
		r.cancel(errPreempted)
		where += " (in kube-scheduler memory)."
	} else if err := s.deleteVictim(p, pod, victim); err != nil {
		return err
	}
	s.events.Event(p, victim, corev1.EventTypeNormal, "Preempted", "Preempted by pod %s on node %s", pod.UID, where)
	return nil
}

// deleteVictim deletes a pod that has to go for another, and says so in its status before.
func (s *scheduler) deleteVictim(p *engine.Proc, pod, victim *corev1.Pod) error {
	_, err := s.patchStatus(p, victim, &corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
		Message:            fmt.Sprintf("%s: preempting to accommodate a higher priority pod", pod.Spec.SchedulerName),
		ObservedGeneration: victim.Generation,
	}, nil)
	if err != nil {
		return err
	}
	// SCHED-234: one that is gone already was not preempted.
	_, err = s.api.Pods.Delete(p, api.KeyOf(victim), api.DeleteOptions{UID: victim.UID})
	return err
}

// nominate notes the node that a waiting pod is nominated for, as the API has it.
func (s *scheduler) nominate(pod *corev1.Pod) { s.nominateTo(pod, new(pod.Status.NominatedNodeName)) }

// nominateTo notes a nomination that is about to be written; nil leaves it.
func (s *scheduler) nominateTo(pod *corev1.Pod, node *string) {
	switch key := api.KeyOf(pod); {
	case node == nil:
	case *node == "":
		delete(s.nominated, key)
	default:
		nominated := *pod
		nominated.Status.NominatedNodeName = *node
		s.nominated[key] = &nominated
	}
}

// nominationChanged moves the pods that may fit where another pod no longer goes.
func (s *scheduler) nominationChanged(old, pod *corev1.Pod) {
	if node := old.Status.NominatedNodeName; node != "" && node != pod.Status.NominatedNodeName {
		s.podGone(old, func(other *corev1.Pod) bool { return priorityOf(other) <= priorityOf(old) })
	}
}
