package schedule

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/podresources"
)

// cycle is one attempt to find a node for a pod. No simulated time passes and no event runs during an attempt.
type cycle struct {
	look *lookups
	pod  *corev1.Pod
	keys claimKeys // of pod

	requests  podresources.Amounts
	hostPorts bool // it needs ports of its node
	occupancy
	countVolumes bool // the pod has volumes that NodeVolumeLimits may count
	// counted are the pod's volumes as NodeVolumeLimits counts them; nil until the first node needs them.
	counted map[csiVolume]bool
	binding podClaims
	zones   []zoneLabel

	// found has the volumes for the pod's unbound claims, by feasible node; nothing if it has none.
	found map[string]nodeVolumes
	// unfit says why the pod does not fit on nodes.
	unfit fitError
}

// occupancy counts the pods on nodes that affect the pod.
type occupancy struct {
	restrictions podRestrictions
	spread       podSpread
	affinity     podAffinity
}

// with returns the occupancy after another pod was added to a node.
func (o occupancy) with(pod, other *corev1.Pod, node *corev1.Node) occupancy {
	return occupancy{o.restrictions.with(other), o.spread.plus(pod, other, node, 1), o.affinity.plus(pod, other, node, 1)}
}

// without returns the occupancy after another pod was removed from a node.
func (o occupancy) without(pod, other *corev1.Pod, node *corev1.Node) occupancy {
	return occupancy{o.restrictions.without(other), o.spread.plus(pod, other, node, -1), o.affinity.plus(pod, other, node, -1)}
}

func newCycle(look *lookups, pod *corev1.Pod) *cycle {
	c := &cycle{}
	c.reset(look, pod, claimKeysOf(pod))
	return c
}

// reset begins a cycle in memory that an earlier one no longer needs. keys are those of the pod.
func (c *cycle) reset(look *lookups, pod *corev1.Pod, keys claimKeys) {
	*c = cycle{look: look, pod: pod, keys: keys, requests: podresources.Requests(pod), hostPorts: objects.UsesHostPorts(pod), binding: c.binding.emptied()}
}

// nodeState is a node with the pods on it.
type nodeState struct {
	node *corev1.Node
	rank int // of its slot, in the order of names
	nodeFacts
	// on has the number of the pods and what they request.
	on *nodePods
	// The pods are listed, or those of slot. See pods, cycle.csiNodeOf and cycle.limitsOf.
	slot   *nodeSlot
	listed []*corev1.Pod
}

// nodeFacts are what filters and scores read of every node, for every pod. They follow from the node.
type nodeFacts struct {
	// open is set if the node rejects no pod by a taint, or because it is cordoned.
	open bool
	// avoided is set if a taint lowers the score of the node for pods that do not tolerate it, images if its status lists images.
	avoided, images bool
	allocatable     podresources.Amounts
	capacity        assumedAmounts // of allocatable, the resources that are scored
}

func factsOf(node *corev1.Node) nodeFacts {
	f := nodeFacts{open: !node.Spec.Unschedulable, images: len(node.Status.Images) > 0, allocatable: podresources.Of(node.Status.Allocatable)}
	for i := range node.Spec.Taints {
		if node.Spec.Taints[i].Effect == corev1.TaintEffectPreferNoSchedule {
			f.avoided = true
		} else {
			f.open = false
		}
	}
	for i, name := range scoredResources {
		f.capacity[i] = f.allocatable[name]
	}
	return f
}

// newNodeState returns a node with these pods on it.
func newNodeState(node *corev1.Node, pods []*corev1.Pod) nodeState {
	at := nodeState{node: node, nodeFacts: factsOf(node), on: &nodePods{}, listed: slices.Clip(pods)}
	for _, pod := range pods {
		at.count(pod, 1)
	}
	return at
}

// listing returns the node with a list of its pods to which others can be added.
func (at *nodeState) listing() nodeState {
	on := &nodePods{n: at.on.n, used: maps.Clone(at.on.used), assumed: at.on.assumed}
	return nodeState{node: at.node, nodeFacts: at.nodeFacts, on: on, listed: slices.Clip(at.pods())}
}

// add adds a pod to a node that newNodeState or listing returned.
func (at *nodeState) add(pod *corev1.Pod) {
	at.listed = append(at.listed, pod)
	at.count(pod, 1)
}

// removeLast removes the pod that was added last.
func (at *nodeState) removeLast() {
	last := len(at.listed) - 1
	at.count(at.listed[last], -1)
	at.listed = at.listed[:last]
}

// count adds a pod to the number of the pods and what they request, n times.
func (at *nodeState) count(pod *corev1.Pod, n int) {
	at.on.n += n
	at.on.used = at.on.used.Plus(podresources.Requests(pod), int64(n))
	at.on.assumed = at.on.assumed.plus(assumedRequests(pod), int64(n))
}

// pods returns the pods on the node. Filters call it only if they need them.
func (at *nodeState) pods() []*corev1.Pod {
	if at.slot != nil {
		return at.slot.pods.list()
	}
	return at.listed
}

// csiNodeOf returns the CSINode of a node, nil if there is none.
func (c *cycle) csiNodeOf(at *nodeState) *storagev1.CSINode {
	if at.slot != nil {
		return at.slot.csiNode
	}
	csiNode, _ := c.look.csiNode(at.node.Name)
	return csiNode
}

// limitsOf returns how many volumes a node can attach, by driver.
func (c *cycle) limitsOf(at *nodeState) map[string]int {
	if at.slot != nil {
		return at.slot.limits
	}
	return limitsOf(c.csiNodeOf(at))
}

// preFilters are the plugins that check the pod alone. SCHED-023: in this order.
var preFilters = [...]struct {
	name string
	run  func(*cycle) status
}{
	{volumeRestrictions, (*cycle).preFilterRestrictions},
	{nodeVolumeLimits, (*cycle).preFilterLimits},
	{volumeBinding, (*cycle).preFilterBinding},
	{volumeZone, (*cycle).preFilterZone},
	{podTopologySpread, (*cycle).preFilterSpread},
	{interPodAffinity, (*cycle).preFilterPods},
}

// filters are the plugins that check the pod on a node. SCHED-024: in this order. A plugin that does not apply to the pod accepts every
// node.
var filters = [...]struct {
	name string
	run  func(*cycle, *nodeState) status
}{
	{nodeUnschedulable, (*cycle).filterUnschedulable},
	{taintToleration, (*cycle).filterTaints},
	{nodeAffinity, (*cycle).filterAffinity},
	{nodePorts, (*cycle).filterPorts},
	{nodeResourcesFit, (*cycle).filterResources},
	{volumeRestrictions, (*cycle).filterRestrictions},
	{nodeVolumeLimits, (*cycle).filterLimits},
	{volumeBinding, (*cycle).filterBinding},
	{volumeZone, (*cycle).filterZone},
	{podTopologySpread, (*cycle).filterSpread},
	{interPodAffinity, (*cycle).filterPods},
}

// preFilter runs the plugins that check the pod alone (SCHED-023).
func (c *cycle) preFilter() status {
	var rejection status
	for _, plugin := range preFilters {
		s := plugin.run(c)
		s.plugin = plugin.name
		switch s.code {
		case unresolvable:
			// SCHED-023: no eviction can help, so the other plugins do not run.
			return s
		case unschedulable:
			// SCHED-023: a later plugin may find something unresolvable.
			rejection = s
		case failed:
			// SCHED-237: an error fails the attempt.
			s.err = fmt.Errorf("running PreFilter plugin %q: %w", plugin.name, s.err)
			return s
		}
	}
	return rejection
}

// filter runs the filters on a node. The first plugin that rejects it decides (SCHED-024).
func (c *cycle) filter(at *nodeState) status {
	for _, plugin := range filters {
		s := plugin.run(c, at)
		if s.code == success {
			continue
		}
		s.plugin = plugin.name
		if s.code == failed {
			// SCHED-237: an error fails the attempt.
			s.err = fmt.Errorf("running %q filter plugin: %w", plugin.name, s.err)
		}
		return s
	}
	return status{}
}

// filterWith runs the filters on a node with the pods that are expected there, and without them. The pod has to fit both times.
func (c *cycle) filterWith(at *nodeState, expected []*corev1.Pod) status {
	if len(expected) > 0 {
		before := c.occupancy
		crowded := at.listing()
		for _, pod := range expected {
			// SCHED-188, SCHED-296, SCHED-306: an expected pod uses its claims already, and counts for affinity and spread.
			c.occupancy = c.with(c.pod, pod, at.node)
			crowded.add(pod)
		}
		answer := c.filter(&crowded)
		c.occupancy = before
		if answer.code != success {
			return answer
		}
	}
	return c.filter(at)
}
