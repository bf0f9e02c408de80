package mount

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/storage"
)

// Scenario 20: MNT-394, MNT-400, MNT-405, MNT-406, MNT-411, MNT-413, MNT-414, EXP-040, EXP-041.
func TestScenario20OnlineExpansion(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	w.grow("2Gi")
	w.Advance(50 * time.Second)
	want(t, "MNT-405: not before the next sync", w.steps(), nil)
	w.Advance(11 * time.Second)
	want(t, "MNT-413, EXP-041: steps", w.steps(), []string{"patch-status 1Gi NodeResizeInProgress", "NodeExpand h1", "patch-status 2Gi "})
	want(t, "MNT-414: the claim", w.claim(), "2Gi of 2Gi Other")
	want(t, "MNT-394: events", w.events(), []string{
		"FileSystemResizeSuccessful default/p1: " + succeeded, "FileSystemResizeSuccessful default/c1: " + succeeded,
	})
	v, _ := w.node.kubelet.actual.Volume(volumeName)
	want(t, "MNT-406: size", v.Size, int64(2<<30))
	w.Mark()
	w.Advance(10 * time.Minute)
	want(t, "MNT-405: no more of it", w.steps(), nil)
}

// Scenario 21: MNT-417, MNT-418, MNT-419, MNT-423, MNT-428, MNT-923, MNT-924, EXP-042.
func TestScenario21ExpansionFailures(t *testing.T) {
	t.Run("a: in use", func(t *testing.T) {
		w := newFixture(t)
		w.failing(storage.NodeExpand, storage.FailedPrecondition)
		w.run("p1")
		w.grow("2Gi")
		w.Advance(5 * time.Minute)
		want(t, "MNT-419: steps", w.steps(), []string{"patch-status 1Gi NodeResizeInProgress", "NodeExpand h1 = FailedPrecondition",
			"patch-status 1Gi NodeResizeInProgress"})
		want(t, "MNT-418: claim", w.claim(), "1Gi of 2Gi NodeResizeInProgress Resizing Other FileSystemResizePending NodeResizeError")
		want(t, "MNT-419: events", w.events(), nil)
		want(t, "MNT-419: the pod", w.phase("p1"), corev1.PodRunning)
	})
	t.Run("b: infeasible during mount", func(t *testing.T) {
		w := newFixture(t)
		w.failing(storage.NodeExpand, storage.OutOfRange)
		w.grow("2Gi")
		pod := w.pod("p1")
		w.Advance(11 * time.Second)
		w.attach(handle)
		w.Advance(200 * time.Millisecond)
		want(t, "MNT-198: state", w.state(pod.UID), "VolumeMountUncertain DeviceGloballyMounted")
		w.Advance(2 * time.Second)
		want(t, "MNT-428: steps", w.steps(), []string{
			"Stage h1", "Publish h1", "patch-status 1Gi NodeResizeInProgress", "NodeExpand h1 = OutOfRange",
			"patch-status 1Gi NodeResizeInfeasible", "Publish h1"})
		want(t, "MNT-428: events", w.events(), []string{
			`FailedMount default/p1: MountVolume.Setup failed while expanding volume for volume "pv1" : Expander.NodeExpand failed to expand the volume rpc error: code = OutOfRange desc = no`})
		want(t, "MNT-923: the pod", w.phase("p1"), corev1.PodRunning)
		want(t, "MNT-416: message", w.conditionMessage(corev1.PersistentVolumeClaimNodeResizeError),
			"failed to expand pvc with Expander.NodeExpand failed to expand the volume rpc error: code = OutOfRange desc = no")
	})
	t.Run("c: the user gives in", func(t *testing.T) {
		w := newFixture(t)
		w.failing(storage.NodeExpand, storage.Internal)
		w.run("p1")
		w.grow("2Gi")
		w.Advance(61 * time.Second)
		want(t, "MNT-418: claim", w.claim(), "1Gi of 2Gi NodeResizeInProgress Resizing Other FileSystemResizePending NodeResizeError")
		w.setClaim("c1", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1500Mi")}
		})
		w.Advance(10 * time.Second)
		want(t, "MNT-417, MNT-924: claim", w.claim(), "1Gi of 2Gi NodeResizeInfeasible Resizing Other FileSystemResizePending NodeResizeError")
		w.Advance(time.Minute)
		w.Mark()
		w.Advance(10 * time.Minute)
		want(t, "MNT-925: a quiet time", append(w.steps(), w.events()...), nil)
	})
}
