package schedule

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
)

// eviction is a set of pods whose deletion makes room for a pod on a node.
type eviction struct {
	node    string
	victims []*corev1.Pod // by falling importance
	// violations is the number of victims that a PodDisruptionBudget protects.
	violations int
	// started is the earliest start of the most important victims.
	started time.Time
}

// postFilter tries to make room for a pod that fits on no node (SCHED-234, SCHED-235). It adds the result to d and returns the node that
// the pod is nominated for; nil leaves its nomination as it is.
func (s *scheduler) postFilter(c *cycle, d *diagnosis) (nominate *string) {
	if d.preFilter != "" {
		// SCHED-235: the plugin for resource claims has no state after a rejection in PreFilter, and its error ends postFilter.
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
		// SCHED-241: errors on nodes are the message.
		d.after = preemption + err.Error()
		return nil
	case best == nil:
		// SCHED-234: no eviction helps, and the nomination ends.
		d.after = noDeallocation + why
		return new("")
	default:
		// SCHED-234: the victims are deleted in the background, and the message does not mention it.
		s.startEviction(c.pod, best)
		return new(best.node)
	}
}

// noDeallocation is the message of the plugin for resource claims, which runs before preemption. Resource claims are not simulated, but the
// message of a real cluster has this text (SCHED-240).
const noDeallocation = "no new claims to deallocate, " + preemption

// preemption is the prefix of the message about preemption.
const preemption = "preemption: "

// preempting reports whether pods that were evicted for the pod still terminate on its nominated node.
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

// evictions finds pods whose eviction makes room for another pod.
type evictions struct {
	podsOn func(node string) []*corev1.Pod
	// nominatedTo returns the pods that are expected on a node when another pod is placed.
	nominatedTo func(node string, pod *corev1.Pod) []*corev1.Pod
	budgets     []*policyv1.PodDisruptionBudget
	now         time.Time
}

// evictions returns those of the pods that the scheduler knows.
func (s *scheduler) evictions() *evictions {
	return &evictions{podsOn: s.pods.on, nominatedTo: s.nominatedTo, budgets: s.budgets(), now: s.now()}
}

// bestEviction returns the least harmful eviction, or nil and the reason why there is none. The error has the failures on nodes.
func (s *scheduler) bestEviction(c *cycle, d *diagnosis) (best *eviction, why string, err error) {
	var errs []error
	after, all := diagnosis{nodes: d.nodes}, s.evictions()
	for _, name := range objects.SortedKeys(d.byNode) {
		node, ok := s.inf.nodes.Get(name)
		if !ok || d.byNode[name].code != unschedulable {
			// SCHED-234: evictions do not resolve an unresolvable rejection.
			after.add(name, rejectFor("Preemption is not helpful for scheduling"))
			continue
		}
		candidate, answer := all.victimsOn(c, node)
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

// victimsOn returns the pods of lower priority that have to leave a node for the pod to fit, as few and as unimportant as possible
// (SCHED-234). If there is no eviction, the status has the reason.
func (v *evictions) victimsOn(c *cycle, node *corev1.Node) (*eviction, status) {
	before := c.occupancy
	defer func() { c.occupancy = before }()
	var stay, candidates []*corev1.Pod
	for _, pod := range v.podsOn(node.Name) {
		if priorityOf(pod) < priorityOf(c.pod) {
			candidates = append(candidates, pod)
		} else {
			stay = append(stay, pod)
		}
	}
	if len(candidates) == 0 {
		// SCHED-234: no pod has a lower priority.
		return nil, rejectFor("No preemption victims found for incoming pod")
	}
	// SCHED-186, SCHED-296, SCHED-306: evicted pods use no claims, and do not count for affinity and spread.
	for _, pod := range candidates {
		c.occupancy = c.without(c.pod, pod, node)
	}
	at, expected := newNodeState(node, stay), v.nominatedTo(node.Name, c.pod)
	if answer := c.filterWith(&at, expected); answer.code != success {
		return nil, answer
	}
	slices.SortStableFunc(candidates, v.byImportance)
	// SCHED-310: pods that a budget protects are the first that may stay.
	protected, others := protectedPods(candidates, v.budgets)
	e := &eviction{node: node.Name}
	for i, pod := range slices.Concat(protected, others) {
		without := c.occupancy
		c.occupancy = c.with(c.pod, pod, node)
		at.add(pod)
		if c.filterWith(&at, expected).code == success {
			continue
		}
		at.removeLast()
		c.occupancy = without
		e.victims = append(e.victims, pod)
		if i < len(protected) {
			e.violations++
		}
	}
	// SCHED-313: the most important victim is evicted first.
	slices.SortStableFunc(e.victims, v.byImportance)
	for _, pod := range e.victims {
		if started := v.startOf(pod); priorityOf(pod) == priorityOf(e.victims[0]) && (e.started.IsZero() || started.Before(e.started)) {
			e.started = started
		}
	}
	return e, status{}
}

// byImportance compares pods by falling priority, then by their start: a pod that runs longer is more important (SCHED-310).
func (v *evictions) byImportance(a, b *corev1.Pod) int {
	return cmp.Or(cmp.Compare(priorityOf(b), priorityOf(a)), v.startOf(a).Compare(v.startOf(b)))
}

// startOf returns the time when a kubelet started a pod.
func (v *evictions) startOf(pod *corev1.Pod) time.Time {
	if pod.Status.StartTime == nil {
		// SCHED-310: a pod that has not started yet counts as started now.
		return v.now
	}
	return pod.Status.StartTime.Time
}

// protectedPods divides pods into those whose eviction would violate a PodDisruptionBudget, and the others (SCHED-311). It counts the pods
// in their order.
func protectedPods(pods []*corev1.Pod, budgets []*policyv1.PodDisruptionBudget) (protected, others []*corev1.Pod) {
	left := make([]int32, len(budgets))
	for i, budget := range budgets {
		left[i] = budget.Status.DisruptionsAllowed
	}
	for _, pod := range pods {
		violates := false
		for i, budget := range budgets {
			selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
			// SCHED-311: here an empty selector protects no pod, nor does one that cannot be parsed.
			if err != nil || selector.Empty() || budget.Namespace != pod.Namespace || !selector.Matches(labels.Set(pod.Labels)) {
				continue
			}
			// SCHED-311: the API server has counted a pod that it evicted.
			if _, evicted := budget.Status.DisruptedPods[pod.Name]; evicted {
				continue
			}
			left[i]--
			violates = violates || left[i] < 0
		}
		if violates {
			protected = append(protected, pod)
		} else {
			others = append(others, pod)
		}
	}
	return protected, others
}

// budgets returns the PodDisruptionBudgets.
func (s *scheduler) budgets() []*policyv1.PodDisruptionBudget {
	if s.disruptionBudgets == nil {
		return nil
	}
	var budgets []*policyv1.PodDisruptionBudget
	for _, obj := range s.disruptionBudgets.List() {
		budgets = append(budgets, plain.Shared[*policyv1.PodDisruptionBudget](obj))
	}
	return budgets
}

// before reports whether an eviction is less harmful than another (SCHED-312).
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
	// SCHED-312: budgets first, then priorities, the number of victims and their start. SIM: then the name of the node.
	return cmp.Or(
		cmp.Compare(e.violations, other.violations),
		cmp.Compare(highest(e), highest(other)),
		cmp.Compare(sum(e), sum(other)),
		cmp.Compare(len(e.victims), len(other.victims)),
		other.started.Compare(e.started),
		strings.Compare(e.node, other.node),
	) < 0
}

// nominate records the stored nomination of a waiting pod.
func (s *scheduler) nominate(pod *corev1.Pod) { s.nominateTo(pod, new(pod.Status.NominatedNodeName)) }

// nominateTo records a nomination that is about to be written; nil leaves it as it is.
func (s *scheduler) nominateTo(pod *corev1.Pod, node *string) {
	switch {
	case node == nil:
	case *node == "":
		s.nominated.remove(api.KeyOf(pod))
	default:
		nominated := *pod
		nominated.Status.NominatedNodeName = *node
		s.nominated.set(api.KeyOf(pod), &nominated)
	}
}

// nominationChanged requeues pods that may fit because another pod is no longer nominated to its node.
func (s *scheduler) nominationChanged(old, pod *corev1.Pod) {
	if node := old.Status.NominatedNodeName; node != "" && node != pod.Status.NominatedNodeName {
		s.podGone(old, func(other *corev1.Pod) bool { return priorityOf(other) <= priorityOf(old) })
	}
}
