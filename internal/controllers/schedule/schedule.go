package schedule

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
)

// errNoNodes is the result for every pod in a cluster without nodes.
var errNoNodes = errors.New(reasonNoNodes)

// fitError is the result for a pod that fits on no node. It is part of its cycle, and valid until the next one begins.
type fitError struct{ diagnosis diagnosis }

func (err *fitError) Error() string { return err.diagnosis.message() }

// schedule tries to find a node for one pod. If it finds one, a binding cycle of its own binds the pod (SCHED-020 to SCHED-029).
func (s *scheduler) schedule(p *engine.Process, item *queuedPod) {
	pod := item.pod
	if pod.DeletionTimestamp != nil {
		// SCHED-021: a pod that is being deleted is not scheduled.
		s.events.Event(p, pod, corev1.EventTypeWarning, "FailedScheduling", "skip schedule deleting pod: %s/%s", pod.Namespace, pod.Name)
		return
	}
	// SCHED-027: a pod that an update queued again, before it was assumed, has its node already.
	if s.pods.isAssumed(item.key) {
		return
	}
	c := &s.cycle
	c.reset(s.lookups(), pod, item.claims)
	node, err := s.findNode(p, c)
	if err != nil {
		s.rejected(p, item, c, err)
		return
	}
	// SCHED-027: from here on the pod counts as being on the node, and the next one is tried.
	s.nominated.remove(item.key)
	s.pods.assume(item.key, pod, node, item.claims)
	res, err := s.reserve(pod, node, item.claims, c.found[node])
	if err != nil {
		// SCHED-133, SCHED-237: an object that has changed since fails the attempt.
		s.pods.remove(item.key)
		s.fail(p, item, fmt.Errorf("running Reserve plugin %q: %w", volumeBinding, err), new(""))
		return
	}
	s.actor.Go("binding of "+item.key, func(p *engine.Process) { s.bind(p, item, res) })
}

// unnominated is the nomination that ends one.
var unnominated string

// rejected handles a pod for which no node was found. It may evict pods of lower priority.
func (s *scheduler) rejected(p *engine.Process, item *queuedPod, c *cycle, err error) {
	// The nomination ends unless postFilter makes another one. A pod rejected before any node was filtered keeps it.
	nominate := &unnominated
	if unfit, ok := errors.AsType[*fitError](err); ok {
		nominate = s.postFilter(c, &unfit.diagnosis)
	}
	s.fail(p, item, err, nominate)
}

// findNode returns the node for a pod. The error says why there is none: errNoNodes, a *fitError, or the error of a plugin (SCHED-237).
func (s *scheduler) findNode(p *engine.Process, c *cycle) (string, error) {
	nodes := s.nodes()
	if len(nodes) == 0 {
		// SCHED-022: no plugin runs.
		return "", errNoNodes
	}
	d := &c.unfit.diagnosis
	d.nodes = len(nodes)
	if answer := c.preFilter(); answer.code == failed {
		return "", answer.err
	} else if answer.rejected() {
		// SCHED-232: no node is filtered.
		d.preFilter = answer.message()
		d.blame(answer.plugin)
		return "", &c.unfit
	}
	feasible, err := s.feasible(c, nodes, d)
	switch {
	case err != nil:
		return "", err
	case len(feasible) == 0:
		return "", &c.unfit
	}
	node, err := s.choose(c, feasible)
	if err != nil {
		return "", err
	}
	if p.Tracing() {
		p.Decide("SCHED-026", c.pod, "goes to node %s", node.Name)
	}
	for _, b := range c.found[node.Name].bindings {
		p.Decide("SCHED-086", b.claim, "gets volume %s on node %s", b.pv.Name, node.Name)
	}
	for _, claim := range c.found[node.Name].provisions {
		p.Decide("SCHED-100", claim, "will be provisioned for node %s", node.Name)
	}
	return node.Name, nil
}

// feasible returns the nodes that the pod fits on, and records in d why it does not fit on others.
func (s *scheduler) feasible(c *cycle, nodes []nodeSlot, d *diagnosis) ([]*nodeState, error) {
	// SCHED-318: the nominated node is enough if the pod fits there: pods were evicted for it, or an earlier attempt chose it.
	if name := c.pod.Status.NominatedNodeName; name != "" {
		if slot, ok := s.slot(name); ok {
			if at := s.state(slot); s.filter(c, at).code == success {
				return []*nodeState{at}, nil
			}
		}
	}
	enough, first := enoughNodes(len(nodes)), 0
	if len(nodes) >= manyNodes {
		first = s.first
	}
	// Filters that would accept a node are not run, unless pods are nominated to nodes, or an observer learns what is read.
	quick := s.nominated.empty() && !s.observed() && c.undemanding()
	fit := s.fit[:0]
	tried := 0
	for ; tried < len(nodes) && len(fit) < enough; tried++ {
		slot := &nodes[(first+tried)%len(nodes)]
		if quick && slot.accepts(c.requests) {
			fit = append(fit, &slot.at)
			continue
		}
		at := s.state(slot)
		answer := s.filter(c, at)
		switch answer.code {
		case success:
			fit = append(fit, at)
		case failed:
			// SCHED-237: an error on one node fails the attempt.
			return nil, answer.err
		default:
			d.add(at.node.Name, answer)
		}
	}
	// SCHED-025: the next search begins where this one ended. That matters only if not all nodes are filtered.
	s.first = (first + tried) % len(nodes)
	s.fit = fit
	return fit, nil
}

// filter runs the filters on a node, with and without the pods that are nominated to it.
func (s *scheduler) filter(c *cycle, at *nodeState) status {
	return c.filterWith(at, s.nominatedTo(at.node.Name, c.pod))
}

// enoughNodes returns the number of feasible nodes that ends the search (SCHED-025).
func enoughNodes(all int) int {
	// SCHED-025: half of them, fewer in large clusters, at least a hundred.
	return max(manyNodes, all*max(50-all/125, 5)/100)
}

// choose returns the feasible node with the highest score (SCHED-026).
func (s *scheduler) choose(c *cycle, feasible []*nodeState) (*corev1.Node, error) {
	if len(feasible) == 1 {
		// SCHED-026: a single node is not scored.
		return feasible[0].node, nil
	}
	scores, err := s.scores(c, feasible)
	if err != nil {
		return nil, err
	}
	best := 0
	for i := range feasible {
		if most := scores[best]; scores[i] > most || scores[i] == most && s.precedes(feasible[i], feasible[best]) {
			best = i
		}
	}
	return feasible[best].node, nil
}

// precedes decides between two nodes with one score (SCHED-026).
func (s *scheduler) precedes(a, b *nodeState) bool {
	// SCHED-026: SIM: ties are decided by name, in large clusters first by the number of pods.
	if len(s.table.slots) >= manyNodes && a.on.n != b.on.n {
		return a.on.n < b.on.n
	}
	return a.rank < b.rank
}

// scores returns the scores of nodes: those of the user's function, or of the plugins.
func (s *scheduler) scores(c *cycle, nodes []*nodeState) ([]int64, error) {
	if s.cfg.Score != nil {
		scores := make([]int64, len(nodes))
		for i := range nodes {
			scores[i] = s.cfg.Score(c.pod, nodes[i].node)
		}
		return scores, nil
	}
	return c.score(nodes, nil)
}

// nominatedTo returns the waiting pods nominated to the node whose priority is at least that of the pod, by key.
func (s *scheduler) nominatedTo(node string, pod *corev1.Pod) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, other := range s.nominated.on(node) {
		if priorityOf(other) >= priorityOf(pod) && (other.Name != pod.Name || other.Namespace != pod.Namespace) {
			pods = append(pods, other)
		}
	}
	return pods
}
