package nodelifecycle

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/parallel"
)

const (
	parallelNodes = 8                      // NODE-038: so many nodes of a pass at the same time
	statusTick    = 20 * time.Millisecond  // NODE-034: when a status is tried to be written again
	statusPeriod  = 100 * time.Millisecond // NODE-034: after it one try is left
)

// monitorNodes is a pass over all nodes.
func (c *controller) monitorNodes(p *engine.Process) {
	effects := p.Effects()
	c.changed = false
	nodes := c.nodes.List()
	c.register(p, nodes)
	// The Ready conditions of each zone, nil for none.
	zones := map[string][]*corev1.NodeCondition{}
	// NODE-038: several nodes at the same time.
	parallel.Do(p, "node health", parallelNodes, len(nodes), func(p *engine.Process, i int) { c.monitorNode(p, nodes[i], zones) })
	c.handleDisruption(p, nodes, zones)
	c.scheduleMonitor(nodes, p.Effects() != effects)
}

// register compares the nodes with those of the last pass (NODE-030).
func (c *controller) register(p *engine.Process, nodes []*corev1.Node) {
	// A controller that goes on knows the nodes, and that their NoExecute taints are its own.
	first := c.continues && len(c.known) == 0
	for _, node := range nodes {
		if _, known := c.known[node.Name]; known {
			c.addZone(ZoneOf(node))
			continue
		}
		c.events.Event(p, nodeRef(node.Name, node.UID), corev1.EventTypeNormal, "RegisteredNode", "Node %s event: Registered Node %s in Controller",
			node.Name, node.Name)
		c.known[node.Name] = node.UID
		c.addZone(ZoneOf(node))
		if !first {
			c.markReachable(p, node)
		}
	}
	if len(c.known) == len(nodes) {
		return // all nodes are known, so no other one is
	}
	for _, name := range slices.Sorted(maps.Keys(c.known)) {
		if slices.ContainsFunc(nodes, func(node *corev1.Node) bool { return node.Name == name }) {
			continue
		}
		c.events.Event(p, nodeRef(name, c.known[name]), corev1.EventTypeNormal, "RemovingNode", "Node %s event: Removing Node %s from Controller", name, name)
		delete(c.known, name)
	}
}

// nodeRef returns the reference of Events about a node: it has no version.
func nodeRef(name string, uid types.UID) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}}
}

// addZone adds a zone without a state, with a new queue (NODE-040).
func (c *controller) addZone(zone string) {
	if _, known := c.zones[zone]; !known {
		c.zones[zone] = Initial
		c.addQueue(zone)
		c.changed = true
	}
}

// queue returns the queue of a zone.
func (c *controller) queue(zone string) *taintQueue {
	if c.queues[zone] == nil {
		c.addQueue(zone)
	}
	return c.queues[zone]
}

// addQueue gives a zone an empty queue.
func (c *controller) addQueue(zone string) {
	if c.queues[zone] == nil {
		c.order = append(c.order, zone)
	}
	c.queues[zone] = newTaintQueue()
}

// monitorNode deals with one node of a pass: its health, its NoExecute taint, and its pods.
func (c *controller) monitorNode(p *engine.Process, node *corev1.Node, zones map[string][]*corev1.NodeCondition) {
	c.catchUp(node)
	node, observed, ready, ok := c.updateHealth(p, node)
	if !ok {
		return
	}
	// NODE-045: a node with that label does not count in its zone.
	if _, excluded := node.Labels[excludeLabel]; !excluded {
		zone := ZoneOf(node)
		zones[zone] = append(zones[zone], ready)
	}
	if ready == nil {
		delete(c.retry, node.Name)
		return
	}
	pods := c.pods.ByIndex(c.podsByNode, node.Name)
	c.updateNoExecuteTaint(p, node, ready.Status)
	failed := isNotReady(ready) && statusOf(observed) == corev1.ConditionTrue
	if failed {
		// NODE-034: the change is reported once.
		p.Decide("NODE-034", node, "the node is not ready any more, because its kubelet is not heard of: its pods are marked as not ready")
		c.events.Event(p, nodeRef(node.Name, node.UID), corev1.EventTypeNormal, "NodeNotReady", "Node %s status is now: NodeNotReady", node.Name)
	}
	// NODE-035: after a failure, pods are marked again in each pass that finds the node not ready.
	if failed || c.retry[node.Name] && statusOf(observed) != corev1.ConditionTrue {
		if !c.markPodsNotReady(p, pods, node.Name) {
			c.retry[node.Name] = true
			return
		}
	}
	delete(c.retry, node.Name)
}

// updateHealth observes a node and writes its conditions if it is unresponsive. It returns the node, its Ready condition before and after, nil
// for none, and whether the pass goes on with the node (NODE-034).
func (c *controller) updateHealth(p *engine.Process, node *corev1.Node) (current *corev1.Node, observed, ready *corev1.NodeCondition, ok bool) {
	name := node.Name
	var began time.Time // when the clock of the tries began to run
	for last := false; ; {
		observed, ready, err := c.tryUpdateHealth(p, node)
		if err == nil {
			return node, observed, ready, true
		}
		// NODE-034: after an error the node is read again.
		node, err = p.API().Nodes.Get(p, name)
		if err != nil || last {
			p.Decide("NODE-034", nodeRef(name, ""), "the status of the node could not be written: the next pass tries again")
			c.changed = true
			return nil, nil, nil, false
		}
		if began.IsZero() {
			began = p.Now()
		}
		// NODE-034: ticks that came during the try are lost.
		since := p.Now().Sub(began)
		if last = since >= statusPeriod; !last {
			p.Sleep(statusTick - since%statusTick)
		}
	}
}

// observe returns the health of a node after a pass at that time.
func (c *controller) observe(node *corev1.Node, at time.Time) *nodeHealth {
	signs := Signs{Created: node.CreationTimestamp.Time, Ready: conditionOf(node.Status.Conditions, corev1.NodeReady)}
	h := c.health[node.Name]
	if renewal, ok := c.renewed(node.Name, at); ok {
		if h != nil && h.Lease != nil && h.Lease.Equal(renewal) {
			signs.Lease = h.Lease
		} else {
			lease := renewal
			signs.Lease = &lease
		}
	}
	if h == nil {
		h = &nodeHealth{Health: Observe(nil, signs, at)}
		c.health[node.Name] = h
	} else {
		h.Health = Observe(&h.Health, signs, at)
	}
	h.seen = at
	return h
}

// tryUpdateHealth is one try of updateHealth.
func (c *controller) tryUpdateHealth(p *engine.Process, node *corev1.Node) (observed, ready *corev1.NodeCondition, err error) {
	h := c.observe(node, p.Now())
	observed = conditionOf(node.Status.Conditions, corev1.NodeReady)
	// NODE-002, NODE-003: strictly later than the grace period.
	if !p.Now().After(h.Deadline()) {
		return observed, observed, nil
	}
	conditions := Unresponsive(node, p.Now())
	ready = conditionOf(conditions, corev1.NodeReady)
	// NODE-033: the status is written only if Ready changes.
	if statusOf(observed) == corev1.ConditionUnknown {
		return observed, ready, nil
	}
	p.Decide("NODE-033", node, "no sign of life since %s, for more than %v: its conditions become Unknown",
		h.Probe.Format(time.TimeOnly), h.Deadline().Sub(h.Probe))
	changed := *node
	changed.Status.Conditions = conditions
	if _, err := p.API().Nodes.ReplaceStatus(p, &changed); err != nil {
		return observed, ready, err
	}
	h.Ready = ready
	if at, ok := c.renewed(node.Name, p.Now()); ok {
		h.Lease = &at
	}
	return observed, ready, nil
}

// isNotReady reports whether a node with that Ready condition is not ready; nil, a node without the condition, is neither.
func isNotReady(ready *corev1.NodeCondition) bool {
	return ready != nil && ready.Status != corev1.ConditionTrue
}

// handleDisruption sets the rates of zones (NODE-042 to NODE-044, NODE-049).
func (c *controller) handleDisruption(p *engine.Process, nodes []*corev1.Node, zones map[string][]*corev1.NodeCondition) {
	found := map[string]ZoneState{}
	for zone, conditions := range zones {
		notReady := 0
		for _, ready := range conditions {
			if statusOf(ready) != corev1.ConditionTrue {
				notReady++
			}
		}
		found[zone] = StateOf(len(conditions)-notReady, notReady)
	}
	if maps.Equal(found, c.zones) {
		c.scheduleTaints()
		return // Disrupt would find the same, and no change
	}
	d := Disrupt(c.zones, found)
	if !maps.Equal(d.States, c.zones) {
		c.changed = true
	}
	c.zones = d.States
	switch {
	case d.Stop:
		// NODE-043: if no node is ready anywhere, the controller itself may be what is cut off.
		p.Decide("NODE-043", nil, "no node of the cluster is ready: NoExecute taints are removed, and none is added")
		for _, node := range nodes {
			c.markReachable(p, node)
		}
		for _, zone := range slices.Sorted(maps.Keys(c.zones)) {
			c.queue(zone).setRate(p, 0)
		}
		return
	case d.Restart:
		// NODE-044: every node gets a full grace period.
		p.Decide("NODE-044", nil, "some node of the cluster is ready again: NoExecute taints are added again")
		for _, node := range nodes {
			if h := c.health[node.Name]; h != nil {
				h.Probe = p.Now()
			}
		}
	}
	for _, zone := range slices.Sorted(slices.Values(d.Changed)) {
		// NODE-042: the rate depends on the state and the size of the zone.
		c.queue(zone).setRate(p, RateOf(c.zones[zone], len(zones[zone])))
		if !d.Restart && c.zones[zone] != Normal {
			p.Decide("NODE-042", nil, "zone %q is in state %s", zone, c.zones[zone])
		}
	}
	c.scheduleTaints()
}
