package nodelifecycle

import (
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Errors of a sync of a pod.
var (
	errNoNode    = errors.New("its node is unknown")
	errNotMarked = errors.New("it could not be marked as not ready")
)

// skipping decides which passes of the monitor run. A pass finds something new only if a node has changed, if a grace period has ended, or if
// the pass before did something. A node that shows signs of life as expected needs no pass; what the skipped ones would have seen of it is
// computed when a pass runs (see observe).
type skipping struct {
	// base is the end of the last pass, or the start of the controller: passes fall on base plus multiples of the period.
	base time.Time
	// beats are, for each node, the skipped passes that would have seen a new heartbeat of its status.
	beats map[string][]beat
	// since are the times at which nodes appeared. Passes before that did not see them.
	since map[string]time.Time
	// changed says that the pass that runs changed what the controller remembers.
	changed bool
	// none says that no pass is skipped.
	none bool
}

// beat is a pass that would have seen a new heartbeat, and the Ready condition that it would have seen.
type beat struct {
	at    time.Time
	ready *corev1.NodeCondition
}

// wakeFor requests a pass if the change of a node can matter to it.
func (c *controller) wakeFor(old, node *corev1.Node) {
	if old == nil {
		c.skip.since[node.Name] = c.actor.Engine().Now()
	}
	beating := old != nil && hasBeat(old.Status.Conditions, node.Status.Conditions)
	if beating {
		c.noteBeat(node)
	}
	switch {
	case old == nil || old.UID != node.UID || !maps.Equal(old.Labels, node.Labels) ||
		!equality.Semantic.DeepEqual(old.Spec.Taints, node.Spec.Taints) || !sameButHeartbeat(old.Status.Conditions, node.Status.Conditions):
		c.wake(needsTaint(node))
	case beating && !c.renewing(node.Name):
		c.wake(false)
	}
}

// hasBeat reports whether the Ready condition has another heartbeat than before, has appeared or has disappeared.
func hasBeat(before, now []corev1.NodeCondition) bool {
	a, b := conditionOf(before, corev1.NodeReady), conditionOf(now, corev1.NodeReady)
	if a == nil || b == nil {
		return a != b
	}
	return !a.LastHeartbeatTime.Equal(&b.LastHeartbeatTime)
}

// noteBeat records that a heartbeat of a node arrives now.
func (c *controller) noteBeat(node *corev1.Node) {
	// A pass at the instant at which a heartbeat arrives has missed it.
	at, beats := c.tickAt(c.actor.Engine().Now().Add(1)), c.skip.beats[node.Name]
	if n := len(beats); n > 0 && beats[n-1].at.Equal(at) {
		beats = beats[:n-1] // the pass sees the newer one only
	}
	c.skip.beats[node.Name] = append(beats, beat{at, conditionOf(node.Status.Conditions, corev1.NodeReady)})
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

// observe returns the health of a node after a pass at now that sees that Ready condition, as if no pass since the last one had been skipped. From one heartbeat to the next
// only three passes can change the health: the one that sees the heartbeat, the one after it, which sees the lease anew (NODE-032), and the
// first one that sees the last renewal of the lease (NODE-031).
func (c *controller) observe(node *corev1.Node, ready *corev1.NodeCondition, now time.Time) *Health {
	h, beats := c.health[node.Name], c.skip.beats[node.Name]
	pass := func(at time.Time, ready *corev1.NodeCondition) {
		signs := Signs{Created: node.CreationTimestamp.Time, Ready: ready}
		if lease, ok := c.renewed(node.Name, at); ok {
			signs.Lease = &lease
		}
		next := Observe(h, signs, at)
		h = &next
	}
	if h != nil {
		first := beat{c.skip.base.Add(monitorPeriod), h.Ready}
		for i := 0; first.at.Before(now); i++ {
			next := beat{at: now}
			if i < len(beats) && beats[i].at.Before(now) {
				next = beats[i]
			}
			c.replay(node.Name, first, next.at, pass)
			first = next
		}
	}
	pass(now, ready)
	if beats = slices.DeleteFunc(beats, func(b beat) bool { return !b.at.After(now) }); len(beats) > 0 {
		c.skip.beats[node.Name] = beats
	} else {
		delete(c.skip.beats, node.Name)
	}
	c.health[node.Name] = h
	return h
}

// replay makes those passes from a heartbeat until before end that can change the health of a node.
func (c *controller) replay(node string, first beat, end time.Time, pass func(at time.Time, ready *corev1.NodeCondition)) {
	last := end.Add(-monitorPeriod)
	ticks := []time.Time{first.at, first.at.Add(monitorPeriod)}
	if lease, ok := c.renewed(node, last); ok {
		if at := c.tickAt(lease); at.After(ticks[1]) {
			ticks = append(ticks, at)
		}
	}
	for _, at := range ticks {
		if !at.After(last) && at.After(c.skip.since[node]) {
			pass(at, first.ready)
		}
	}
}

// observeLast observes a node that is gone, as the last pass would have that saw it.
func (c *controller) observeLast(node *corev1.Node) {
	last := c.skip.base.Add(c.actor.Engine().Now().Sub(c.skip.base).Truncate(monitorPeriod))
	if !last.After(c.skip.base) || !last.After(c.skip.since[node.Name]) {
		return
	}
	ready := conditionOf(node.Status.Conditions, corev1.NodeReady)
	if h, beats := c.health[node.Name], c.skip.beats[node.Name]; h != nil && len(beats) > 0 {
		// That pass has not seen the heartbeats after it.
		ready = h.Ready
		for _, b := range beats {
			if !b.at.After(last) {
				ready = b.ready
			}
		}
	}
	c.observe(node, ready, last)
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
