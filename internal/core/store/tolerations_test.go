package store_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
)

func TestDefaultTolerations(t *testing.T) {
	const notReady, unreachable = corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable
	tests := []struct {
		rule, name string
		given      []corev1.Toleration
		added      []string
	}{
		{"NODE-080", "none", nil, []string{notReady, unreachable}},
		{"NODE-080", "another", []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}, []string{notReady, unreachable}},
		{"NODE-080", "one of them",
			[]corev1.Toleration{{Key: unreachable, Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(5)),
				Effect: corev1.TaintEffectNoExecute}},
			[]string{notReady}},
		{"NODE-080", "with a value", []corev1.Toleration{{Key: notReady, Operator: corev1.TolerationOpEqual, Value: "x"}}, []string{unreachable}},
		{"NODE-080", "for another effect",
			[]corev1.Toleration{{Key: notReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
			[]string{notReady, unreachable}},
		{"NODE-080", "of everything", []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, nil},
	}
	for _, tt := range tests {
		w := newFixture(t)
		pod := fake.Pod("p")
		pod.Spec.Tolerations = tt.given
		check := func(when string, got []corev1.Toleration) {
			t.Helper()
			if len(got) != len(tt.given)+len(tt.added) {
				t.Fatalf("%s, %s, %s: tolerations %v, want %v and %v", tt.rule, tt.name, when, got, tt.given, tt.added)
			}
			for i, key := range tt.added {
				// NODE-010: 300 s.
				if added := got[len(tt.given)+i]; added.Key != key || *added.TolerationSeconds != 300 || added.Effect != corev1.TaintEffectNoExecute {
					t.Errorf("%s, %s, %s: added %v, want %s for 300 s", tt.rule, tt.name, when, added, key)
				}
			}
		}
		stored := create(w, pod)
		check("create", stored.Spec.Tolerations)
		edited := *stored
		edited.Spec.Tolerations = tt.given
		check("update", update(w, &edited).Spec.Tolerations)
	}
}
