package kubeletstatus_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
)

func TestReadinessGates(t *testing.T) {
	const missing = `corresponding condition of pod readiness gate "a" does not exist.`
	for _, tt := range []struct {
		rule, name string
		gates      []corev1.PodConditionType
		conditions map[corev1.PodConditionType]corev1.ConditionStatus
		want       string
	}{
		{"MNT-389", "no gate", nil, nil, "True  "},
		{"MNT-389", "no condition", []corev1.PodConditionType{"a"}, nil, "False ReadinessGatesNotReady " + missing},
		{"MNT-389", "a condition that is not True", []corev1.PodConditionType{"a"}, map[corev1.PodConditionType]corev1.ConditionStatus{"a": "Unknown"},
			`False ReadinessGatesNotReady the status of pod readiness gate "a" is not "True", but Unknown`},
		{"MNT-389", "two gates", []corev1.PodConditionType{"a", "b"}, map[corev1.PodConditionType]corev1.ConditionStatus{"b": "False"},
			"False ReadinessGatesNotReady " + missing + `, the status of pod readiness gate "b" is not "True", but False`},
		{"MNT-389", "conditions that are True", []corev1.PodConditionType{"a"}, map[corev1.PodConditionType]corev1.ConditionStatus{"a": "True"}, "True  "},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			pod := fake.Pod("p")
			for _, gate := range tt.gates {
				pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
			}
			for kind, status := range tt.conditions {
				pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: status})
			}
			pod.Status = kubeletstatus.AsReady(nil, pod, kubeletstatus.Running(nil, pod))
			got := map[corev1.PodConditionType]string{}
			for _, c := range pod.Status.Conditions {
				got[c.Type] = string(c.Status) + " " + c.Reason + " " + c.Message
			}
			require.Equal(t, tt.want, got[corev1.PodReady])
			require.Equal(t, "True  ", got[corev1.ContainersReady])
			require.Equal(t, pod.Status, kubeletstatus.AsReady(nil, pod, kubeletstatus.Running(nil, pod)), "a status that is right stays")
		})
	}
}
