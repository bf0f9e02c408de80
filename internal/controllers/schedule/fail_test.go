package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/engine"
)

// TestReports: condition and Event of a pod that fits no node.
func TestReports(t *testing.T) {
	w := newWaitingFixture(t, volume("v1", "1Gi", fake.FromNodes("n2")), fake.Pod("p", fake.Claims("c")))
	w.Advance(500 * time.Millisecond)
	const missing = `0/1 nodes are available: persistentvolumeclaim "c" not found. not found`
	w.want("SCHED-231, SCHED-232, SCHED-235",
		"0s default/p FailedScheduling: "+missing,
		"0s patch-status Pod/default/p")
	condition := *scheduled(w.pod("p"))
	require.Equal(t, corev1.PodCondition{Type: "PodScheduled", Status: "False", Reason: "Unschedulable", Message: missing,
		ObservedGeneration: 1,
		LastTransitionTime: condition.LastTransitionTime}, condition, "SCHED-230")

	// The flush after five minutes tries it again: another Event, and nothing to write.
	w.Advance(330 * time.Second)
	w.want("SCHED-231", "5m30s default/p FailedScheduling: "+missing)
	event := w.Store().Events.List()[0]
	require.Equal(t, int32(2), event.Count)
	require.Equal(t, "default-scheduler", event.Source.Component)

	w.create(claimOf("c", "1Gi", fake.VolumeName("v1")))
	w.Advance(0)
	require.Equal(t, []string{
		"5m30.5s default/p FailedScheduling: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
		"5m30.5s patch-status Pod/default/p",
	}, w.log(), "SCHED-252: the new claim makes it active at once; SCHED-231: for another reason")
	require.Equal(t, condition.LastTransitionTime, scheduled(w.pod("p")).LastTransitionTime, "SCHED-230: it is still not scheduled")

	w.bound("c", "v1")
	w.Advance(0)
	require.Equal(t, "0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity. "+
		"no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
		scheduled(w.pod("p")).Message,
		"SCHED-233, SCHED-234, SCHED-236, SCHED-240")
	w.create(fake.Node("n2"))
	w.Advance(0)
	require.Equal(t, "n2", w.pod("p").Spec.NodeName, "SCHED-262")
}

// TestNoNodes: a pod in an empty cluster is retried like one that met an error.
func TestNoNodes(t *testing.T) {
	w := newFixture(t, schedule.Config{}, engine.Config{})
	w.create(fake.Pod("p"))
	require.NoError(t, w.Settle(time.Hour))
	require.Equal(t, time.Duration(0), w.Elapsed())
	require.Equal(t, "no nodes available to schedule pods", scheduled(w.pod("p")).Message, "SCHED-022")
	require.Equal(t, "Unschedulable", scheduled(w.pod("p")).Reason, "SCHED-022, SCHED-230")
	w.Advance(500 * time.Millisecond)
	w.create(fake.Node("n1"))
	require.NoError(t, w.Settle(time.Hour))
	require.Equal(t, "n1", w.pod("p").Spec.NodeName)
	require.Equal(t, 2*time.Second, w.Elapsed(), "SCHED-254")
}

// TestGone: a pod that is deleted during its attempt gets its Event nevertheless.
func TestGone(t *testing.T) {
	w := newWaitingFixture(t, claimOf("c", "1Gi"), fake.Pod("p", fake.Claims("c")))
	w.Advance(0)
	w.log()
	w.DeleteNow(api.Pod, "default/p")
	w.Advance(time.Second)
	lines := w.log()
	require.Len(t, lines, 2, "SCHED-238")
	require.Contains(t, lines[0], "FailedScheduling", "SCHED-238")
	require.Equal(t, `1s patch-status Pod/default/p: pods "p" not found`, lines[1], "SCHED-238")
	w.Advance(time.Hour)
	w.want("SCHED-238: and that is the end of it")
}

// TestHolder: a claim for one pod at a time is free when the pod is over, not when it is about to be.
func TestHolder(t *testing.T) {
	for _, over := range []bool{false, true} {
		w := newWaitingFixture(t, volume("v", "1Gi", fake.Modes("RWOP")), claimOf("c", "1Gi", fake.Modes("RWOP")))
		w.bound("c", "v")
		w.create(fake.Pod("holder", fake.Claims("c"), fake.Finalizers("x/y")))
		w.Advance(0)
		require.Equal(t, "n1", w.pod("holder").Spec.NodeName)
		w.create(fake.Pod("p", fake.Claims("c")))
		w.Advance(time.Minute)
		require.Contains(t, scheduled(w.pod("p")).Message, "ReadWriteOncePod", "SCHED-184")
		_, err := w.API().Delete(w.User(), api.Ref{Kind: api.Pod, Key: "default/holder"}, api.DeleteOptions{})
		require.NoError(t, err)
		w.Advance(time.Second)
		require.Empty(t, w.pod("p").Spec.NodeName, "SCHED-030, SCHED-187: it terminates")
		if over {
			w.PatchStatus(api.Pod, "default/holder", `{"status":{"phase":"Succeeded"}}`)
		} else {
			w.Patch(api.Pod, "default/holder", `{"metadata":{"finalizers":null}}`)
			w.DeleteNow(api.Pod, "default/holder")
		}
		w.Advance(0)
		require.Equal(t, "n1", w.pod("p").Spec.NodeName, "SCHED-030, SCHED-187, SCHED-277")
	}
}

// TestForgottenPodsWakeOthers: a binding that fails frees what the pod took up.
func TestForgottenPodsWakeOthers(t *testing.T) {
	w := newWaitingFixture(t, claimOf("c", "1Gi"))
	w.PatchStatus(api.Node, "n1", `{"status":{"allocatable":{"pods":"1"}}}`)
	w.create(fake.Pod("p", fake.Claims("c")), fake.Pod("q"))
	w.Advance(100 * time.Second)
	require.Empty(t, w.pod("q").Spec.NodeName)
	require.Contains(t, scheduled(w.pod("q")).Message, "Too many pods")
	w.DeleteNow(api.Pod, "default/p")
	w.Advance(0)
	require.Equal(t, "n1", w.pod("q").Spec.NodeName, "SCHED-277, SCHED-169")
}

// TestPreemption: the scheduler evicts as few pods of lower priority as possible.
func TestPreemption(t *testing.T) {
	w := newWaitingFixture(t)
	w.PatchStatus(api.Node, "n1", `{"status":{"allocatable":{"cpu":"3"}}}`)
	asking := func(name, cpu string, priority int32) *corev1.Pod {
		pod := fake.Pod(name)
		pod.Spec.Priority = &priority
		pod.Spec.Containers[0].Resources.Requests = fake.Volume("x", "1Gi").Spec.Capacity.DeepCopy()
		delete(pod.Spec.Containers[0].Resources.Requests, corev1.ResourceStorage)
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = quantity(cpu)
		return pod
	}
	w.create(asking("a", "1", 1), asking("b", "1", 2), asking("c", "1", 3))
	w.Advance(0)
	w.log()
	w.create(asking("p", "1500m", 10))
	w.Advance(0)
	lines := w.log()
	require.Equal(t, "0s default/p FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.", lines[0],
		"SCHED-234: nothing is said about preemption")
	require.Equal(t, "n1", w.pod("p").Status.NominatedNodeName, "SCHED-234")
	require.NotNil(t, w.pod("a").DeletionTimestamp, "SCHED-234")
	require.NotNil(t, w.pod("b").DeletionTimestamp, "SCHED-234")
	require.Nil(t, w.pod("c").DeletionTimestamp, "SCHED-234: it need not go")
	require.Contains(t, strings.Join(lines, "\n"), "default/a Preempted: Preempted by pod "+string(w.pod("p").UID)+" on node n1")
	w.create(asking("late", "1", 5))
	w.DeleteNow(api.Pod, "default/a")
	w.Advance(0)
	require.Contains(t, scheduled(w.pod("p")).Message, "not eligible due to a terminating pod on the nominated node.", "SCHED-234")
	w.DeleteNow(api.Pod, "default/b")
	w.Advance(0)
	require.Equal(t, "n1", w.pod("p").Spec.NodeName)
	require.Empty(t, w.pod("late").Spec.NodeName, "the room was made for another")
}

// TestNominationEnds: a pod loses its nomination to a pod of a higher priority for which more pods are evicted.
func TestNominationEnds(t *testing.T) {
	w := newWaitingFixture(t)
	w.PatchStatus(api.Node, "n1", `{"status":{"allocatable":{"cpu":"2"}}}`)
	asking := func(name, cpu string, priority int32) *corev1.Pod {
		pod := fake.Pod(name)
		pod.Spec.Priority = &priority
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: quantity(cpu)}
		return pod
	}
	w.create(asking("a", "1", 1), asking("b", "1", 2))
	w.Advance(0)
	w.create(asking("middle", "1", 5))
	w.Advance(0)
	require.Equal(t, "n1", w.pod("middle").Status.NominatedNodeName)
	w.create(asking("high", "2", 10))
	w.Advance(0)
	require.Equal(t, "n1", w.pod("high").Status.NominatedNodeName)
	require.NotNil(t, w.pod("b").DeletionTimestamp)
	require.Empty(t, w.pod("middle").Status.NominatedNodeName, "SCHED-314")
}

// TestPreemptedBeforeItIsBound: a pod whose volumes are being bound makes room without being deleted.
func TestPreemptedBeforeItIsBound(t *testing.T) {
	w := newWaitingFixture(t, claimOf("c", "1Gi"))
	w.PatchStatus(api.Node, "n1", `{"status":{"allocatable":{"pods":"1"}}}`)
	w.create(fake.Pod("low", fake.Claims("c")))
	w.Advance(1500 * time.Millisecond)
	w.log()
	high := fake.Pod("high")
	high.Spec.Priority = new(int32(10))
	w.create(high)
	w.Advance(0)
	require.Nil(t, w.pod("low").DeletionTimestamp, "SCHED-242")
	lines := strings.Join(w.log(), "\n")
	require.Contains(t, lines,
		"default/low Preempted: Preempted by pod "+string(w.pod("high").UID)+" on node n1 (in kube-scheduler memory).", "SCHED-242")
	require.Contains(t, lines, `default/low FailedScheduling: running PreBind plugin "VolumeBinding": preempted by DefaultPreemption`,
		"SCHED-242")
	w.Advance(time.Second)
	require.Equal(t, "n1", w.pod("high").Spec.NodeName, "SCHED-242, SCHED-169")
}

// TestPreemptionIsRefused: a victim that cannot be deleted has the others stay, and the pod is tried again.
func TestPreemptionIsRefused(t *testing.T) {
	w := newWaitingFixture(t)
	w.PatchStatus(api.Node, "n1", `{"status":{"allocatable":{"pods":"1"}}}`)
	w.create(fake.Pod("low"))
	w.Advance(1500 * time.Millisecond)
	w.Faults.Fail(fake.Match{Verb: "delete", Key: "default/low"}, errors.New("try again")).Times(1)
	high := fake.Pod("high")
	high.Spec.Priority = new(int32(10))
	w.create(high)
	w.Advance(0)
	require.NotNil(t, w.pod("low").DeletionTimestamp, "SCHED-243")
	require.Equal(t, 2, strings.Count(strings.Join(w.log(), "\n"), "default/high FailedScheduling"), "SCHED-243")
}

// TestStatusIsPatchedAgain: after errors that may pass a status is patched again, three times, with longer and longer pauses.
func TestStatusIsPatchedAgain(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "p")
	for _, tc := range []struct {
		rule, name string
		err        error
		times      int
		want       []string
	}{
		{"SCHED-244", "once", apierrors.NewInternalError(errors.New("x")), 1, []string{"0s", "10ms"}},
		{"SCHED-244", "three times", apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("x")), 3,
			[]string{"0s", "10ms", "60ms", "310ms"}},
		{"SCHED-244", "too often", apierrors.NewServiceUnavailable("x"), 9, []string{"0s", "10ms", "60ms", "310ms"}},
		{"SCHED-244", "it will not pass", gone, 1, []string{"0s"}},
	} {
		w := newWaitingFixture(t)
		w.Faults.Fail(fake.Match{Verb: "patch-status", Key: "default/p"}, tc.err).Times(tc.times)
		w.create(fake.Pod("p", fake.Claims("nosuch")))
		w.Advance(time.Second)
		var at []string
		for _, line := range w.log() {
			if when, ok := strings.CutSuffix(strings.Split(line, " Pod/default/p")[0], " patch-status"); ok {
				at = append(at, when)
			}
		}
		require.Equal(t, tc.want, at, "%s: %s", tc.rule, tc.name)
	}
}

// TestBoundAllTheSame: a binding whose answer is lost fails for the scheduler, which then says so of a pod that has its node.
func TestBoundAllTheSame(t *testing.T) {
	w := newWaitingFixture(t, fake.Pod("p", fake.Claims("c")))
	w.Advance(1500 * time.Millisecond)
	require.Equal(t, corev1.ConditionFalse, scheduled(w.pod("p")).Status)
	w.create(claimOf("c", "1Gi"))
	w.Faults.Lose(fake.Match{Verb: "bind", Key: "default/p"}, apierrors.NewInternalError(errors.New("x"))).Times(1)
	w.Advance(time.Millisecond)
	w.create(w.volumeFor("v", "c"))
	w.bound("c", "v")
	w.Advance(5 * time.Second)
	require.Equal(t, "n1", w.pod("p").Spec.NodeName)
	require.Equal(t, corev1.PodReasonSchedulerError, scheduled(w.pod("p")).Reason, "SCHED-238")
	require.Equal(t, corev1.ConditionTrue, scheduled(w.pod("p")).Status, "SCHED-238: what did not change is not sent")
}

// TestPatchOnItsWay: a condition is put beside what others have written while the request was on its way.
func TestPatchOnItsWay(t *testing.T) {
	w := newWaitingFixture(t)
	w.Faults.Slow(fake.Match{Verb: "patch-status", Key: "default/p"}, 100*time.Millisecond)
	w.create(fake.Pod("p", fake.Claims("nosuch")))
	w.Advance(50 * time.Millisecond)
	require.Empty(t, w.pod("p").Status.Conditions)
	w.PatchStatus(api.Pod, "default/p", `{"status":{"conditions":[{"type":"Other","status":"True"}]}}`)
	w.Advance(100 * time.Millisecond)
	require.Len(t, w.pod("p").Status.Conditions, 2, "SCHED-238: what others wrote stays")
	require.Equal(t, corev1.ConditionFalse, scheduled(w.pod("p")).Status, "SCHED-238")
}

// TestNominatedNodeFirst: a pod goes to its nominated node, although another node has a higher score by then.
func TestNominatedNodeFirst(t *testing.T) {
	w := newWaitingFixture(t)
	w.PatchStatus(api.Node, "n1", `{"status":{"allocatable":{"cpu":"1"}}}`)
	asking := func(name string, priority int32) *corev1.Pod {
		pod := fake.Pod(name)
		pod.Spec.Priority = &priority
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: quantity("1")}
		return pod
	}
	w.create(asking("low", 1))
	w.Advance(0)
	w.create(asking("high", 10))
	w.Advance(0)
	require.Equal(t, "n1", w.pod("high").Status.NominatedNodeName)
	w.create(fake.Node("n0"))
	w.PatchStatus(api.Node, "n0", `{"status":{"allocatable":{"cpu":"4"}}}`)
	w.DeleteNow(api.Pod, "default/low")
	w.Advance(0)
	require.Equal(t, "n1", w.pod("high").Spec.NodeName, "SCHED-318")
}
