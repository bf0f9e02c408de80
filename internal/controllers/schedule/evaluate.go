package schedule

import (
	"iter"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/snapshot"
)

// Evaluator evaluates pods on one snapshot of a cluster, which must not change meanwhile.
type Evaluator struct {
	nodes     []*nodeEvaluation // by name
	look      *lookups
	decisions map[*corev1.Pod]Decision
	budgets   []*policyv1.PodDisruptionBudget
	now       time.Time
}

// nodeEvaluation is a node with what is the same for all pods.
type nodeEvaluation struct {
	at nodeState
	// present counts the volumes that count towards the node's limits, by driver, without those of the pod to evaluate; nil until a pod needs
	// it. uncountable is set if they cannot be counted (SCHED-211).
	present     map[string]int
	limits      map[string]int
	uncountable bool
}

// NewEvaluator returns an evaluator of the pods in a snapshot.
func NewEvaluator(s *snapshot.Snapshot) *Evaluator {
	on := podsByNode(s.Pods)
	ev := &Evaluator{look: lookupsOf(s, on), decisions: map[*corev1.Pod]Decision{}, now: s.Now}
	for _, obj := range s.Budgets {
		ev.budgets = append(ev.budgets, plain.Shared[*policyv1.PodDisruptionBudget](obj))
	}
	for _, node := range slices.SortedFunc(slices.Values(s.Nodes), func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) }) {
		ev.nodes = append(ev.nodes, &nodeEvaluation{at: newNodeState(node, on[node.Name])})
	}
	return ev
}

// Decide returns what a scheduling attempt would decide about a pod, without writing anything (SCHED-023, SCHED-024). It ignores nominated
// pods and possible evictions. It returns the same Decision for the same pod, which must not be modified.
func (ev *Evaluator) Decide(pod *corev1.Pod) Decision {
	d, ok := ev.decisions[pod]
	if !ok {
		d = ev.decide(pod)
		ev.decisions[pod] = d
	}
	return d
}

func (ev *Evaluator) decide(pod *corev1.Pod) Decision {
	if len(ev.nodes) == 0 {
		// SCHED-022: no plugin runs.
		return Decision{Rule: "SCHED-022", Message: reasonNoNodes}
	}
	c := newCycle(ev.look, pod)
	switch s := c.preFilter(); {
	case s.code == failed:
		return Decision{Rule: "SCHED-237", Message: s.err.Error()}
	case s.rejected():
		return Decision{Rule: s.rule, Message: s.message(), Plugin: s.plugin, Unresolvable: s.code == unresolvable}
	}
	countVolumes := c.countVolumes
	d := Decision{Nodes: make([]NodeResult, 0, len(ev.nodes))}
	for _, node := range ev.nodes {
		c.countVolumes = countVolumes && !node.belowLimits(c)
		s := c.filter(&node.at)
		if s.code == failed {
			// SCHED-237: an error on one node fails the attempt.
			return Decision{Rule: "SCHED-237", Message: s.err.Error()}
		}
		r := NodeResult{Node: node.at.node.Name, Plugin: s.plugin, Reasons: s.reasons, Unresolvable: s.code == unresolvable}
		if s.rejected() {
			c.attribute(&r, node.at.node)
		}
		d.Nodes = append(d.Nodes, r)
	}
	return d
}

// Scores returns the scores of the nodes that a pod fits on, by name; none if it fits on fewer than two (SCHED-121). It ignores nominated pods.
func (ev *Evaluator) Scores(pod *corev1.Pod) ([]NodeScore, error) {
	c := newCycle(ev.look, pod)
	if s := c.preFilter(); s.code == failed || s.rejected() {
		return nil, s.err
	}
	var fit []*nodeState
	for _, node := range ev.nodes {
		switch s := c.filter(&node.at); s.code {
		case success:
			fit = append(fit, &node.at)
		case failed:
			return nil, s.err
		}
	}
	if len(fit) < 2 {
		return nil, nil
	}
	scores := make([]NodeScore, len(fit))
	totals, err := c.score(fit, func(plugin string, list []int64) {
		for i, n := range list {
			scores[i].Plugins = append(scores[i].Plugins, PluginScore{plugin, n})
		}
	})
	for i, total := range totals {
		scores[i].Node, scores[i].Total = fit[i].node.Name, total
	}
	return scores, err
}

// Refusals returns the result of every filter that rejects a node for a pod, in the order of the filters; Decide returns the first of them.
// It is empty for a node that fits, one that does not exist, and a pod that is rejected before any node is filtered.
func (ev *Evaluator) Refusals(pod *corev1.Pod, node string) []NodeResult {
	at, ok := slices.BinarySearchFunc(ev.nodes, node, func(n *nodeEvaluation, name string) int { return strings.Compare(n.at.node.Name, name) })
	if !ok {
		return nil
	}
	c := newCycle(ev.look, pod)
	if s := c.preFilter(); s.code != success {
		return nil
	}
	var all []NodeResult
	for _, plugin := range filters {
		s := plugin.run(c, &ev.nodes[at].at)
		if s.code == success || s.code == failed {
			continue
		}
		r := NodeResult{Node: node, Plugin: plugin.name, Reasons: s.reasons, Unresolvable: s.code == unresolvable}
		c.attribute(&r, ev.nodes[at].at.node)
		all = append(all, r)
	}
	return all
}

// manyEvictions is the number of nodes with an eviction after which Evict looks at no more.
const manyEvictions = 20

// Evict returns the node and the pods that the scheduler evicts there for a pod that fits on no node (SCHED-234); none if the pod fits, or if no
// eviction helps. It ignores nominated pods.
func (ev *Evaluator) Evict(pod *corev1.Pod) (node string, victims []*corev1.Pod) {
	d := ev.Decide(pod)
	if d.Rule != "" || d.Fits() || pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == corev1.PreemptNever {
		return "", nil
	}
	c := newCycle(ev.look, pod)
	if s := c.preFilter(); s.code != success {
		return "", nil
	}
	all := &evictions{podsOn: ev.look.podsOn, nominatedTo: func(string, *corev1.Pod) []*corev1.Pod { return nil }, budgets: ev.budgets, now: ev.now}
	var best *eviction
	found := 0
	for i := range d.Nodes {
		if d.Nodes[i].Unresolvable || found == manyEvictions {
			continue
		}
		if candidate, _ := all.victimsOn(c, ev.nodes[i].at.node); candidate != nil {
			if found++; best == nil || candidate.before(best) {
				best = candidate
			}
		}
	}
	if best == nil {
		return "", nil
	}
	return best.node, best.victims
}

// Outranks reports whether a pod has a higher priority than another.
func Outranks(pod, other *corev1.Pod) bool { return priorityOf(pod) > priorityOf(other) }

// belowLimits reports whether the node can attach all volumes of the pod even if it shares none with others. Then NodeVolumeLimits need not
// count them. If it returns false, the plugin decides.
func (n *nodeEvaluation) belowLimits(c *cycle) bool {
	if c.counted == nil {
		// The plugin counts the pod's volumes on the first node.
		return false
	}
	if n.present == nil {
		n.present, n.limits = map[string]int{}, c.limitsOf(&n.at)
		volumes := c.attached(n.at.node.Name)
		for _, pod := range n.at.pods() {
			if s := c.count(pod, claimKeysOf(pod), false, volumes); s.code != success {
				n.uncountable = true
			}
		}
		for volume := range volumes {
			n.present[volume.driver]++
		}
	}
	// SCHED-216: with all volumes of the pod, whatever their driver, each driver stays within its limit.
	for driver, limit := range n.limits {
		if n.present[driver]+len(c.counted) > limit {
			return false
		}
	}
	return !n.uncountable
}

// podsByNode returns the pods that the scheduler counts on each node.
func podsByNode(pods []*corev1.Pod) map[string][]*corev1.Pod {
	on := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		if pod.Spec.NodeName != "" && counts(pod) {
			on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], pod)
		}
	}
	return on
}

// counts reports whether the scheduler counts the pod on its node.
func counts(pod *corev1.Pod) bool {
	// SCHED-030: completed pods do not count, terminating ones do.
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// find returns a lookup by key.
func find[T api.Object](objs []T) func(key string) (T, bool) {
	byKey := make(map[string]T, len(objs))
	for _, obj := range objs {
		byKey[api.KeyOf(obj)] = obj
	}
	return func(key string) (T, bool) {
		obj, ok := byKey[key]
		return obj, ok
	}
}

// grouped groups objects by a key.
func grouped[T any](objs []T, key func(T) string) map[string][]T {
	groups := map[string][]T{}
	for _, obj := range objs {
		groups[key(obj)] = append(groups[key(obj)], obj)
	}
	return groups
}

// lookupsOf returns functions that read a snapshot instead of informers.
func lookupsOf(s *snapshot.Snapshot, on map[string][]*corev1.Pod) *lookups {
	claim, volume := find(s.Claims), find(s.Volumes)
	capacities := grouped(s.Capacities, func(c *storagev1.CSIStorageCapacity) string { return c.StorageClassName })
	attachments := grouped(s.Attachments, func(a *storagev1.VolumeAttachment) string { return a.Spec.NodeName })
	candidates := grouped(s.Volumes, func(pv *corev1.PersistentVolume) string {
		if ref := pv.Spec.ClaimRef; ref != nil {
			return reservedFor(api.Key(ref.Namespace, ref.Name))
		}
		return freeIn(objects.ClassOfVolume(pv))
	})
	uses := usesOf(s)
	node := find(s.Nodes)
	exclusive := podsThat(on, func(pod *corev1.Pod) bool { return len(requiredAntiAffinity(pod)) > 0 })
	attracting := podsThat(on, attracts)
	return &lookups{
		claim:         claim,
		volume:        volume,
		class:         find(s.Classes),
		driver:        find(s.Drivers),
		csiNode:       find(s.CSINodes),
		assumedClaim:  claim,
		assumedVolume: volume,
		capacities:    func(class string) []*storagev1.CSIStorageCapacity { return capacities[class] },
		attachments:   func(node string) []*storagev1.VolumeAttachment { return attachments[node] },
		candidates: func(class, claimKey string) []*corev1.PersistentVolume {
			pvs := slices.Clone(candidates[freeIn(class)])
			for _, pv := range candidates[reservedFor(claimKey)] {
				if objects.ClassOfVolume(pv) == class {
					pvs = append(pvs, pv)
				}
			}
			return pvs
		},
		inUse:          func(claimKey string) bool { return uses[claimKey] },
		nodes:          func() []*corev1.Node { return s.Nodes },
		podsOn:         func(node string) []*corev1.Pod { return on[node] },
		exclusivePods:  func() iter.Seq2[*corev1.Pod, *corev1.Node] { return withNodes(exclusive, node) },
		attractingPods: func() iter.Seq2[*corev1.Pod, *corev1.Node] { return withNodes(attracting, node) },
		siblings: func(pod *corev1.Pod) labels.Selector {
			return siblings(pod, servicesAmong(slices.Values(s.Groups)), func(kind api.Kind, name string) (*plain.Object, bool) {
				i := slices.IndexFunc(s.Groups, func(obj *plain.Object) bool {
					return api.KindOf(obj) == kind && obj.Namespace == pod.Namespace && obj.Name == name
				})
				if i < 0 {
					return nil, false
				}
				return s.Groups[i], true
			})
		},
		namespaceLabels: func(name string) labels.Set { return labelsAmong(s.Namespaces, name) },
		namespaces:      func(selector labels.Selector) []string { return selected(s.Namespaces, selector) },
	}
}

// labelsAmong returns the labels of the namespace of that name, nil if there is none.
func labelsAmong(namespaces []*plain.Object, name string) labels.Set {
	for _, namespace := range namespaces {
		if namespace.Name == name {
			return namespace.Labels
		}
	}
	return nil
}

// podsThat returns the pods on nodes that fulfil a condition, by their keys.
func podsThat(on map[string][]*corev1.Pod, fulfil func(*corev1.Pod) bool) map[string]*corev1.Pod {
	found := map[string]*corev1.Pod{}
	for _, pods := range on {
		for _, pod := range pods {
			if fulfil(pod) {
				found[api.KeyOf(pod)] = pod
			}
		}
	}
	return found
}

// usesOf returns the keys of the claims that pods on nodes use (SCHED-181).
func usesOf(s *snapshot.Snapshot) map[string]bool {
	uses := map[string]bool{}
	node := find(s.Nodes)
	for _, pod := range s.Pods {
		// SCHED-181: pods whose node was deleted do not count.
		if _, ok := node(pod.Spec.NodeName); !ok || !counts(pod) {
			continue
		}
		for _, key := range namedClaims(pod) {
			uses[key] = true
		}
	}
	return uses
}
