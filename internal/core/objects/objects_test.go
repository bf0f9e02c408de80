package objects_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
)

func TestClassOf(t *testing.T) {
	for _, row := range []struct {
		rule, name string
		claim      *corev1.PersistentVolumeClaim
		want       string
		has        bool
	}{
		{"BIND-002", "none", fake.Claim("c", "1Gi", fake.NoClass()), "", false},
		{"BIND-002", "an explicit none is a class", fake.Claim("c", "1Gi"), "", true},
		{"BIND-002", "the field", fake.Claim("c", "1Gi", fake.InClass("fast")), "fast", true},
		{"BIND-002", "the annotation wins", fake.Claim("c", "1Gi", fake.InClass("fast"), fake.Annotations(objects.AnnStorageClass, "slow")),
			"slow", true},
		{"BIND-002", "an empty annotation wins, too",
			fake.Claim("c", "1Gi", fake.InClass("fast"), fake.Annotations(objects.AnnStorageClass, "")), "", true},
	} {
		require.Equal(t, row.want, objects.ClassOf(row.claim), "%s %s", row.rule, row.name)
		require.Equal(t, row.has, objects.HasClass(row.claim), "%s %s", row.rule, row.name)
	}
	require.Equal(t, "slow",
		objects.ClassOfVolume(fake.Volume("v", "1Gi", fake.InClass("fast"), fake.Annotations(objects.AnnStorageClass, "slow"))))
}

func TestClaimsOf(t *testing.T) {
	// EPH-003, PROT-021: the claims of a pod, generic ephemeral ones by their generated name.
	pod := fake.Pod("ns/web", fake.Claims("data"), fake.Ephemeral("scratch", "1Gi", "fast"))
	require.Equal(t, []string{"ns/data", "ns/web-scratch"}, objects.ClaimsOf(pod))

	claim := fake.Claim("ns/web-scratch", "1Gi")
	require.False(t, objects.OwnsClaim(pod, claim), "API-276: a name is no ownership")
	yes := true
	pod.UID = "u1"
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web", UID: "u1", Controller: &yes}}
	require.True(t, objects.OwnsClaim(pod, claim))
	pod.UID = "u2"
	require.False(t, objects.OwnsClaim(pod, claim), "API-276: another pod of the same name")
}

func TestTerminated(t *testing.T) {
	now := metav1.Time{}
	running := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	waiting := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}
	for _, row := range []struct {
		rule, name string
		pod        corev1.Pod
		want       bool
	}{
		{"RECL-066", "running", corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}, false},
		{"RECL-066", "succeeded", corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}, true},
		{"RECL-066", "failed", corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed}}, true},
		{"RECL-066", "deleted, no container known", corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}, true},
		{"RECL-066", "deleted, a container waits",
			corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now},
				Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting}}}, true},
		{"RECL-066", "deleted, a container runs",
			corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now},
				Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{running}}}, false},
		{"RECL-066", "deleted, an init container runs",
			corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now},
				Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{running}}}, false},
	} {
		require.Equal(t, row.want, objects.Terminated(&row.pod), "%s %s", row.rule, row.name)
	}
}
