package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
)

func ephemeral(name string, changes ...func(*corev1.EphemeralContainer)) corev1.EphemeralContainer {
	c := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: "busybox"}}
	for _, change := range changes {
		change(&c)
	}
	return c
}

// The subresource changes the ephemeral containers of a pod, and nothing else of what is sent.
func TestEphemeralContainers(t *testing.T) {
	s := New(Config{Now: func() time.Time { return noon }})
	_, err := s.Pods.Create(goodPod())
	require.NoError(t, err)
	key := "default/db-0"
	changed, err := s.Pods.PatchWith(key, func(pod *corePod) error {
		pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{ephemeral("debugger")}
		pod.Spec.NodeName, pod.Labels, pod.Annotations = "n1", map[string]string{"a": "b"}, map[string]string{"a": "b"}
		pod.Status.Phase = corev1.PodFailed
		return nil
	}, EphemeralContainers)
	require.NoError(t, err, "API-506")
	assert.Equal(t, "debugger", changed.Spec.EphemeralContainers[0].Name, "API-506")
	assert.Equal(t, corev1.PullAlways, changed.Spec.EphemeralContainers[0].ImagePullPolicy, "API-507: defaults")
	assert.EqualValues(t, 2, changed.Generation, "API-506")
	assert.Equal(t, []any{"", 0, 0, corev1.PodPending},
		[]any{changed.Spec.NodeName, len(changed.Labels), len(changed.Annotations), changed.Status.Phase}, "API-506: the rest stays")

	_, err = s.Pods.PatchWith(key, func(pod *corePod) error { pod.Spec.EphemeralContainers = nil; return nil }, api.Main)
	require.ErrorContains(t, err, "pod updates may not change fields", "API-506")
	_, err = s.Claims.PatchWith("default/data", func(*corev1.PersistentVolumeClaim) error { return nil }, EphemeralContainers)
	require.ErrorContains(t, err, `subresource "ephemeralcontainers" is unknown`)
}

func TestEphemeralContainerValidation(t *testing.T) {
	pod := goodPod()
	pod.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "busybox"}}
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{ephemeral("old")}
	defaultPod(pod)
	always := corev1.ContainerRestartPolicyAlways
	for _, row := range []struct {
		rule, name string
		containers []corev1.EphemeralContainer
		want       string
	}{
		{"API-507", "another one", []corev1.EphemeralContainer{ephemeral("old"), ephemeral("new")}, ""},
		{"API-507", "in another order", []corev1.EphemeralContainer{ephemeral("new"), ephemeral("old")}, ""},
		{"API-507", "removed", nil, "spec.ephemeralContainers F"},
		{"API-507", "changed", []corev1.EphemeralContainer{ephemeral("old", func(c *corev1.EphemeralContainer) { c.TTY = true })}, "spec.ephemeralContainers F"},
		{"API-507", "names of others", []corev1.EphemeralContainer{ephemeral("old"), ephemeral("old"), ephemeral("db"), ephemeral("first")},
			"spec.ephemeralContainers[1].name D; spec.ephemeralContainers[2].name D; spec.ephemeralContainers[3].name D"},
		{"API-507", "targets", []corev1.EphemeralContainer{ephemeral("old"),
			ephemeral("a", func(c *corev1.EphemeralContainer) { c.TargetContainerName = "db" }),
			ephemeral("b", func(c *corev1.EphemeralContainer) { c.TargetContainerName = "first" }),
			ephemeral("c", func(c *corev1.EphemeralContainer) { c.TargetContainerName = "old" })}, "spec.ephemeralContainers[3].targetContainerName X"},
		{"API-507", "an image with a space", []corev1.EphemeralContainer{ephemeral("old"),
			ephemeral("a", func(c *corev1.EphemeralContainer) { c.Image = "busybox " })}, "spec.ephemeralContainers[1].image I"},
		{"API-507", "what only other containers have", []corev1.EphemeralContainer{ephemeral("old"), ephemeral("a", func(c *corev1.EphemeralContainer) {
			c.Ports = []corev1.ContainerPort{{ContainerPort: 80}}
			c.RestartPolicy = &always
			c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"x"}}}}
			c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"x"}}}}
			c.VolumeMounts = []corev1.VolumeMount{{Name: "dir", MountPath: "/a", SubPath: "b"}, {Name: "dir", MountPath: "/c", SubPathExpr: "d"}}
		})}, "spec.ephemeralContainers[1].lifecycle F; spec.ephemeralContainers[1].livenessProbe F; spec.ephemeralContainers[1].ports F; " +
			"spec.ephemeralContainers[1].restartPolicy F; spec.ephemeralContainers[1].volumeMounts[0].subPath F; " +
			"spec.ephemeralContainers[1].volumeMounts[1].subPathExpr F"},
	} {
		t.Run(row.rule+" "+row.name, func(t *testing.T) {
			changed := pod.DeepCopy()
			changed.Spec.EphemeralContainers = row.containers
			defaultPod(changed)
			assert.Equal(t, row.want, faults(validateEphemeralUpdate(changed, pod)))
		})
	}
	static := pod.DeepCopy()
	static.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "m"}
	assert.Equal(t, field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")},
		validateEphemeralUpdate(static, static), "API-507")
}
