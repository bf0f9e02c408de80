package schedule

import (
	"fmt"
	"maps"
	"math"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/internal/core/objects"
)

// spreadConstraint is a topology spread constraint with its selector parsed and its defaults filled in.
type spreadConstraint struct {
	key        string
	maxSkew    int
	minDomains int
	pods       labels.Selector
	// affinity and taints are set if nodes that the pod's node affinity or a taint excludes do not count.
	affinity, taints bool
}

// spreadConstraints returns the constraints of a pod that forbid a node (SCHED-300).
func spreadConstraints(pod *corev1.Pod, action corev1.UnsatisfiableConstraintAction) ([]spreadConstraint, error) {
	var constraints []spreadConstraint
	for i := range pod.Spec.TopologySpreadConstraints {
		given := &pod.Spec.TopologySpreadConstraints[i]
		// SCHED-300: constraints with ScheduleAnyway only score nodes, and so do those that clusters have by default.
		if given.WhenUnsatisfiable != action {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(given.LabelSelector)
		if err != nil {
			return nil, err
		}
		// SCHED-301: matchLabelKeys add the values of the pod's own labels. A missing selector still selects nothing.
		if requirements, ok := selector.Requirements(); ok {
			own := labels.Set{}
			for _, key := range given.MatchLabelKeys {
				if value, ok := pod.Labels[key]; ok {
					own[key] = value
				}
			}
			if len(own) > 0 {
				selector = labels.SelectorFromSet(own).Add(requirements...)
			}
		}
		c := spreadConstraint{key: given.TopologyKey, maxSkew: int(given.MaxSkew), minDomains: 1, pods: selector, affinity: true}
		if given.MinDomains != nil {
			c.minDomains = int(*given.MinDomains)
		}
		// SCHED-302: by default node affinity decides which nodes count, and taints do not.
		if given.NodeAffinityPolicy != nil {
			c.affinity = *given.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor
		}
		if given.NodeTaintsPolicy != nil {
			c.taints = *given.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
		}
		constraints = append(constraints, c)
	}
	return constraints, nil
}

// includes reports whether the pods on a node count for the constraint of a pod.
func (sc *spreadConstraint) includes(pod *corev1.Pod, node *corev1.Node) bool {
	// SCHED-302: the two policies.
	return (!sc.affinity || objects.SelectsNode(pod, node)) && (!sc.taints || !untolerated(pod, node))
}

// hasAllKeys reports whether a node has the labels of all constraints.
func hasAllKeys(node *corev1.Node, constraints []spreadConstraint) bool {
	for i := range constraints {
		if _, ok := node.Labels[constraints[i].key]; !ok {
			return false
		}
	}
	return true
}

// podSpread is the state of PodTopologySpread for a pod: its constraints, and for each the number of matching pods in each domain.
type podSpread struct {
	constraints []spreadConstraint
	counts      []map[string]int
}

// preFilterSpread counts the pods that the pod is spread with (SCHED-300 to SCHED-303).
func (c *cycle) preFilterSpread() status {
	constraints, err := spreadConstraints(c.pod, corev1.DoNotSchedule)
	if err != nil {
		return failure(fmt.Errorf("get constraints from pod: obtaining pod's hard topology spread constraints: %w", err))
	}
	c.spread = podSpread{}
	if len(constraints) == 0 {
		return status{code: skipped}
	}
	s := podSpread{constraints: constraints, counts: make([]map[string]int, len(constraints))}
	for i := range s.counts {
		s.counts[i] = map[string]int{}
	}
	for _, node := range c.look.nodes() {
		// SCHED-302: a node counts if it has the labels of all constraints.
		if !hasAllKeys(node, constraints) {
			continue
		}
		pods := c.look.podsOn(node.Name)
		for i := range constraints {
			sc := &constraints[i]
			if sc.includes(c.pod, node) {
				s.counts[i][node.Labels[sc.key]] += sc.count(c.pod, pods)
			}
		}
	}
	c.spread = s
	return status{}
}

// count returns the number of pods that the constraint of a pod selects.
func (sc *spreadConstraint) count(pod *corev1.Pod, pods []*corev1.Pod) int {
	n := 0
	for _, other := range pods {
		// SCHED-303: of the same namespace, not terminating, and selected by labels. An empty selector selects nothing here.
		if other.DeletionTimestamp == nil && other.Namespace == pod.Namespace && !sc.pods.Empty() && sc.pods.Matches(labels.Set(other.Labels)) {
			n++
		}
	}
	return n
}

// plus returns the state after another pod was added to a node n times.
func (s podSpread) plus(pod, other *corev1.Pod, node *corev1.Node, n int) podSpread {
	if len(s.constraints) == 0 || other.Namespace != pod.Namespace || !hasAllKeys(node, s.constraints) {
		return s
	}
	counts := make([]map[string]int, len(s.counts))
	for i := range s.constraints {
		sc := &s.constraints[i]
		counts[i] = s.counts[i]
		// SCHED-306: here terminating pods count, although they did not before.
		if sc.pods.Matches(labels.Set(other.Labels)) && sc.includes(pod, node) {
			counts[i] = maps.Clone(counts[i])
			counts[i][node.Labels[sc.key]] += n
		}
	}
	s.counts = counts
	return s
}

// filterSpread rejects a node where the pod would make the spread of pods too uneven (SCHED-304, SCHED-305).
func (c *cycle) filterSpread(at *nodeState) status {
	for i := range c.spread.constraints {
		sc := &c.spread.constraints[i]
		value, ok := at.node.Labels[sc.key]
		if !ok {
			// SCHED-304: evictions add no labels.
			return rejectFor(reasonNoDomain)
		}
		skew := c.spread.counts[i][value] - c.spread.fewest(i)
		if sc.pods.Matches(labels.Set(c.pod.Labels)) {
			skew++
		}
		// SCHED-305: the pod itself counts if the selector selects it.
		if skew > sc.maxSkew {
			return reject(reasonSpread)
		}
	}
	return status{}
}

// fewest returns the smallest number of pods in a domain of a constraint.
func (s *podSpread) fewest(i int) int {
	// SCHED-305: with fewer domains than minDomains there could be an empty one.
	if len(s.counts[i]) < s.constraints[i].minDomains {
		return 0
	}
	fewest := math.MaxInt32
	for _, n := range s.counts[i] {
		fewest = min(fewest, n)
	}
	return fewest
}
