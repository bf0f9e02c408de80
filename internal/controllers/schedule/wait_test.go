package schedule_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
)

// TestWait: pod p waits on node n1 for claim s, that gets volume v1, or for claim d, that is provisioned, or for both. Something
// happens after 1.5 s; what the wait ends with shows on the next whole second, or not at all.
func TestWait(t *testing.T) {
	const prefix = `default/p FailedScheduling: running PreBind plugin "VolumeBinding": `
	const assigned = "default/p Scheduled: Successfully assigned default/p to n1"
	static, dynamic, both := []string{"s"}, []string{"d"}, []string{"d", "s"}
	reset := func(w *fixture) {
		w.Patch(api.PersistentVolume, "v1", `{"spec":{"claimRef":null}}`)
	}
	unselect := func(w *fixture) {
		w.Patch(api.PersistentVolumeClaim, "default/d", `{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":null,"x":"y"}}}`)
	}
	for _, tc := range []struct {
		rule, name string
		claims     []string
		happens    func(w *fixture)
		want       string
	}{
		{"SCHED-150", "the node is gone", static, func(w *fixture) { w.DeleteNow(api.Node, "n1") },
			prefix + `binding volumes: failed to get node "n1": node "n1" not found`},
		{"SCHED-151", "the pod is gone", static, func(w *fixture) { w.DeleteNow(api.Pod, "default/p") },
			prefix + `binding volumes: pod does not exist any more: pod "p" not found`},
		{"SCHED-151", "the pod is over", static, func(w *fixture) { w.PatchStatus(api.Pod, "default/p", `{"status":{"phase":"Failed"}}`) },
			prefix + `binding volumes: pod does not exist any more: pod "p" not found`},
		{"SCHED-152", "the volume is gone", static, func(w *fixture) {
			w.Patch(api.PersistentVolume, "v1", `{"metadata":{"finalizers":null}}`)
			w.DeleteNow(api.PersistentVolume, "v1")
		}, prefix + `binding volumes: failed to check binding: persistentvolumes "v1" not found`},
		{"SCHED-152", "the claim is gone", static, func(w *fixture) { w.removeClaim("s") },
			prefix + `binding volumes: failed to check binding: persistentvolumeclaims "default/s" not found`},
		{"SCHED-154", "the node has other labels", static, func(w *fixture) {
			w.Patch(api.Node, "n1", `{"metadata":{"labels":{"kubernetes.io/hostname":"n7"}}}`)
		},
			prefix + `binding volumes: pv "v1" node affinity doesn't match node "n1": no matching NodeSelectorTerms`},
		{"SCHED-155", "the volume was taken back", static, reset, prefix + `binding volumes: ClaimRef got reset for pv "v1"`},
		{"SCHED-156", "the claim is half bound", static, func(w *fixture) {
			w.Patch(api.PersistentVolumeClaim, "default/s", `{"spec":{"volumeName":"v1"}}`)
		}, ""},
		{"SCHED-164", "the claim is bound", static, func(w *fixture) { w.bound("s", "v1") }, assigned},
		{"SCHED-166", "to another volume", static, func(w *fixture) { w.bound("s", "elsewhere") }, assigned},
		{"SCHED-157", "the claim is gone", dynamic, func(w *fixture) { w.removeClaim("d") },
			prefix + `binding volumes: failed to check provisioning pvc: persistentvolumeclaims "default/d" not found`},
		{"SCHED-159", "it has no annotations", dynamic, func(w *fixture) {
			w.Patch(api.PersistentVolumeClaim, "default/d", `{"metadata":{"annotations":null}}`)
		}, prefix + `binding volumes: selectedNode annotation reset for PVC "d"`},
		{"SCHED-159", "the provisioner gives up, and the annotation was the only one", dynamic, func(w *fixture) {
			w.Patch(api.PersistentVolumeClaim, "default/d", `{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":null}}}`)
		}, prefix + `binding volumes: selectedNode annotation reset for PVC "d"`},
		{"SCHED-160", "the provisioner gives up", dynamic, unselect, prefix + `binding volumes: provisioning failed for PVC "d"`},
		{"SCHED-160", "another node", dynamic, func(w *fixture) {
			w.Patch(api.PersistentVolumeClaim, "default/d", `{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n2"}}}`)
		}, prefix + `binding volumes: provisioning failed for PVC "d"`},
		{"SCHED-161", "the volume is not there yet", dynamic, func(w *fixture) { w.bound("d", "v9") }, ""},
		{"SCHED-162", "the volume is out of reach", dynamic, func(w *fixture) {
			w.create(w.volumeFor("v9", "d", fake.FromNodes("n2")))
			w.bound("d", "v9")
		}, prefix + `binding volumes: pv "v9" node affinity doesn't match node "n1": no matching NodeSelectorTerms`},
		{"SCHED-163", "the volume is there, and the claim not bound", dynamic, func(w *fixture) {
			w.create(w.volumeFor("v9", "d"))
			w.Patch(api.PersistentVolumeClaim, "default/d", `{"spec":{"volumeName":"v9"}}`)
		}, ""},
		{"SCHED-164", "the claim is provisioned", dynamic, func(w *fixture) {
			w.create(w.volumeFor("v9", "d"))
			w.bound("d", "v9")
		}, assigned},
		{"SCHED-165", "the second fails while the first is waited for", both, unselect, ""},
		{"SCHED-165", "and shows when the first is done", both, func(w *fixture) {
			unselect(w)
			w.bound("s", "v1")
		}, prefix + `binding volumes: provisioning failed for PVC "d"`},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			w := newWaitingFixture(t, volume("v1", "1Gi", fake.FromNodes("n1")), claimOf("s", "1Gi"), claimOf("d", "9Gi"),
				fake.Pod("p", fake.Claims(tc.claims...)))
			w.Advance(1500 * time.Millisecond)
			w.log()
			tc.happens(w)
			w.Advance(499 * time.Millisecond)
			require.Empty(t, w.log(), "SCHED-168")
			w.Advance(time.Millisecond)
			got := slices.DeleteFunc(w.log(), func(line string) bool {
				return !strings.Contains(line, "Scheduled: ") && !strings.Contains(line, "FailedScheduling: ")
			})
			want := []string{}
			if tc.want != "" {
				want = append(want, "2s "+tc.want)
			}
			require.Equal(t, want, append([]string{}, got...), tc.rule)
		})
	}
}

func (w *fixture) removeClaim(name string) {
	w.T.Helper()
	w.DeleteNow(api.PersistentVolumeClaim, "default/"+name)
	w.Patch(api.PersistentVolumeClaim, "default/"+name, `{"metadata":{"finalizers":null}}`)
}

// TestTimeout: nothing happens for ten minutes; the retry is pinned to the node.
func TestTimeout(t *testing.T) {
	w := newWaitingFixture(t, fake.Node("n2"), claimOf("c", "1Gi"), fake.Pod("p", fake.Claims("c")))
	w.Advance(0)
	w.log()
	require.NoError(t, w.Settle(time.Hour))
	require.Equal(t, time.Second, w.Elapsed(), "the wait is no work while nothing happens")
	w.Advance(599*time.Second - time.Millisecond)
	w.want("SCHED-005, SCHED-167")
	w.Advance(time.Millisecond)
	w.want("SCHED-005, SCHED-167, SCHED-169",
		`10m0s default/p FailedScheduling: running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded`,
		"10m0s patch-status Pod/default/p")
	require.Equal(t, "SchedulerError", scheduled(w.pod("p")).Reason, "SCHED-169")
	require.Empty(t, w.pod("p").Status.NominatedNodeName, "SCHED-169")
	c, _ := w.Store().Claims.Get("default/c")
	require.Equal(t, "n1", c.Annotations["volume.kubernetes.io/selected-node"], "SCHED-169: it is not undone")
	w.Patch(api.Node, "n1", `{"spec":{"unschedulable":true}}`)
	w.Advance(2 * time.Second)
	require.Contains(t, scheduled(w.pod("p")).Message,
		"1 node(s) didn't find available persistent volumes to bind, 1 node(s) were unschedulable", "SCHED-070, SCHED-169")
}

// TestShortTimeout: the figure can be set.
func TestShortTimeout(t *testing.T) {
	w := newFixture(t, schedule.Config{BindTimeout: 2500 * time.Millisecond}, engine.Config{})
	w.create(fake.Node("n1"), fake.Class("wait", "d", fake.WaitForFirstConsumer()), claimOf("c", "1Gi"), fake.Pod("p", fake.Claims("c")))
	w.Advance(2499 * time.Millisecond)
	w.log()
	w.Advance(time.Millisecond)
	require.Contains(t, w.log()[0], "context deadline exceeded", "SCHED-005")
}

// TestLag: own writes arrive late in the cache; until then an old version proves nothing.
func TestLag(t *testing.T) {
	w := newFixture(t, schedule.Config{}, engine.Config{Lag: map[string]time.Duration{actors.Scheduler: 1200 * time.Millisecond}})
	w.create(fake.Node("n1"), fake.Class("wait", "d", fake.WaitForFirstConsumer()), volume("v1", "1Gi", fake.FromNodes("n1")),
		claimOf("s", "1Gi"), claimOf("d", "9Gi"))
	w.Advance(2 * time.Second)
	w.create(fake.Pod("p", fake.Claims("s")), fake.Pod("q", fake.Claims("d")))
	w.Advance(1199 * time.Millisecond)
	w.want("SCHED-031: the scheduler knows what its watch has delivered")
	w.Advance(time.Millisecond) // 3.2 s
	require.NotEmpty(t, w.log())
	w.Advance(1100 * time.Millisecond) // 4.3 s
	w.want("SCHED-153, SCHED-158: the first look shows a volume without claimRef and a claim without a node, but they are old")
	w.bound("s", "v1")
	w.create(w.volumeFor("v9", "d"))
	w.bound("d", "v9")
	w.Advance(1100 * time.Millisecond) // 5.4 s
	w.want("SCHED-031: bound, but no watch event yet")
	w.Advance(time.Second) // 6.4 s: written at 5.5 s, seen at 6.2 s
	require.Equal(t, "n1", w.pod("p").Spec.NodeName)
	require.Equal(t, "n1", w.pod("q").Spec.NodeName)
}

// TestRestart: a restart forgets decisions that were not written; written ones remain binding.
func TestRestart(t *testing.T) {
	w := newWaitingFixture(t, fake.Node("n0"), claimOf("c", "1Gi"), fake.Pod("p", fake.Claims("c")))
	w.Advance(10 * time.Second)
	w.actor.Crash()
	w.Advance(time.Minute)
	w.log()
	w.actor.Start()
	w.Advance(0)
	w.want("the pod is tried again, on the node that it was nominated for", "1m10s update PersistentVolumeClaim/default/c")
	w.create(w.volumeFor("v", "c"))
	w.bound("c", "v")
	w.Advance(time.Second)
	require.Equal(t, "n0", w.pod("p").Spec.NodeName)
	w.actor.Crash()
	w.actor.Start()
	require.NoError(t, w.Settle(time.Minute))
	require.Equal(t, corev1.ConditionTrue, scheduled(w.pod("p")).Status)
}
