package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
)

func TestStatefulSet(t *testing.T) {
	set := statefulSet{
		namespace: "prod",
		name:      "db",
		pod:       fake.Pod("ignored", fake.Labels("app", "db")),
		claims:    []*corev1.PersistentVolumeClaim{fake.Claim("data", "10Gi"), fake.Claim("log", "1Gi", fake.Block())},
	}
	pod := set.podAt(2)
	require.Equal(t, "prod/db-2", pod.Namespace+"/"+pod.Name)
	require.Equal(t, map[string]string{"app": "db", "statefulset.kubernetes.io/pod-name": "db-2", "apps.kubernetes.io/pod-index": "2"},
		pod.Labels)
	var claims, mounted []string
	for _, claim := range set.claimsAt(2) {
		claims = append(claims, claim.Namespace+"/"+claim.Name)
	}
	for _, volume := range pod.Spec.Volumes {
		mounted = append(mounted, pod.Namespace+"/"+volume.PersistentVolumeClaim.ClaimName)
	}
	require.Equal(t, []string{"prod/data-db-2", "prod/log-db-2"}, claims)
	require.Equal(t, claims, mounted)
	require.Equal(t, []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}, pod.Spec.Containers[0].VolumeMounts)
	require.Equal(t, []corev1.VolumeDevice{{Name: "log", DevicePath: "/dev/log"}}, pod.Spec.Containers[0].VolumeDevices)

	require.Empty(t, cmp.Diff(pod, set.podAt(2)), "the templates are as they were")
	require.Empty(t, statefulSet{name: "idle"}.claimsAt(0))
}
