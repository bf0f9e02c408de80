package tainteviction_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/controllers/tainteviction"
)

func TestEvict(t *testing.T) {
	taint := func(keys ...string) (taints []corev1.Taint) {
		for _, key := range keys {
			taints = append(taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute})
		}
		return taints
	}
	tolerate := func(key string, seconds ...int64) corev1.Toleration {
		toleration := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}
		for _, s := range seconds {
			toleration.TolerationSeconds = &s
		}
		return toleration
	}
	tests := []struct {
		rule, name  string
		tolerations []corev1.Toleration
		taints      []corev1.Taint
		want        time.Duration
	}{
		{"NODE-062", "no taint", nil, nil, tainteviction.Forever},
		{"NODE-062", "no toleration", nil, taint("a"), 0},
		{"NODE-062", "for ever", []corev1.Toleration{tolerate("a")}, taint("a"), tainteviction.Forever},
		{"NODE-062", "for a time", []corev1.Toleration{tolerate("a", 300)}, taint("a"), 300 * time.Second},
		{"NODE-062", "not at all", []corev1.Toleration{tolerate("a", 0)}, taint("a"), 0},
		{"NODE-062", "negative", []corev1.Toleration{tolerate("a", -5)}, taint("a"), 0},
		{"NODE-062", "one of two taints is not tolerated", []corev1.Toleration{tolerate("a")}, taint("a", "b"), 0},
		{"NODE-062", "the smallest counts", []corev1.Toleration{tolerate("a", 300), tolerate("b", 20), tolerate("c")}, taint("a", "b", "c"),
			20 * time.Second},
		{"NODE-062", "the first that matches counts", []corev1.Toleration{tolerate("a", 300), tolerate("a", 20)}, taint("a"), 300 * time.Second},
		{"NODE-062", "every key", []corev1.Toleration{tolerate("", 7)}, taint("a"), 7 * time.Second},
	}
	for _, tt := range tests {
		if got := tainteviction.Evict(tt.tolerations, tt.taints); got != tt.want {
			t.Errorf("%s, %s: Evict() = %v, want %v", tt.rule, tt.name, got, tt.want)
		}
	}
}
