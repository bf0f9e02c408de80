package schedule

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
)

// TestAssumedPods: an assumed pod names its node wherever somebody sees it, and the pod that it was made from does not (SCHED-027, SCHED-030).
func TestAssumedPods(t *testing.T) {
	var c podCache
	pod := fake.Pod("p", fake.Claims("c"))
	c.assume("default/p", pod, "n1", claimKeysOf(pod))
	require.True(t, c.isAssumed("default/p"))
	require.True(t, c.usedOn("default/c", func(node string) bool { return node == "n1" }))
	seen := c.on("n1")
	require.Equal(t, []*corev1.Pod{onNode(pod, "n1")}, seen)
	require.Equal(t, "n1", seen[0].Spec.NodeName)
	require.Same(t, seen[0], c.on("n1")[0])
	require.Empty(t, pod.Spec.NodeName)

	bound := onNode(pod, "n1")
	c.put("default/p", bound)
	require.False(t, c.isAssumed("default/p"), "it is bound")
	require.Same(t, bound, c.on("n1")[0])
	moved := onNode(pod, "n2")
	c.put("default/p", moved)
	require.Empty(t, c.on("n1"))
	require.Equal(t, []*corev1.Pod{moved}, c.on("n2"))
	require.False(t, c.usedOn("default/c", func(node string) bool { return node == "n1" }))

	attracted := fake.Pod("q")
	attracted.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}}}}
	c.assume("default/q", attracted, "n2", nil)
	require.Equal(t, "n2", c.exclusive["default/q"].Spec.NodeName)
	require.True(t, c.remove("default/q"))
	require.Empty(t, c.exclusive)
	require.False(t, c.remove("default/q"))
}
