package schedule

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// errNoNodes is what every pod gets in a cluster without nodes.
var errNoNodes = errors.New(reasonNoNodes)

// unfit is the error of a pod that was turned down everywhere.
type unfit struct{ diagnosis diagnosis }

func (err *unfit) Error() string { return err.diagnosis.message() }

// schedule tries to find a node for one pod; if there is one, the pod is bound in the background (SCHED-020 to SCHED-029).
func (s *scheduler) schedule(p *engine.Proc, item *queuedPod) {
	pod := item.pod
	if pod.DeletionTimestamp != nil {
		// SCHED-021
		s.events.Event(p, pod, corev1.EventTypeWarning, "FailedScheduling", "skip schedule deleting pod: %s/%s", pod.Namespace, pod.Name)
		return
	}
	if s.pods.assumed[item.key] {
		return
	}
	c := newCycle(s.look, pod)
	node, err := s.findNode(p, c)
	if err != nil {
		s.turnedDown(p, item, c, err)
		return
	}
	// SCHED-027: from here on the pod counts as being on the node, and the next one is tried.
	assumed := *pod
	assumed.Spec.NodeName = node
	delete(s.nominated, item.key)
	s.pods.assume(&assumed)
	res, err := s.reserve(&assumed, c.found[node])
	if err != nil {
		// SCHED-237, SCHED-133
		s.pods.remove(item.key)
		s.fail(p, item, fmt.Errorf("running Reserve plugin %q: %w", volumeBinding, err), new(""))
		return
	}
	s.actor.Go("binding of "+item.key, func(p *engine.Proc) { s.bind(p, item, res) })
}

// turnedDown deals with a pod that no node was found for; other pods may have to go for it.
func (s *scheduler) turnedDown(p *engine.Proc, item *queuedPod, c *cycle, err error) {
	// A nomination ends unless another one follows; but a pod that was not even filtered keeps it.
	nominate := new("")
	var none *unfit
	if errors.As(err, &none) {
		nominate = s.postFilter(c, &none.diagnosis)
	}
	s.fail(p, item, err, nominate)
}

// findNode finds the node for a pod. The error says why there is none: errNoNodes, an *unfit, or what went wrong.
func (s *scheduler) findNode(p *engine.Proc, c *cycle) (string, error) {
	nodes := s.nodeNames()
	if len(nodes) == 0 {
		// SCHED-022
		return "", errNoNodes
	}
	d := diagnosis{nodes: len(nodes)}
	if answer := c.preFilter(); answer.code == failed {
		return "", answer.err
	} else if answer.rejected() {
		// SCHED-232: no node is looked at.
		d.preFilter = answer.message()
		d.blame(answer.plugin)
		return "", &unfit{d}
	}
	feasible, err := s.feasible(c, nodes, &d)
	switch {
	case err != nil:
		return "", err
	case len(feasible) == 0:
		return "", &unfit{d}
	}
	node := s.choose(c.pod, feasible)
	p.Decide("SCHED-026", c.pod, "goes to node %s", node.Name)
	for _, b := range c.found[node.Name].bindings {
		p.Decide("SCHED-086", b.claim, "gets volume %s on node %s", b.pv.Name, node.Name)
	}
	for _, claim := range c.found[node.Name].provisions {
		p.Decide("SCHED-100", claim, "is to be provisioned for node %s", node.Name)
	}
	return node.Name, nil
}

// nodeNames lists the nodes in order.
func (s *scheduler) nodeNames() []string {
	if s.names == nil {
		for node := range s.inf.nodes.All() {
			s.names = append(s.names, node.Name)
		}
	}
	return s.names
}

// feasible lists the nodes that the pod fits on, and notes why it does not fit on the others.
func (s *scheduler) feasible(c *cycle, nodes []string, d *diagnosis) ([]*corev1.Node, error) {
	// A node that was cleared for the pod, or that it was to be bound to, is enough.
	if name := c.pod.Status.NominatedNodeName; name != "" {
		if node, ok := s.inf.nodes.Get(name); ok && s.filter(c, node).code == success {
			return []*corev1.Node{node}, nil
		}
	}
	enough, first := enoughNodes(len(nodes)), 0
	if s.cfg.Score == nil {
		// SCHED-026: SIM: where all are equal the first one will be chosen, so no other is looked for.
		enough = 1
	}
	if len(nodes) >= manyNodes {
		first = s.first
	}
	var fit []*corev1.Node
	tried := 0
	for ; tried < len(nodes) && len(fit) < enough; tried++ {
		node, ok := s.inf.nodes.Get(nodes[(first+tried)%len(nodes)])
		if !ok {
			continue
		}
		switch answer := s.filter(c, node); answer.code {
		case success:
			fit = append(fit, node)
		case failed:
			// SCHED-237: one node is enough for that.
			return nil, answer.err
		default:
			d.add(node.Name, answer)
		}
	}
	// SCHED-025: the next search begins where this one ended; it makes a difference only where not all nodes are looked at.
	s.first = (first + tried) % len(nodes)
	return fit, nil
}

// filter asks the plugins about the pod on a node, with the pods that the node was cleared for and without them.
func (s *scheduler) filter(c *cycle, node *corev1.Node) status {
	return c.filterWith(s.nominatedTo(node.Name, c.pod), func(expected []*corev1.Pod) place { return s.place(node, expected) })
}

// place is a node with the pods on it and those that are expected there.
func (s *scheduler) place(node *corev1.Node, expected []*corev1.Pod) place {
	used, n := s.pods.used(node.Name)
	if len(expected) == 0 {
		return place{node: node, used: used, n: n, pods: func() []*corev1.Pod { return s.pods.on(node.Name) }}
	}
	return placeOf(node, append(s.pods.on(node.Name), expected...))
}

// placeOf is a node with these pods on it.
func placeOf(node *corev1.Node, pods []*corev1.Pod) place {
	at := place{node: node, n: len(pods), pods: func() []*corev1.Pod { return pods }}
	for _, pod := range pods {
		at.used = at.used.plus(requestsOf(pod), 1)
	}
	return at
}

// enoughNodes is how many nodes that fit end the search (SCHED-025).
func enoughNodes(all int) int {
	// SCHED-025: half of them, fewer in large clusters, at least a hundred.
	return max(manyNodes, all*max(50-all/125, 5)/100)
}

// choose picks one of the nodes that the pod fits on (SCHED-026).
func (s *scheduler) choose(pod *corev1.Pod, feasible []*corev1.Node) *corev1.Node {
	score := func(*corev1.Node) int64 { return 0 }
	// SCHED-120: volumes have no say in it.
	if s.cfg.Score != nil && len(feasible) > 1 {
		score = func(node *corev1.Node) int64 { return s.cfg.Score(pod, node) }
	}
	best := feasible[0]
	most := score(best)
	for _, node := range feasible[1:] {
		// SCHED-026: SIM: by name among equals.
		if n := score(node); n > most || n == most && node.Name < best.Name {
			best, most = node, n
		}
	}
	return best
}

// nominatedTo lists the waiting pods that the node was cleared for and that come before the pod, by key.
func (s *scheduler) nominatedTo(node string, pod *corev1.Pod) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, key := range sortedKeys(s.nominated) {
		if other := s.nominated[key]; other.Status.NominatedNodeName == node && key != api.KeyOf(pod) && priorityOf(other) >= priorityOf(pod) {
			pods = append(pods, other)
		}
	}
	return pods
}
