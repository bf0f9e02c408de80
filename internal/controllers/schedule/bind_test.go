package schedule_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/engine"
)

func claimOf(name, size string, opts ...fake.Option) *corev1.PersistentVolumeClaim {
	return fake.Claim(name, size, append([]fake.Option{fake.InClass("wait")}, opts...)...)
}

func volume(name, size string, opts ...fake.Option) *corev1.PersistentVolume {
	return fake.Volume(name, size, append([]fake.Option{fake.InClass("wait")}, opts...)...)
}

// TestBind: a pod whose one claim gets a volume and whose other one is provisioned.
func TestBind(t *testing.T) {
	w := newWaitingFixture(t, volume("v1", "1Gi"), volume("v2", "2Gi"), claimOf("small", "1Gi"), claimOf("middle", "2Gi"),
		claimOf("large", "9Gi"))
	w.create(fake.Pod("p", fake.Claims("large", "middle", "small")))
	w.Advance(0)
	w.want("SCHED-028: the nomination; SCHED-140: volumes by size, then claims",
		"0s patch-status Pod/default/p",
		"0s update PersistentVolume/v1",
		"0s update PersistentVolume/v2",
		"0s update PersistentVolumeClaim/default/large")
	require.Equal(t, "n1", w.pod("p").Status.NominatedNodeName, "SCHED-028")
	require.Empty(t, w.pod("p").Spec.NodeName, "SCHED-027")
	v1, _ := w.Store().Volumes.Get("v1")
	small, _ := w.Store().Claims.Get("default/small")
	require.Equal(t, small.UID, v1.Spec.ClaimRef.UID, "SCHED-141")
	require.Equal(t, "yes", v1.Annotations["pv.kubernetes.io/bound-by-controller"], "SCHED-003")
	require.Empty(t, small.Spec.VolumeName, "SCHED-141: that is for the PersistentVolume controller to write")
	require.Empty(t, small.Annotations, "SCHED-142")
	large, _ := w.Store().Claims.Get("default/large")
	require.Equal(t, "n1", large.Annotations["volume.kubernetes.io/selected-node"], "SCHED-001, SCHED-142")

	w.Advance(400 * time.Millisecond)
	w.bound("small", "v1")
	w.bound("middle", "v2")
	w.Advance(2 * time.Second)
	w.want("SCHED-163: one is not bound yet")
	w.Advance(300 * time.Millisecond) // 2.7 s
	w.create(w.volumeFor("v9", "large"))
	w.bound("large", "v9")
	w.Advance(299 * time.Millisecond)
	w.want("SCHED-168: only whole seconds count")
	w.Advance(time.Millisecond)
	w.want("SCHED-029, SCHED-168",
		"3s bind Pod/default/p",
		"3s default/p Scheduled: Successfully assigned default/p to n1")
	pod := w.pod("p")
	require.Equal(t, "n1", pod.Spec.NodeName)
	require.Empty(t, pod.Status.NominatedNodeName, "SCHED-028: the binding clears it")
	require.Equal(t, corev1.ConditionTrue, scheduled(pod).Status, "SCHED-239")
	require.Empty(t, w.Pending(), "nothing goes on after that")
}

// TestFirstCheck: however fast the claims are bound.
func TestFirstCheck(t *testing.T) {
	w := newWaitingFixture(t, volume("v1", "1Gi"), claimOf("c", "1Gi"), fake.Pod("p", fake.Claims("c")))
	w.Advance(0)
	w.bound("c", "v1")
	w.Advance(999 * time.Millisecond)
	require.Empty(t, w.pod("p").Spec.NodeName, "SCHED-006")
	w.Advance(time.Millisecond)
	require.Equal(t, "n1", w.pod("p").Spec.NodeName, "SCHED-006, SCHED-168: a second is the least")
}

// TestNothingToBind: a pod without unbound claims is bound at once, without a nomination.
func TestNothingToBind(t *testing.T) {
	w := newWaitingFixture(t, fake.Pod("p"))
	w.Advance(0)
	w.want("SCHED-028, SCHED-130",
		"0s bind Pod/default/p",
		"0s default/p Scheduled: Successfully assigned default/p to n1")
}

// TestTwoVolumes: one claim, mounted twice, takes two volumes.
func TestTwoVolumes(t *testing.T) {
	pod := fake.Pod("p", fake.Claims("c"))
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "again", VolumeSource: pod.Spec.Volumes[0].VolumeSource})
	w := newWaitingFixture(t, volume("v1", "1Gi"), volume("v2", "1Gi"), claimOf("c", "1Gi"), pod)
	w.Advance(0)
	w.want("SCHED-148",
		"0s patch-status Pod/default/p",
		"0s update PersistentVolume/v1",
		"0s update PersistentVolume/v2")
}

// TestPreBoundVolume: a user's reservation is completed, and stays the user's.
func TestPreBoundVolume(t *testing.T) {
	w := newWaitingFixture(t, volume("v1", "5Gi", fake.ForClaim("c")), claimOf("c", "1Gi"), fake.Pod("p", fake.Claims("c")))
	w.Advance(0)
	v1, _ := w.Store().Volumes.Get("v1")
	require.NotEmpty(t, v1.Spec.ClaimRef.UID, "SCHED-131")
	require.Empty(t, v1.Annotations, "SCHED-131")
	w.Patch(api.PersistentVolume, "v1", `{"metadata":{"labels":{"a":"b"}}}`)
	w.bound("c", "v1")
	w.Advance(time.Second)
	require.Equal(t, "n1", w.pod("p").Spec.NodeName)
}

// TestMeanwhile: the scheduler tries the next pod while it binds the first, and takes the first decision into account.
func TestMeanwhile(t *testing.T) {
	w := newWaitingFixture(t, fake.Node("n2"), volume("v1", "1Gi", fake.FromNodes("n1")), volume("v2", "1Gi", fake.FromNodes("n2")),
		claimOf("c", "1Gi"), claimOf("d", "1Gi"))
	w.PatchStatus(api.Node, "n1", `{"status":{"allocatable":{"pods":"1"}}}`)
	w.create(fake.Pod("p", fake.Claims("c")), fake.Pod("q", fake.Claims("d")))
	w.Advance(0)
	require.Equal(t, "n1", w.pod("p").Status.NominatedNodeName, "SCHED-027")
	require.Equal(t, "n2", w.pod("q").Status.NominatedNodeName, "SCHED-027, SCHED-030: p counts as being on n1")
	v1, _ := w.Store().Volumes.Get("v1")
	require.Equal(t, "c", v1.Spec.ClaimRef.Name, "SCHED-132")
}

// TestSharedClaim: two pods with a claim that is not bound go to the same node.
func TestSharedClaim(t *testing.T) {
	w := newWaitingFixture(t, fake.Node("n0"), claimOf("c", "1Gi"))
	w.create(fake.Pod("p", fake.Claims("c")))
	w.create(fake.Pod("q", fake.Claims("c")))
	w.Advance(0)
	require.Equal(t, "n0", w.pod("p").Status.NominatedNodeName)
	require.Equal(t, "n0", w.pod("q").Status.NominatedNodeName, "SCHED-136")
	writes := 0
	for _, line := range w.log() {
		if line == "0s update PersistentVolumeClaim/default/c" {
			writes++
		}
	}
	require.Equal(t, 2, writes, "SCHED-136: both write it")
	w.create(w.volumeFor("v", "c"))
	w.bound("c", "v")
	w.Advance(time.Second)
	require.Equal(t, "n0", w.pod("p").Spec.NodeName)
	require.Equal(t, "n0", w.pod("q").Spec.NodeName)
}

// TestPresetNode: a pod that comes with its node passes by the scheduler, and its claim waits for ever.
func TestPresetNode(t *testing.T) {
	other := fake.Pod("other")
	other.Spec.SchedulerName = "mine"
	w := newWaitingFixture(t, claimOf("c", "1Gi"), fake.Pod("p", fake.OnNode("n1"), fake.Claims("c")), other)
	w.Advance(time.Hour)
	w.want("SCHED-020")
	c, _ := w.Store().Claims.Get("default/c")
	require.Empty(t, c.Annotations, "SCHED-020: no node is chosen for the claim")
	require.Empty(t, w.pod("other").Spec.NodeName, "SCHED-020: another scheduler's")
}

func TestDeletingPod(t *testing.T) {
	w := newFixture(t, schedule.Config{}, engine.Config{})
	w.create(fake.Pod("p", fake.Finalizers("x/y")))
	_, err := w.API().Delete(w.User(), api.Ref{Kind: api.Pod, Key: "default/p"}, api.DeleteOptions{})
	require.NoError(t, err)
	w.Advance(0)
	w.want("SCHED-021", "0s default/p FailedScheduling: skip schedule deleting pod: default/p")
	require.Empty(t, scheduled(w.pod("p")).Status, "SCHED-021: no condition")
}

// TestWriteFails: the first write that fails ends it; the earlier ones stay.
func TestWriteFails(t *testing.T) {
	w := newWaitingFixture(t, volume("v1", "1Gi"), volume("v2", "2Gi"), claimOf("c", "1Gi"), claimOf("d", "2Gi"), claimOf("e", "3Gi"))
	w.Faults.Fail(fake.Match{Verb: "update", Key: "v2"}, errors.New("no disk left")).Times(1)
	w.create(fake.Pod("p", fake.Claims("c", "d", "e")))
	w.Advance(0)
	w.want("SCHED-143, SCHED-144, SCHED-169",
		"0s patch-status Pod/default/p",
		"0s update PersistentVolume/v1",
		"0s update PersistentVolume/v2: no disk left",
		`0s default/p FailedScheduling: running PreBind plugin "VolumeBinding": no disk left`,
		"0s patch-status Pod/default/p")
	v1, _ := w.Store().Volumes.Get("v1")
	require.NotNil(t, v1.Spec.ClaimRef, "SCHED-143: no rollback")
	e, _ := w.Store().Claims.Get("default/e")
	require.Empty(t, e.Annotations, "SCHED-143")
	require.Empty(t, w.pod("p").Status.NominatedNodeName, "SCHED-028, SCHED-169")
	require.Equal(t, "SchedulerError", scheduled(w.pod("p")).Reason, "SCHED-169, SCHED-230")
	w.Advance(1999 * time.Millisecond)
	w.want("SCHED-254")
	w.Advance(time.Millisecond)
	w.want("SCHED-254, SCHED-140: what needs no change is sent all the same",
		"2s patch-status Pod/default/p",
		"2s update PersistentVolume/v1",
		"2s update PersistentVolume/v2",
		"2s update PersistentVolumeClaim/default/e")
}

// TestWriteFailsAgain: the same failure of a newer pod. The patch that ends the nomination includes the observed generation.
func TestWriteFailsAgain(t *testing.T) {
	w := newWaitingFixture(t, volume("v1", "1Gi"), claimOf("c", "1Gi"))
	w.Faults.Fail(fake.Match{Verb: "update", Key: "v1"}, errors.New("no disk left")).Times(2)
	w.create(fake.Pod("p", fake.Claims("c")))
	w.Advance(0)
	require.EqualValues(t, 1, scheduled(w.pod("p")).ObservedGeneration, "SCHED-230")
	before := *scheduled(w.pod("p"))
	_, err := w.Store().Patch(api.Pod, "default/p", []byte(`{"spec":{"activeDeadlineSeconds":9000}}`), api.Main)
	require.NoError(t, err)
	w.Advance(2 * time.Second)
	before.ObservedGeneration = 2
	require.Equal(t, before, *scheduled(w.pod("p")), "SCHED-231")
}

// TestBindFails: the volumes are bound, and the pod cannot be.
func TestBindFails(t *testing.T) {
	w := newWaitingFixture(t, fake.Pod("p", fake.Finalizers("x/y")), fake.Pod("q"))
	w.Faults.Fail(fake.Match{Verb: "bind", Key: "default/q"}, errors.New("try again")).Times(1)
	w.Advance(0)
	require.Contains(t, w.log(), `0s default/q FailedScheduling: running Bind plugin "DefaultBinder": try again`, "SCHED-170")
	require.Equal(t, "SchedulerError", scheduled(w.pod("q")).Reason, "SCHED-170")
	w.Advance(2 * time.Second)
	require.Equal(t, "n1", w.pod("q").Spec.NodeName)
}

// TestTerminatingWhileBound: a mark of deletion does not end the wait; the binding fails then.
func TestTerminatingWhileBound(t *testing.T) {
	w := newWaitingFixture(t, volume("v1", "1Gi"), claimOf("c", "1Gi"), fake.Pod("p", fake.Claims("c"), fake.Finalizers("x/y")))
	w.Advance(0)
	_, err := w.API().Delete(w.User(), api.Ref{Kind: api.Pod, Key: "default/p"}, api.DeleteOptions{})
	require.NoError(t, err)
	w.Advance(0)
	w.log()
	w.bound("c", "v1")
	w.Advance(time.Second)
	lines := w.log()
	require.Len(t, lines, 3)
	require.Equal(t,
		"1s bind Pod/default/p: Operation cannot be fulfilled on pods/binding \"p\": pod p is being deleted, cannot be assigned to a host",
		lines[0], "SCHED-166, SCHED-170")
}

// TestReplacedWhileBound: the pod is deleted and another one of its name is there before anybody notices.
func TestReplacedWhileBound(t *testing.T) {
	w := newWaitingFixture(t, claimOf("c", "1Gi"), fake.Pod("p", fake.Claims("c")))
	w.Advance(1500 * time.Millisecond)
	w.DeleteNow(api.Pod, "default/p")
	w.create(fake.Pod("p", fake.Claims("c")))
	w.create(w.volumeFor("v", "c"))
	w.bound("c", "v")
	w.log()
	w.Advance(0)
	w.PatchStatus(api.Pod, "default/p",
		`{"status":{"conditions":[{"type":"PodScheduled","status":"True"},{"type":"Initialized","status":"True"}]}}`)
	require.NoError(t, w.Settle(time.Minute))
	require.Equal(t, "n1", w.pod("p").Spec.NodeName)
	lines := w.log()
	require.Equal(t, "1.5s bind Pod/default/p", lines[0], "the new one has nothing to wait for")
	require.Equal(t, corev1.PodReasonSchedulerError, scheduled(w.pod("p")).Reason,
		"SCHED-238: what is said of the old one is written to the new one")
	require.Len(t, w.pod("p").Status.Conditions, 2, "SCHED-238: what others wrote stays")
	require.Contains(t, lines[2], "2s bind Pod/default/p: Operation cannot be fulfilled", "SCHED-170: the old one is not taken for it")
	bound := 0
	for _, event := range w.Store().Events.List() {
		if event.Reason == "Scheduled" {
			bound++
		}
	}
	require.Equal(t, 1, bound)
}
