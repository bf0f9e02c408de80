package nodelifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/controllers/nodelifecycle"
)

var zero = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// at is a time in seconds.
func at(seconds float64) time.Time { return zero.Add(time.Duration(seconds * float64(time.Second))) }

// readyAt is the condition Ready=True with a heartbeat of that second.
func readyAt(heartbeat float64) *corev1.NodeCondition {
	return &corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(at(heartbeat))}
}

func lease(renewed float64) *time.Time { t := at(renewed); return &t }

func TestObserve(t *testing.T) {
	signs := func(ready *corev1.NodeCondition, lease *time.Time) nodelifecycle.Signs {
		return nodelifecycle.Signs{Created: at(1), Ready: ready, Lease: lease}
	}
	health := func(probe float64, ready *corev1.NodeCondition, lease *time.Time) *nodelifecycle.Health {
		return &nodelifecycle.Health{Probe: at(probe), Ready: ready, Lease: lease}
	}
	const now = 100
	tests := []struct {
		rule, name string
		old        *nodelifecycle.Health
		signs      nodelifecycle.Signs
		probe      float64
		lease      *time.Time
		deadline   float64
	}{
		{"NODE-003", "a new node without status counts from its creation", nil, signs(nil, nil), 1, nil, 61},
		{"NODE-031", "a new node", nil, signs(readyAt(3), nil), now, nil, 150},
		{"NODE-031", "a new node with a lease", nil, signs(readyAt(3), lease(4)), now, lease(4), 150},
		{"NODE-031", "nothing new", health(50, readyAt(3), lease(4)), signs(readyAt(3), lease(4)), 50, lease(4), 100},
		{"NODE-031", "a renewal", health(50, readyAt(3), lease(4)), signs(readyAt(3), lease(14)), now, lease(14), 150},
		{"NODE-031", "a renewal of a node without status", health(50, nil, lease(4)), signs(nil, lease(14)), now, lease(14), 160},
		{"NODE-031", "an older renewal", health(50, readyAt(3), lease(14)), signs(readyAt(3), lease(4)), 50, lease(14), 100},
		{"NODE-031", "Ready appears", health(50, nil, nil), signs(readyAt(3), nil), now, nil, 150},
		{"NODE-031", "Ready disappears", health(50, readyAt(3), nil), signs(nil, nil), 50, nil, 110},
		{"NODE-032", "a heartbeat", health(50, readyAt(3), lease(4)), signs(readyAt(13), lease(4)), now, nil, 150},
		{"NODE-032", "the pass after it", health(95, readyAt(13), nil), signs(readyAt(13), lease(4)), now, lease(4), 150},
	}
	for _, tt := range tests {
		got := nodelifecycle.Observe(tt.old, tt.signs, at(now))
		if !got.Probe.Equal(at(tt.probe)) || (got.Lease == nil) != (tt.lease == nil) || got.Lease != nil && !got.Lease.Equal(*tt.lease) {
			t.Errorf("%s, %s: Observe() = %+v, want probe %v and lease %v", tt.rule, tt.name, got, at(tt.probe), tt.lease)
		}
		if !got.Deadline().Equal(at(tt.deadline)) {
			t.Errorf("%s, %s: Deadline() = %v, want %v", tt.rule, tt.name, got.Deadline(), at(tt.deadline))
		}
	}
}

func TestUnresponsive(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(at(1))}}
	node.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse},
		*readyAt(3),
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionUnknown, Reason: "Mine"},
	}
	got := nodelifecycle.Unresponsive(node, at(60))
	want := []struct {
		kind      corev1.NodeConditionType
		status    corev1.ConditionStatus
		reason    string
		heartbeat float64
	}{
		{corev1.NodeNetworkUnavailable, corev1.ConditionFalse, "", 0},
		{corev1.NodeReady, corev1.ConditionUnknown, "NodeStatusUnknown", 3},
		{corev1.NodeDiskPressure, corev1.ConditionUnknown, "Mine", 0},
		{corev1.NodeMemoryPressure, corev1.ConditionUnknown, "NodeStatusNeverUpdated", 1},
		{corev1.NodePIDPressure, corev1.ConditionUnknown, "NodeStatusNeverUpdated", 1},
	}
	if len(got) != len(want) {
		t.Fatalf("NODE-033: Unresponsive() has %d conditions, want %d: %+v", len(got), len(want), got)
	}
	for i, w := range want {
		if g := got[i]; g.Type != w.kind || g.Status != w.status || g.Reason != w.reason || w.heartbeat > 0 && !g.LastHeartbeatTime.Time.Equal(at(w.heartbeat)) {
			t.Errorf("NODE-033: condition %d is %+v, want %+v", i, g, w)
		}
	}
	if node.Status.Conditions[1].Status != corev1.ConditionTrue {
		t.Error("NODE-033: Unresponsive changed its argument")
	}
}
