package nodelifecycle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

const (
	taintTries = 5                      // NODE-051: so many tries to write taints
	taintPause = 100 * time.Millisecond // NODE-051: SIM: without the random part of up to 100 ms
	// taintRetry is the pause before a node is tried again whose Ready condition is not known (NODE-046).
	taintRetry = 50 * time.Millisecond
)

// updateNoExecuteTaint queues a node for its taint, exchanges the taint, or removes it, by the status of Ready (NODE-037).
func (c *controller) updateNoExecuteTaint(p *engine.Process, node *corev1.Node, ready corev1.ConditionStatus) {
	add, remove, ok := NoExecuteTaint(ready)
	queue := c.queue(ZoneOf(node))
	switch {
	case !ok:
		// NODE-037: a node that is ready has neither taint.
		c.markReachable(p, node)
	case hasTaint(node.Spec.Taints, remove):
		// NODE-037: the taint of the other kind is exchanged at once.
		p.Decide("NODE-037", node, "Ready is %s: taint %s replaces %s", ready, add.Key, remove.Key)
		if !c.swapTaints(p, node, []corev1.Taint{add}, []corev1.Taint{remove}) {
			c.changed = true // the next pass tries again
		}
	default:
		if !hasTaint(node.Spec.Taints, add) {
			// NODE-046: a node without the taint goes to the end of the queue, in each pass.
			queue.remove(node.Name)
			c.changed = true
		} else if !queue.known[node.Name] {
			c.changed = true
		}
		queue.add(node.Name, p.Now())
		c.scheduleTaints()
	}
}

// markReachable removes the NoExecute taints of the controller from a node, and the node from the queue of its zone (NODE-037).
func (c *controller) markReachable(p *engine.Process, node *corev1.Node) {
	for _, taint := range []corev1.Taint{unreachableTaint, notReadyTaint} {
		if c.removeTaints(p, node, []corev1.Taint{taint}) != nil {
			c.changed = true // the next pass tries again
			return
		}
	}
	if c.queue(ZoneOf(node)).remove(node.Name) {
		c.changed = true
	}
}

// addNoExecuteTaints is a pass over the queues of all zones (NODE-046).
func (c *controller) addNoExecuteTaints(p *engine.Process) {
	// NODE-046: SIM: zones in the order of their first nodes.
	for _, zone := range c.order {
		queue := c.queues[zone]
		queue.trying = true
		queue.try(p.Now, func(name string) (bool, time.Duration) { return c.addNoExecuteTaint(p, name) })
		queue.trying = false
		queue.tried.Release()
	}
	c.scheduleTaints()
}

// addNoExecuteTaint gives a node the taint that its Ready condition in the cache calls for. It returns false if that has to be repeated.
func (c *controller) addNoExecuteTaint(p *engine.Process, name string) (done bool, pause time.Duration) {
	node, ok := c.nodes.Get(name)
	if !ok {
		return true, 0
	}
	ready := conditionOf(node.Status.Conditions, corev1.NodeReady)
	if ready == nil {
		return false, taintRetry
	}
	add, remove, ok := NoExecuteTaint(ready.Status)
	if !ok {
		// NODE-046: the node is ready again.
		return true, 0
	}
	p.Decide("NODE-046", node, "Ready is %s: it gets the taint %s with effect NoExecute", ready.Status, add.Key)
	if !c.swapTaints(p, node, []corev1.Taint{add}, []corev1.Taint{remove}) {
		c.monitor.Arm()
		return false, 0
	}
	return true, 0
}

// scheduleTaints requests the next pass over the queues at the time at which a node can be tried.
func (c *controller) scheduleTaints() {
	now := c.actor.Engine().Now()
	for _, queue := range c.queues {
		if len(queue.waiting) > 0 && queue.bucket.rate > 0 {
			c.tainter.ArmAt(now.Add(queue.bucket.wait(now) - 1))
		}
	}
}

// swapTaints adds taints to a node and then removes others. It reports success.
func (c *controller) swapTaints(p *engine.Process, node *corev1.Node, add, remove []corev1.Taint) bool {
	// NODE-051: each added taint has the time of the decision.
	at := metav1.NewTime(p.Now().Truncate(time.Second))
	for i := range add {
		add[i].TimeAdded = &at
	}
	if len(add) > 0 {
		err := writeTaints(p, node.Name, func(taints []corev1.Taint) ([]corev1.Taint, bool) { return withTaints(taints, add) })
		if err != nil {
			p.Decide("NODE-051", node, "the taints could not be written: %v", err)
			return false
		}
	}
	return c.removeTaints(p, node, remove) == nil
}

// removeTaints removes taints from a node, if the given version has one of them.
func (c *controller) removeTaints(p *engine.Process, node *corev1.Node, remove []corev1.Taint) error {
	if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return hasTaint(remove, t) }) {
		return nil
	}
	err := writeTaints(p, node.Name, func(taints []corev1.Taint) ([]corev1.Taint, bool) { return withoutTaints(taints, remove) })
	if err != nil {
		p.Decide("NODE-051", node, "the taints could not be removed: %v", err)
	}
	return err
}

// writeTaints reads a node and writes the taints that change computes. The write conflicts with a change since the read, and is then repeated
// (NODE-051).
func writeTaints(p *engine.Process, name string, change func([]corev1.Taint) ([]corev1.Taint, bool)) error {
	for try := 1; ; try++ {
		node, err := p.API().Nodes.Get(p, name)
		if err != nil {
			return err
		}
		taints, changed := change(node.Spec.Taints)
		if !changed {
			return nil
		}
		if _, err = p.API().Nodes.PatchWith(p, name, func(newest *corev1.Node) error {
			newest.ResourceVersion, newest.Spec.Taints = node.ResourceVersion, taints
			return nil
		}, api.Main); !apierrors.IsConflict(err) || try == taintTries {
			return err
		}
		p.Sleep(taintPause)
	}
}
