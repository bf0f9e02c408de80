package strategy

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/strategy/sample"
)

func ephemeral(name string, changes ...func(*corev1.EphemeralContainer)) corev1.EphemeralContainer {
	c := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: "busybox"}}
	for _, change := range changes {
		change(&c)
	}
	return c
}

func TestEphemeralContainerValidation(t *testing.T) {
	pod := sample.Pod()
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
			assert.Equal(t, row.want, sample.Faults(validateEphemeralUpdate(changed, pod)))
		})
	}
	static := pod.DeepCopy()
	static.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "m"}
	assert.Equal(t, field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")},
		validateEphemeralUpdate(static, static), "API-507")
}
