package nodelifecycle

import (
	"maps"
	"slices"
	"time"

	"github.com/volsim/volsim/internal/core/strategy"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A pass of the monitor finds something new only if a node has changed, if a grace period has ended, or if the pass before did something.
// So the monitor is armed for these passes only. The others would only have seen that nodes are alive, and would have made no requests that
// a fault could hit; catchUp computes what they would have seen.

// wakeFor requests a pass if the change of a node can matter to it.
func (c *controller) wakeFor(old, node *corev1.Node) {
	switch {
	case old == nil || old.UID != node.UID || !strategy.SameMap(old.Labels, node.Labels) && !maps.Equal(old.Labels, node.Labels) ||
		len(old.Spec.Taints)+len(node.Spec.Taints) > 0 && !equality.Semantic.DeepEqual(old.Spec.Taints, node.Spec.Taints) || !sameButHeartbeat(old.Status.Conditions, node.Status.Conditions):
		c.wake(needsTaint(node))
	case !heartbeat(old).Equal(heartbeat(node)) && !c.renewing(node.Name):
		c.wake(false)
	}
}

// heartbeat returns when the Ready condition of a node was last reported, nil if it has none.
func heartbeat(node *corev1.Node) *metav1.Time {
	if ready := conditionOf(node.Status.Conditions, corev1.NodeReady); ready != nil {
		return &ready.LastHeartbeatTime
	}
	return nil
}

// wake requests a pass at the next tick. Settle waits for it only if it has work to do.
func (c *controller) wake(work bool) {
	if work {
		c.monitor.Arm()
	} else {
		c.monitor.ArmBackground()
	}
}

// needsTaint reports whether a pass would change the NoExecute taints of a node.
func needsTaint(node *corev1.Node) bool {
	ready := conditionOf(node.Status.Conditions, corev1.NodeReady)
	if ready == nil {
		return false
	}
	if add, remove, ok := NoExecuteTaint(ready.Status); ok {
		return !hasTaint(node.Spec.Taints, add) || hasTaint(node.Spec.Taints, remove)
	}
	return hasTaint(node.Spec.Taints, notReadyTaint) || hasTaint(node.Spec.Taints, unreachableTaint)
}

// sameButHeartbeat reports whether two lists of conditions differ at most in the times of heartbeats.
func sameButHeartbeat(a, b []corev1.NodeCondition) bool {
	return slices.EqualFunc(a, b, func(a, b corev1.NodeCondition) bool {
		return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
			a.LastTransitionTime.Equal(&b.LastTransitionTime)
	})
}

// leaseChanged requests a pass when a kubelet stops or begins to renew.
func (c *controller) leaseChanged(string) {
	if c.actor.Alive() {
		c.monitor.ArmBackground()
	}
}

// renewed returns the last renewal of a node's lease that a pass at now sees.
func (c *controller) renewed(node string, now time.Time) (time.Time, bool) {
	if c.leases == nil {
		// NODE-023: without kubelets, every lease counts as renewed.
		return now, true
	}
	return c.leases.Renewed(node, now)
}

func (c *controller) renewing(node string) bool {
	return c.leases == nil || c.leases.Renewing(node, c.actor.Engine().Now())
}

// catchUp observes a node as the skipped passes would have, all of which saw this version of it. Only three of them can change its health:
// the first, which sees its heartbeat; the second, which sees its lease anew (NODE-032); and the first that sees the last renewal
// (NODE-031).
func (c *controller) catchUp(node *corev1.Node) {
	h := c.health[node.Name]
	if h == nil {
		return
	}
	last, first := c.monitor.LastTick(), c.monitor.TickAfter(h.seen)
	ticks := [3]time.Time{first, c.monitor.TickAfter(first)}
	n := 2
	if renewal, ok := c.renewed(node.Name, last); ok {
		ticks[n] = c.monitor.TickAfter(renewal.Add(-1))
		n++
	}
	for _, tick := range ticks[:n] {
		if tick.After(h.seen) && !tick.After(last) {
			c.observe(node, tick)
		}
	}
	c.notSeen(node.Name)
}

// notSeen records that the skipped passes until now did not see the node.
func (c *controller) notSeen(node string) {
	if h, last := c.health[node], c.monitor.LastTick(); h != nil && last.After(h.seen) {
		h.seen = last
	}
}

// scheduleMonitor requests the next pass that can find something new.
func (c *controller) scheduleMonitor(nodes []*corev1.Node, effects bool) {
	if effects || c.changed || len(c.retry) > 0 || c.everyPass {
		c.monitor.ArmBackground()
		return
	}
	now := c.actor.Engine().Now()
	for _, node := range nodes {
		h := c.health[node.Name]
		if h == nil || statusOf(conditionOf(node.Status.Conditions, corev1.NodeReady)) == corev1.ConditionUnknown {
			continue
		}
		if c.renewing(node.Name) {
			continue
		}
		if _, ok := c.renewed(node.Name, now); ok && h.Lease == nil {
			// NODE-032: the next pass sees this lease anew.
			c.monitor.ArmBackground()
			return
		}
		c.monitor.ArmBackgroundAt(h.Deadline())
	}
}
