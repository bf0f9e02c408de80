package fake_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
)

func TestStatefulSet(t *testing.T) {
	set := fake.StatefulSet{
		Name:   "prod/db",
		Pod:    fake.Pod("ignored", fake.Labels("app", "db")),
		Claims: []*corev1.PersistentVolumeClaim{fake.Claim("data", "10Gi"), fake.Claim("log", "1Gi", fake.Block())},
	}
	pod := set.PodAt(2)
	require.Equal(t, "prod/db-2", pod.Namespace+"/"+pod.Name)
	require.Equal(t, map[string]string{"app": "db", "statefulset.kubernetes.io/pod-name": "db-2", "apps.kubernetes.io/pod-index": "2"}, pod.Labels)
	var claims, mounted []string
	for _, claim := range set.ClaimsAt(2) {
		claims = append(claims, claim.Namespace+"/"+claim.Name)
	}
	for _, volume := range pod.Spec.Volumes {
		mounted = append(mounted, pod.Namespace+"/"+volume.PersistentVolumeClaim.ClaimName)
	}
	require.Equal(t, []string{"prod/data-db-2", "prod/log-db-2"}, claims)
	require.Equal(t, claims, mounted)
	require.Equal(t, []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}, pod.Spec.Containers[0].VolumeMounts)
	require.Equal(t, []corev1.VolumeDevice{{Name: "log", DevicePath: "/dev/log"}}, pod.Spec.Containers[0].VolumeDevices)

	require.Empty(t, cmp.Diff(pod, set.PodAt(2)), "the templates are as they were")
	require.Empty(t, fake.StatefulSet{Name: "idle"}.ClaimsAt(0))
	require.Equal(t, "idle-0", fake.StatefulSet{Name: "idle"}.PodAt(0).Name)
}

func TestResources(t *testing.T) {
	pod := fake.Pod("web", fake.Requests("cpu", "500m", "memory", "1Gi"))
	require.NoError(t, fake.Err(pod))
	require.Equal(t, "500m", pod.Spec.Containers[0].Resources.Requests.Cpu().String())
	node := fake.Node("n1", fake.Allocatable("cpu", "4"), fake.Allocatable("pods", "2"))
	require.NoError(t, fake.Err(node))
	require.Equal(t, "4", node.Status.Allocatable.Cpu().String())
	require.Equal(t, "2", node.Status.Capacity.Pods().String())

	require.ErrorContains(t, fake.Err(fake.Pod("web", fake.Requests("cpu", "some"))), `"some" is not a size`)
	require.ErrorContains(t, fake.Err(fake.Pod("web", fake.Allocatable("cpu", "1"))), "has no option Allocatable")
	require.ErrorContains(t, fake.Err(fake.Node("n1", fake.Requests("cpu", "1"))), "has no option Requests")
}
