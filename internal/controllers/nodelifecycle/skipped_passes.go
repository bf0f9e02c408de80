package nodelifecycle

import (
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Errors of a sync of a pod.
var (
	errNoNode    = errors.New("its node is unknown")
	errNotMarked = errors.New("it could not be marked as not ready")
)

// skipping decides which passes of the monitor run. A pass finds something new only if a node has changed, if a grace period has ended, or if
// the pass before did something. Of a node that shows signs of life as expected, only the pass that sees them last counts, and that is
// computed when it is needed (see observe).
type skipping struct {
	// base is the end of the last pass, or the start of the controller: passes fall on base plus multiples of the period.
	base time.Time
	// beats are the last heartbeats of a node's status: the skipped passes that would have seen one, without a gap. What a pass concludes
	// from a heartbeat depends on whether the pass before saw one, too (NODE-032).
	beats map[string][]time.Time
	// since are the times at which nodes appeared. Passes before that did not see them.
	since map[string]time.Time
	// changed says that the pass that runs changed what the controller remembers.
	changed bool
	// none says that no pass is skipped.
	none bool
}

// wakeFor requests a pass if the change of a node can matter to it.
func (c *controller) wakeFor(old, node *corev1.Node) {
	if old == nil {
		c.skip.since[node.Name] = c.actor.Engine().Now()
	}
	if old == nil || old.UID != node.UID || !maps.Equal(old.Labels, node.Labels) ||
		!equality.Semantic.DeepEqual(old.Spec.Taints, node.Spec.Taints) || !sameButHeartbeat(old.Status.Conditions, node.Status.Conditions) {
		c.wake(needsTaint(node))
		return
	}
	before, ready := conditionOf(old.Status.Conditions, corev1.NodeReady), conditionOf(node.Status.Conditions, corev1.NodeReady)
	if ready != nil && !before.LastHeartbeatTime.Equal(&ready.LastHeartbeatTime) {
		c.noteBeat(node.Name)
		if !c.renewing(node.Name) {
			c.wake(false)
		}
	}
}

// noteBeat records that a heartbeat of a node arrives now.
func (c *controller) noteBeat(node string) {
	// A pass at the instant at which a heartbeat arrives has missed it.
	tick := c.tickAt(c.actor.Engine().Now().Add(1))
	beats := c.skip.beats[node]
	switch n := len(beats); {
	case n > 0 && beats[n-1].Equal(tick):
		return
	case n > 0 && tick.Sub(beats[n-1]) > monitorPeriod:
		beats = beats[:0]
	}
	c.skip.beats[node] = append(beats, tick)
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
		a.LastHeartbeatTime = b.LastHeartbeatTime
		return equality.Semantic.DeepEqual(a, b)
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

// tickAt returns the first tick at or after t, after the last pass.
func (c *controller) tickAt(t time.Time) time.Time {
	if !t.After(c.skip.base) {
		return c.skip.base
	}
	periods := (t.Sub(c.skip.base) + monitorPeriod - 1) / monitorPeriod
	return c.skip.base.Add(periods * monitorPeriod)
}

// observe returns the health of a node after a pass at now, as if no pass since the last one had been skipped: it repeats the skipped passes
// in which this node showed a new sign of life.
func (c *controller) observe(node *corev1.Node, now time.Time) *Health {
	h := c.health[node.Name]
	ready := conditionOf(node.Status.Conditions, corev1.NodeReady)
	look := func(at time.Time, ready *corev1.NodeCondition) {
		signs := Signs{Created: node.CreationTimestamp.Time, Ready: ready}
		if lease, ok := c.renewed(node.Name, at); ok {
			signs.Lease = &lease
		}
		next := Observe(h, signs, at)
		h = &next
	}
	if h != nil {
		// NODE-031: what changed is the heartbeat, and the renewals before and after it.
		var ticks []time.Time
		seen, beats := h.Ready, c.skip.beats[node.Name]
		if n := len(beats); n > 0 {
			ticks = append(ticks, beats[0].Add(-monitorPeriod), beats[n-1].Add(monitorPeriod))
			ticks = append(ticks, beats...)
		}
		if lease, ok := c.renewed(node.Name, now); ok {
			ticks = append(ticks, c.tickAt(lease))
		}
		if h.Lease == nil {
			// NODE-032: the pass after a heartbeat sees the lease anew.
			ticks = append(ticks, c.skip.base.Add(monitorPeriod))
		}
		slices.SortFunc(ticks, time.Time.Compare)
		for _, at := range ticks {
			if !at.After(c.skip.base) || !at.After(c.skip.since[node.Name]) || !at.Before(now) {
				continue
			}
			if seen != nil && slices.ContainsFunc(beats, at.Equal) {
				// Its heartbeat differs from the one before; which one it has is of no importance.
				beat := *seen
				beat.LastHeartbeatTime = metav1.NewTime(at)
				seen = &beat
			}
			look(at, seen)
		}
		if n := len(beats); n > 0 && beats[n-1].Before(now) && !beats[n-1].Before(c.skip.base) {
			// The pass at now sees the last heartbeat again.
			h.Ready = ready
		}
	}
	look(now, ready)
	delete(c.skip.beats, node.Name)
	c.health[node.Name] = h
	return h
}

// observeLast observes a node that is gone, as the last pass would have that saw it.
func (c *controller) observeLast(node *corev1.Node) {
	last := c.skip.base.Add(c.actor.Engine().Now().Sub(c.skip.base).Truncate(monitorPeriod))
	if last.After(c.skip.base) && last.After(c.skip.since[node.Name]) {
		c.observe(node, last)
	}
}

// scheduleMonitor requests the next pass that can find something new.
func (c *controller) scheduleMonitor(nodes []*corev1.Node, effects bool) {
	if effects || c.skip.changed || len(c.retry) > 0 || c.skip.none {
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
