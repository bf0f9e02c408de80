package podgc_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/controllers/podgc"
)

var zero = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// pod is a pod of that age in seconds.
func pod(name string, phase corev1.PodPhase, age int, edits ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{}
	p.Name, p.CreationTimestamp, p.Status.Phase = name, metav1.NewTime(zero.Add(-time.Duration(age)*time.Second)), phase
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func on(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }

func deleted(p *corev1.Pod) {
	now := metav1.NewTime(zero)
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &now, new(int64(30))
}

func evicted(p *corev1.Pod) { p.Status.Reason = "Evicted" }

func names(pods []*corev1.Pod) []string {
	var names []string
	for _, p := range pods {
		names = append(names, p.Name)
	}
	return names
}

func TestTerminated(t *testing.T) {
	pods := []*corev1.Pod{
		pod("running", corev1.PodRunning, 9), pod("pending", corev1.PodPending, 9), pod("unknown", corev1.PodUnknown, 9),
		pod("old", corev1.PodSucceeded, 5), pod("b", corev1.PodFailed, 3), pod("a", corev1.PodSucceeded, 3),
		pod("evicted", corev1.PodFailed, 1, evicted),
	}
	tests := []struct {
		rule      string
		threshold int
		want      []string
	}{
		{"NODE-071", 4, nil},
		{"NODE-071", 3, []string{"evicted"}},
		{"NODE-071", 2, []string{"evicted", "old"}},
		{"NODE-071", 0, []string{"evicted", "old", "a", "b"}},
	}
	for _, tt := range tests {
		if got := names(podgc.Terminated(pods, tt.threshold)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: Terminated(%d) = %v, want %v", tt.rule, tt.threshold, got, tt.want)
		}
	}
}

func TestOutOfService(t *testing.T) {
	node := func(ready corev1.ConditionStatus, taints ...corev1.Taint) *corev1.Node {
		n := &corev1.Node{}
		n.Spec.Taints, n.Status.Conditions = taints, []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		return n
	}
	out := corev1.Taint{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute}
	nodes := map[string]*corev1.Node{"out": node(corev1.ConditionUnknown, out), "ready": node(corev1.ConditionTrue, out),
		"down": node(corev1.ConditionFalse)}
	pods := []*corev1.Pod{
		pod("goes", corev1.PodRunning, 1, on("out"), deleted), pod("first", corev1.PodRunning, 2, on("out"), deleted),
		pod("stays", corev1.PodRunning, 1, on("out")),
		pod("on a ready node", corev1.PodRunning, 1, on("ready"), deleted), pod("without taint", corev1.PodRunning, 1, on("down"), deleted),
		pod("on no node", corev1.PodRunning, 1, deleted), pod("on a missing node", corev1.PodRunning, 1, on("gone"), deleted),
	}
	got := names(podgc.OutOfService(pods, func(name string) *corev1.Node { return nodes[name] }))
	if want := []string{"first", "goes"}; !slices.Equal(got, want) {
		t.Errorf("ATT-196: OutOfService() = %v, want %v", got, want)
	}
	got = names(podgc.Unscheduled(pods))
	if want := []string{"on no node"}; !slices.Equal(got, want) {
		t.Errorf("NODE-075: Unscheduled() = %v, want %v", got, want)
	}
}
