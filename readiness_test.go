package volsim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
)

// TestReadinessGates: a change of a gate's condition changes at once whether the pod is ready (MNT-389).
func TestReadinessGates(t *testing.T) {
	c, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	_, err = c.AddNode("n1")
	require.NoError(t, err)
	const gate corev1.PodConditionType = "example.com/ready"
	pod := fake.Pod("web")
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
	require.NoError(t, c.Create(pod))
	require.NoError(t, c.Advance(15*time.Second))
	ready := func() string {
		stored, err := c.Pods.Get("web")
		require.NoError(t, err)
		for _, c := range stored.Status.Conditions {
			if c.Type == corev1.PodReady {
				return string(c.Status) + " " + c.Reason
			}
		}
		return ""
	}
	require.Equal(t, "False ReadinessGatesNotReady", ready(), "MNT-389")
	for _, tt := range []struct {
		rule   string
		status corev1.ConditionStatus
		want   string
	}{
		{"MNT-389", corev1.ConditionTrue, "True "},
		{"MNT-389", corev1.ConditionFalse, "False ReadinessGatesNotReady"},
		{"MNT-389", corev1.ConditionTrue, "True "},
	} {
		stored, err := c.Pods.Get("web")
		require.NoError(t, err)
		conditions := []corev1.PodCondition{{Type: gate, Status: tt.status}}
		for _, c := range stored.Status.Conditions {
			if c.Type != gate {
				conditions = append(conditions, c)
			}
		}
		stored.Status.Conditions = conditions
		require.NoError(t, c.UpdateStatus(stored))
		require.NoError(t, c.Advance(0))
		require.Equal(t, tt.want, ready(), tt.rule)
	}
	before := c.Trace().Seq()
	require.NoError(t, c.Advance(time.Second))
	require.Equal(t, before, c.Trace().Seq(), "MNT-389: nothing more is written")
}
