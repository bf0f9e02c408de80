package podresources

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

// TestRequests: what a pod needs of a node.
func TestRequests(t *testing.T) {
	requests := func(pairs ...string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: list(pairs...)}
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Resources: requests("cpu", "1", "memory", "1Gi")}},
		InitContainers: []corev1.Container{
			{Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways), Resources: requests("cpu", "500m")},
			{Name: "setup", Resources: requests("cpu", "2")},
		},
	}}
	require.Equal(t, Amounts{"cpu": 2500, "memory": 1 << 30}, Requests(pod), "the init container runs beside the one that stays")
	pod.Spec.InitContainers[1].Resources = requests("cpu", "100m")
	require.Equal(t, Amounts{"cpu": 1500, "memory": 1 << 30}, Requests(pod))
	require.Equal(t, Amounts{"cpu": 1500, "memory": 2 << 30}, RequestsWith(pod, Amounts{"memory": 1 << 30}), "the sidecar does not say how much")
	pod.Spec.Resources, pod.Spec.Overhead = &corev1.ResourceRequirements{Requests: list("cpu", "3")}, list("cpu", "100m")
	require.Equal(t, Amounts{"cpu": 3100, "memory": 1 << 30}, Requests(pod), "the pod as a whole, and what it takes to run it")
}

// TestLacking: of what a node has too little.
func TestLacking(t *testing.T) {
	allocatable := Of(list("cpu", "2", "memory", "4Gi", "pods", "2", "example.com/a", "1"))
	for _, tc := range []struct {
		name           string
		requests, used Amounts
		pods           int
		want           []corev1.ResourceName
		tooMany        bool
		resolvable     bool
	}{
		{"enough", Amounts{"cpu": 500}, Amounts{"cpu": 1500}, 1, nil, false, true},
		{"used by others", Amounts{"cpu": 600}, Amounts{"cpu": 1500}, 1, []corev1.ResourceName{"cpu"}, false, true},
		{"more than it has", Amounts{"example.com/a": 2, "memory": 5 << 30, "cpu": 1}, nil, 0, []corev1.ResourceName{"memory", "example.com/a"}, false, false},
		{"too many", nil, nil, 2, nil, true, true},
		{"a resource that it does not list", Amounts{"example.com/b": 2}, nil, 0, nil, false, true},
	} {
		names, tooMany, resolvable := Lacking(tc.requests, tc.used, allocatable, tc.pods)
		require.Equal(t, tc.want, names, tc.name)
		require.Equal(t, tc.tooMany, tooMany, tc.name)
		require.Equal(t, tc.resolvable, resolvable, tc.name)
	}
}
