package volsim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/volsimtest"
)

// MNT-316: Settle does not wait for a mount that lacks a ConfigMap, but for the pod once the ConfigMap is there.
func TestSettleWithoutConfigMap(t *testing.T) {
	c := volsimtest.New(t)
	pod := fake.Pod("web")
	pod.Spec.Volumes = []corev1.Volume{{Name: "c", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "app"}}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "c", MountPath: "/c"}}
	c.Create(fake.Node("n1"), pod)
	begin := c.Now()
	c.Settle()
	require.Less(t, c.Now().Sub(begin), 5*time.Minute)
	require.Equal(t, corev1.PodPending, c.Pod("web").Status.Phase)
	c.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "app"}})
	c.Settle()
	require.Equal(t, corev1.PodRunning, c.Pod("web").Status.Phase)
}
