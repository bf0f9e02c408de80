package objects

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// TestHostPorts: which pods cannot share a node.
func TestHostPorts(t *testing.T) {
	pod := func(ports ...corev1.ContainerPort) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "b", Ports: ports}}}}
	}
	initial := func(policy *corev1.ContainerRestartPolicy) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{RestartPolicy: policy, Ports: []corev1.ContainerPort{{HostPort: 80}}}}}}
	}
	http := corev1.ContainerPort{HostPort: 80}
	for _, tc := range []struct {
		rule, name string
		a, b       *corev1.Pod
		want       bool
	}{
		{"SCHED-316", "the same", pod(http), pod(http), true},
		{"SCHED-316", "another number", pod(http), pod(corev1.ContainerPort{HostPort: 81}), false},
		{"SCHED-316", "one of several", pod(corev1.ContainerPort{HostPort: 79}, http), pod(http), true},
		{"SCHED-316", "a port of the container only", pod(http), pod(corev1.ContainerPort{ContainerPort: 80}), false},
		{"SCHED-316", "TCP is the default", pod(http), pod(corev1.ContainerPort{HostPort: 80, Protocol: corev1.ProtocolTCP}), true},
		{"SCHED-316", "another protocol", pod(http), pod(corev1.ContainerPort{HostPort: 80, Protocol: corev1.ProtocolUDP}), false},
		{"SCHED-316", "one of all addresses", pod(http), pod(corev1.ContainerPort{HostPort: 80, HostIP: "10.0.0.1"}), true},
		{"SCHED-316", "the other way", pod(corev1.ContainerPort{HostPort: 80, HostIP: "10.0.0.1"}), pod(corev1.ContainerPort{HostPort: 80, HostIP: "0.0.0.0"}), true},
		{"SCHED-316", "two addresses", pod(corev1.ContainerPort{HostPort: 80, HostIP: "10.0.0.1"}), pod(corev1.ContainerPort{HostPort: 80, HostIP: "10.0.0.2"}), false},
		{"SCHED-316", "a sidecar", pod(http), initial(new(corev1.ContainerRestartPolicyAlways)), true},
		{"SCHED-316", "another init container", pod(http), initial(nil), false},
		{"SCHED-316", "no ports", pod(), pod(http), false},
	} {
		_, conflict := HostPortConflict(tc.a, tc.b)
		require.Equal(t, tc.want, conflict, "%s: %s", tc.rule, tc.name)
	}
	port, _ := HostPortConflict(pod(http), pod(http))
	require.Equal(t, "80/TCP", port.String())
	require.True(t, UsesHostPorts(pod(http)))
	require.False(t, UsesHostPorts(initial(nil)))
}
