package nodelifecycle_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/controllers/nodelifecycle"
)

func TestNoScheduleChanges(t *testing.T) {
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status}
	}
	taint := func(key string, effect corev1.TaintEffect) corev1.Taint {
		return corev1.Taint{Key: key, Effect: effect}
	}
	const no = corev1.TaintEffectNoSchedule
	tests := []struct {
		rule, name  string
		conditions  []corev1.NodeCondition
		cordoned    bool
		taints      []corev1.Taint
		add, remove []string
	}{
		{"NODE-050", "ready", []corev1.NodeCondition{condition(corev1.NodeReady, corev1.ConditionTrue)}, false, nil, nil, nil},
		{"NODE-050", "no status", nil, false, nil, nil, nil},
		{"NODE-050", "not ready", []corev1.NodeCondition{condition(corev1.NodeReady, corev1.ConditionFalse)}, false, nil, []string{corev1.TaintNodeNotReady}, nil},
		{"NODE-050", "unknown after not ready", []corev1.NodeCondition{condition(corev1.NodeReady, corev1.ConditionUnknown)}, false,
			[]corev1.Taint{taint(corev1.TaintNodeNotReady, no)}, []string{corev1.TaintNodeUnreachable}, []string{corev1.TaintNodeNotReady}},
		{"NODE-050", "ready again: the effect NoExecute is not its business", []corev1.NodeCondition{condition(corev1.NodeReady, corev1.ConditionTrue)}, false,
			[]corev1.Taint{taint(corev1.TaintNodeUnreachable, no), taint(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)}, nil, []string{corev1.TaintNodeUnreachable}},
		{"NODE-050", "pressure", []corev1.NodeCondition{condition(corev1.NodeDiskPressure, corev1.ConditionTrue), condition(corev1.NodePIDPressure, corev1.ConditionTrue)}, false,
			nil, []string{corev1.TaintNodeDiskPressure, corev1.TaintNodePIDPressure}, nil},
		{"NODE-050", "unknown pressure", []corev1.NodeCondition{condition(corev1.NodeMemoryPressure, corev1.ConditionUnknown)}, false, nil, nil, nil},
		{"NODE-050", "cordoned", nil, true, nil, []string{corev1.TaintNodeUnschedulable}, nil},
		{"NODE-050", "uncordoned, and a taint of the user", nil, false,
			[]corev1.Taint{taint(corev1.TaintNodeUnschedulable, no), taint("mine", no)}, nil, []string{corev1.TaintNodeUnschedulable}},
	}
	keys := func(taints []corev1.Taint) (keys []string) {
		for _, taint := range taints {
			keys = append(keys, taint.Key)
		}
		return keys
	}
	for _, tt := range tests {
		node := &corev1.Node{}
		node.Spec.Unschedulable, node.Spec.Taints, node.Status.Conditions = tt.cordoned, tt.taints, tt.conditions
		add, remove := nodelifecycle.NoScheduleChanges(node)
		if !slices.Equal(keys(add), tt.add) || !slices.Equal(keys(remove), tt.remove) {
			t.Errorf("%s, %s: NoScheduleChanges() = %v, %v, want %v, %v", tt.rule, tt.name, keys(add), keys(remove), tt.add, tt.remove)
		}
	}
}

func TestNoExecuteTaint(t *testing.T) {
	tests := []struct {
		rule             string
		ready            corev1.ConditionStatus
		add, remove      string
		hasNeitherTaints bool
	}{
		{"NODE-037", corev1.ConditionTrue, "", "", true},
		{"NODE-037", corev1.ConditionFalse, corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, false},
		{"NODE-037", corev1.ConditionUnknown, corev1.TaintNodeUnreachable, corev1.TaintNodeNotReady, false},
	}
	for _, tt := range tests {
		add, remove, ok := nodelifecycle.NoExecuteTaint(tt.ready)
		if add.Key != tt.add || remove.Key != tt.remove || ok == tt.hasNeitherTaints {
			t.Errorf("%s: NoExecuteTaint(%s) = %v, %v, %v, want %q, %q", tt.rule, tt.ready, add, remove, ok, tt.add, tt.remove)
		}
	}
}
