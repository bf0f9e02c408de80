package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The grace periods of nodes.
const (
	gracePeriod        = 50 * time.Second // NODE-002: --node-monitor-grace-period
	startupGracePeriod = 60 * time.Second // NODE-003: --node-startup-grace-period, for a node that has no Ready condition
)

// Health holds the last signs of life of a node between passes.
type Health struct {
	// Probe is the pass that last saw a sign of life (NODE-031).
	Probe time.Time
	// Ready is the Ready condition as last seen, nil if the node had none.
	Ready *corev1.NodeCondition
	// Lease is the renewal that was last seen, nil for none. A new heartbeat of the status clears it (NODE-032).
	Lease *time.Time
}

// Signs are the signs of life that a pass finds.
type Signs struct {
	// Created is when the Node object was created.
	Created time.Time
	// Ready is the Ready condition of the node, nil if it has none.
	Ready *corev1.NodeCondition
	// Lease is the last renewal of the lease, nil if there is none.
	Lease *time.Time
}

// Observe returns the health of a node after a pass at now (NODE-031, NODE-032). old is nil for a node that no pass has seen.
func Observe(old *Health, s Signs, now time.Time) Health {
	next := Health{Probe: now, Ready: s.Ready}
	var savedLease *time.Time
	if old != nil {
		savedLease = old.Lease
	}
	switch {
	case old == nil && s.Ready == nil:
		// NODE-031: a node without a Ready condition counts from its creation.
		next.Probe = s.Created
	case old == nil:
	case s.Ready == nil, old.Ready != nil && old.Ready.LastHeartbeatTime.Equal(&s.Ready.LastHeartbeatTime):
		// NODE-031: no heartbeat since the last pass.
		next.Probe, next.Lease = old.Probe, old.Lease
		if s.Ready != nil {
			next.Ready = old.Ready
		}
	}
	// NODE-032: a renewal is a sign of life, and so is the first lease that is seen after a heartbeat.
	if s.Lease != nil && (savedLease == nil || savedLease.Before(*s.Lease)) {
		next.Lease, next.Probe = s.Lease, now
	}
	return next
}

// Deadline returns the time after which a node without signs of life is unresponsive (NODE-002, NODE-003).
func (h Health) Deadline() time.Time {
	if h.Ready == nil {
		return h.Probe.Add(startupGracePeriod)
	}
	return h.Probe.Add(gracePeriod)
}

// reported are the conditions that become Unknown (NODE-033). NetworkUnavailable is not among them: it is not the kubelet's.
var reported = []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure}

// Unresponsive returns the conditions of a node that is unresponsive at now, in a new slice (NODE-033).
func Unresponsive(node *corev1.Node, now time.Time) []corev1.NodeCondition {
	at := metav1.NewTime(now)
	conditions := append([]corev1.NodeCondition(nil), node.Status.Conditions...)
	for _, kind := range reported {
		c := conditionOf(conditions, kind)
		switch {
		case c == nil:
			conditions = append(conditions, corev1.NodeCondition{
				Type: kind, Status: corev1.ConditionUnknown, Reason: "NodeStatusNeverUpdated", Message: "Kubelet never posted node status.",
				LastHeartbeatTime: node.CreationTimestamp, LastTransitionTime: at,
			})
		case c.Status != corev1.ConditionUnknown:
			c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
			c.LastTransitionTime = at
		}
	}
	return conditions
}

// conditionOf returns the first condition of a type, nil if there is none.
func conditionOf(conditions []corev1.NodeCondition, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}

// statusOf is the status of a condition, "" for nil.
func statusOf(c *corev1.NodeCondition) corev1.ConditionStatus {
	if c == nil {
		return ""
	}
	return c.Status
}
