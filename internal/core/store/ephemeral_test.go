package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/strategy"
	"github.com/volsim/volsim/internal/core/strategy/sample"
)

// The subresource changes the ephemeral containers of a pod, and nothing else of what is sent.
func TestEphemeralContainers(t *testing.T) {
	s := New(Config{Now: func() time.Time { return sample.Noon }})
	_, err := s.Pods.Create(sample.Pod())
	require.NoError(t, err)
	key := "default/db-0"
	changed, err := s.Pods.PatchWith(key, func(pod *corev1.Pod) error {
		pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debugger", Image: "busybox"}}}
		pod.Spec.NodeName, pod.Labels, pod.Annotations = "n1", map[string]string{"a": "b"}, map[string]string{"a": "b"}
		pod.Status.Phase = corev1.PodFailed
		return nil
	}, strategy.EphemeralContainers)
	require.NoError(t, err, "API-506")
	assert.Equal(t, "debugger", changed.Spec.EphemeralContainers[0].Name, "API-506")
	assert.Equal(t, corev1.PullAlways, changed.Spec.EphemeralContainers[0].ImagePullPolicy, "API-507: defaults")
	assert.EqualValues(t, 2, changed.Generation, "API-506")
	assert.Equal(t, []any{"", 0, 0, corev1.PodPending},
		[]any{changed.Spec.NodeName, len(changed.Labels), len(changed.Annotations), changed.Status.Phase}, "API-506: the rest stays")

	_, err = s.Pods.PatchWith(key, func(pod *corev1.Pod) error { pod.Spec.EphemeralContainers = nil; return nil }, api.Main)
	require.ErrorContains(t, err, "pod updates may not change fields", "API-506")
	_, err = s.Claims.PatchWith("default/data", func(*corev1.PersistentVolumeClaim) error { return nil }, strategy.EphemeralContainers)
	require.ErrorContains(t, err, `subresource "ephemeralcontainers" is unknown`)
}
