package mount

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// MNT-060, MNT-061, MNT-062, MNT-063, MNT-064: which pods the populator adds.
func TestWhichPods(t *testing.T) {
	w := newFixture(t)
	k := w.node.kubelet
	pod := fake.Pod("u", fake.UID("u"))
	addClaim(pod, "data", "c1")
	for _, tc := range []struct {
		rule     string
		starting bool
		worker   *podWorker
		skips    bool
	}{
		{"MNT-061", true, &podWorker{state: podStopping}, false},
		{"MNT-061", true, &podWorker{state: podUnmounting}, true},
		{"MNT-062", false, &podWorker{state: podStopping}, true},
		{"MNT-062", false, nil, true},
		{"MNT-060", false, &podWorker{}, false},
	} {
		k.populator.hasAddedPods = !tc.starting
		delete(k.workers, "u")
		if tc.worker != nil {
			k.workers["u"] = tc.worker
		}
		if got := k.populator.skips("u"); got != tc.skips {
			t.Errorf("%s: skips(%+v) = %v, want %v", tc.rule, tc, got, tc.skips)
		}
	}
	delete(k.workers, "u")
	k.populator.hasAddedPods = true
	stored := w.pod("p1")
	w.Advance(400 * time.Millisecond)
	want(t, "MNT-064: processed", k.populator.processed[stored.UID], true)
	reads := 0
	w.Faults.Fail(fake.Match{Verb: "get", Kind: "PersistentVolumeClaim"}, errors.New("no"))
	k.populator.ticker.Arm()
	w.Advance(time.Second)
	for e := range w.Since() {
		if e.Type == trace.Injected {
			reads++
		}
	}
	want(t, "MNT-064: no reads", reads, 0)
}

// MNT-063, MNT-131: the first complete pass of the populator, and what waits for it.
func TestHasAddedPods(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	w.node.Stop()
	w.forceDelete("p1")
	w.node.Start()
	w.Advance(0)
	want(t, "MNT-063: at once", w.node.kubelet.populator.hasAddedPods, false)
	w.Advance(99 * time.Millisecond)
	want(t, "MNT-131: calls", w.calls(), nil)
	w.Advance(time.Millisecond)
	want(t, "MNT-002: after 100 ms", w.node.kubelet.populator.hasAddedPods, true)
	want(t, "MNT-459: calls", w.calls(), []string{"Unpublish h1"})
}

// MNT-066, MNT-067, MNT-068: several volumes, some of which fail.
func TestSomeVolumesFail(t *testing.T) {
	w := newFixture(t)
	pod := w.pod("p1", fake.Claims("missing", "c1"))
	w.Advance(200 * time.Millisecond)
	k := w.node.kubelet
	want(t, "MNT-066: the other is desired", k.desired.HasPodVolume(volumeName, pod.UID), true)
	want(t, "MNT-068: no retry before the next sync", k.populator.processed[pod.UID], true)
	w.Advance(200 * time.Millisecond)
	if events := w.events(); len(events) != 1 ||
		!strings.HasPrefix(events[0],
			"FailedMount default/p1: Unable to attach or mount volumes: unmounted volumes=[c1 missing], unattached volumes=[c1], failed to process volumes=[missing]: error processing PVC default/missing:") {
		t.Errorf("MNT-352, MNT-381: events = %q", events)
	}
	// A pod without a waiting sync is tried again in the next pass.
	delete(k.populator.processed, pod.UID)
	w.Mark()
	k.populator.ticker.Arm()
	w.Advance(100 * time.Millisecond)
	_, seen := k.populator.processed[pod.UID]
	want(t, "MNT-068: unseen", seen, false)
}

// MNT-074: sizes.
func TestSizes(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	k := w.node.kubelet
	dv, _ := k.desired.Volume(volumeName)
	av, _ := k.actual.Volume(volumeName)
	want(t, "MNT-074: desired", dv.Size, 1<<30)
	want(t, "MNT-175: actual", av.Size, 1<<30)
}

// MNT-080, MNT-930: a CSIDriver that is replaced.
func TestAttachabilityChanges(t *testing.T) {
	w := newFixture(t)
	pod := w.pod("p1")
	w.Advance(time.Second)
	w.stopAttaching()
	_, err := w.driver.Attach(storage.NodeRequest{ID: handle, Node: nodeName})
	w.OK(err)
	w.Advance(500 * time.Millisecond)
	v, _ := w.node.kubelet.desired.Volume(volumeName)
	want(t, "MNT-080: attachable", v.Attachable, false)
	want(t, "MNT-930: same name", w.node.kubelet.desired.HasPodVolume(volumeName, pod.UID), true)
	want(t, "MNT-174: not attachable", w.calls(), []string{"Stage h1", "Publish h1"})
}

// MNT-080: a CSIDriver that is replaced at the instant at which a pod ends.
func TestAttachabilityChangesAtTheEnd(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	w.stopAttaching()
	w.deletePod("p1")
	w.Advance(time.Second)
	want(t, "MNT-080: timed calls", w.timed(), []string{"200ms Unpublish h1", "300ms Unstage h1"})
	want(t, "MNT-387: phase", w.phase("p1"), corev1.PodPhase("gone"))
}

// stopAttaching replaces the CSIDriver by one whose volumes are not attached.
func (w *fixture) stopAttaching() {
	w.T.Helper()
	_, err := w.Store().CSIDrivers.Delete(driverName, deleteNow)
	w.OK(err)
	driver := &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{AttachRequired: new(false)}}
	driver.Name = driverName
	w.Create(driver)
}

// MNT-195, MNT-041: a CSIDriver without attachRequired is gone, so the next mount needs the attachment.
func TestAttachabilityBegins(t *testing.T) {
	w := newFixture(t)
	w.stopAttaching()
	_, err := w.driver.Attach(storage.NodeRequest{ID: handle, Node: nodeName})
	w.OK(err)
	w.pod("p1")
	w.Advance(time.Second)
	want(t, "MNT-174: p1 is mounted", w.calls(), []string{"Stage h1", "Publish h1"})
	_, err = w.Store().CSIDrivers.Delete(driverName, deleteNow)
	w.OK(err)
	w.pod("p2")
	w.Advance(500 * time.Millisecond)
	v, _ := w.node.kubelet.desired.Volume(volumeName)
	want(t, "MNT-041: fixed", v.Attachable, false)
	want(t, "MNT-195: Event", strings.Contains(strings.Join(w.events(), "\n"), "MountVolume.WaitForAttach failed"), true)
	want(t, "MNT-195: no call", w.calls(), []string{"Stage h1", "Publish h1"})
}

// MNT-134, MNT-158, MNT-398, MNT-909: a volume that was verified too early backs off without an Event.
func TestStaleNodeCache(t *testing.T) {
	w := newFixture(t, func(s *setup) {
		s.engine.Lag = map[string]time.Duration{actors.Kubelet(nodeName): 300 * time.Millisecond}
	})
	w.pod("p1")
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(100 * time.Millisecond)
	w.setAttached()
	w.Advance(250 * time.Millisecond)
	want(t, "MNT-158: backs off", w.node.kubelet.operations.pending.Len(), 1)
	want(t, "MNT-398: events", w.events(), nil)
}

// MNT-071: a source in the pod is taken as it is. MNT-004, MNT-036: and needs nothing to be attached.
func TestSourceInThePod(t *testing.T) {
	w := newFixture(t)
	pod := fake.Pod("p1", fake.OnNode(nodeName))
	pod.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}}
	w.Create(pod)
	w.Advance(500 * time.Millisecond)
	uid := w.stored("p1").UID
	want(t, "MNT-071: phase", w.phase("p1"), corev1.PodRunning)
	want(t, "MNT-022: record", w.node.kubelet.desired.HasPodVolume(corev1.UniqueVolumeName("kubernetes.io/empty-dir/"+uid+"-tmp"), uid), true)
	want(t, "directory", w.node.disk.Exists(w.node.kubelet.layout.PodVolume(uid, "kubernetes.io/empty-dir", "tmp")), true)
}

// MNT-133, MNT-159: an operation continues with the desired state of its start, and blocks all others of its volume.
func TestOperationGoesOn(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.driver = []fake.MemoryOption{fake.Latency(storage.Stage, 5*time.Second)} })
	w.pod("p1")
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(time.Second)
	w.pod("p2")
	w.deletePod("p1")
	w.Mark()
	w.Advance(10 * time.Second)
	want(t, "MNT-159: calls", w.calls(), []string{"Stage h1", "Publish h1", "Unpublish h1", "Publish h1"})
	want(t, "MNT-133: phase", w.phase("p2"), corev1.PodRunning)
}

// MNT-013, MNT-130, MNT-136, MNT-137: what a kubelet has synced after its start, and when.
func TestStart(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	w.OK(w.node.disk.Mkdir(w.node.kubelet.layout.PodVolume("old", "kubernetes.io/csi", "lost")))
	w.node.Stop()
	w.node.Start()
	k := w.node.kubelet
	want(t, "MNT-013: nothing remembered", []int{len(k.actual.Volumes()), len(k.desired.PodVolumes()), k.operations.pending.Len()},
		[]int{0, 0, 0})
	w.Advance(0)
	want(t, "MNT-130: read before the first pass", len(k.actual.Volumes()), 1)
	want(t, "MNT-137: corrected in the first pass", []any{len(k.reconciler.unverified), k.reconciler.statesSynced}, []any{0, true})
	want(t, "MNT-136: not yet", len(k.reconciler.unreconstructed), 1)
	w.Advance(time.Second)
	want(t, "MNT-136: once", len(k.reconciler.unreconstructed), 0)
}

// While the API server cannot be reached, Settle does not wait for it.
func TestSettlePartitioned(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	w.node.Partition(true)
	w.OK(w.node.Exit("default/p1", corev1.PodSucceeded))
	w.OK(w.Settle(time.Hour))
	want(t, "phase", w.phase("p1"), corev1.PodRunning)
	w.node.Partition(false)
	w.Advance(time.Minute)
	want(t, "phase", w.phase("p1"), corev1.PodSucceeded)
}

// MNT-084, MNT-085: the records of deleted pods.
func TestForgottenPods(t *testing.T) {
	w := newFixture(t)
	pod := w.pod("p1", fake.Claims("missing"))
	w.Advance(200 * time.Millisecond)
	k := w.node.kubelet
	k.desired.AddPodError(pod.UID, "x")
	w.forceDelete("p1")
	w.Advance(time.Second)
	want(t, "MNT-084: processed", len(k.populator.processed), 0)
	want(t, "MNT-085: errors", len(k.desired.PodsWithErrors()), 0)
	want(t, "workers", len(k.workers), 0)
}

// MNT-174, MNT-175, MNT-176, MNT-177: how a volume is verified.
func TestVerify(t *testing.T) {
	w := newFixture(t)
	pod := w.pod("p1")
	w.Advance(11 * time.Second)
	k := w.node.kubelet
	dv, _ := k.desired.Volume(volumeName)
	dp, _ := dv.Pods.Get(pod.UID)
	verify := func(v volumes.DesiredVolume) (text string) {
		w.node.kubeletActor.Go("test", func(p *engine.Process) {
			if err := k.operations.verifyAttached(p, v, dp.Spec, pod); err != nil {
				text = err.Error()
			}
		})
		w.Advance(0)
		return text
	}
	want(t, "MNT-175: not in the status", verify(*dv),
		`VerifyControllerAttachedVolume failed for volume "pv1" : Volume not attached according to node status`)
	unreported := *dv
	unreported.ReportedInUse = false
	if text := verify(unreported); !strings.Contains(text, "has not been added to the list of VolumesInUse") {
		t.Errorf("MNT-175: not reported: %q", text)
	}
	w.Faults.Fail(fake.Match{Verb: "get", Kind: "Node", Actor: actors.Kubelet(nodeName)}, errors.New("no")).Once()
	if text := verify(*dv); !strings.Contains(text, "failed fetching node") {
		t.Errorf("MNT-175: no node: %q", text)
	}
	w.Faults.Fail(fake.Match{Verb: "get", Kind: "PersistentVolumeClaim"}, errors.New("no")).Once()
	if text := verify(*dv); !strings.Contains(text, "FetchPVC failed") {
		t.Errorf("MNT-175: no claim: %q", text)
	}
	want(t, "MNT-176: events", w.events(), nil)
	other := *dv
	other.Attachable = false
	want(t, "MNT-175: not attachable", verify(other), "")
	w.attach(handle)
	w.Advance(time.Second)
	w.setAttached()
	w.Mark()
	w.Advance(time.Minute)
	want(t, "MNT-177: never again", w.calls(), nil)
	want(t, "MNT-177: phase", w.phase("p1"), corev1.PodRunning)
}

// MNT-150, MNT-151, MNT-152, MNT-153, MNT-154: keys.
func TestKeys(t *testing.T) {
	shared := &volumes.DesiredVolume{Identity: volumes.Identity{Name: "v", Attachable: false, DeviceMountable: true}}
	own := &volumes.DesiredVolume{Identity: volumes.Identity{Name: "v", Attachable: false, DeviceMountable: false}}
	want(t, "MNT-151: shared", mountKey(shared, "p"), engine.OperationKey{Volume: "v"})
	want(t, "MNT-151: own", mountKey(own, "p"), engine.OperationKey{Volume: "v", Pod: "p"})
	want(t, "MNT-152", podKey("v", "p"), engine.OperationKey{Volume: "v", Pod: "p"})
	want(t, "MNT-150, MNT-153", volumeKey("v"), engine.OperationKey{Volume: "v"})
	w := newFixture(t, func(s *setup) { s.driver = []fake.MemoryOption{fake.Latency(storage.Unpublish, time.Second)} })
	w.run("p1")
	w.pod("p2")
	w.Advance(time.Second)
	w.Mark()
	for _, pod := range []string{"p1", "p2"} {
		_, err := w.Store().Pods.Delete("default/"+pod, api.DeleteOptions{})
		w.OK(err)
	}
	w.Advance(5 * time.Second)
	want(t, "MNT-154: side by side", w.timed()[:2], []string{"1.1s Unpublish h1", "1.1s Unpublish h1"})
}

// MNT-155, MNT-908: an unmount does not wait for the backoff of mounts.
func TestUnmountAfterFailedMount(t *testing.T) {
	w := newFixture(t)
	w.failing(storage.Publish, storage.DeadlineExceeded)
	w.pod("p1")
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(30 * time.Second)
	w.Mark()
	w.deletePod("p1")
	w.Advance(time.Second)
	want(t, "MNT-908", w.calls(), []string{"Unpublish h1", "Unstage h1"})
}

// MNT-160, MNT-156: failed operations come again with growing delays, which success ends.
func TestBackoffEnds(t *testing.T) {
	w := newFixture(t)
	w.failing(storage.Publish, storage.Internal).Times(3)
	w.pod("p1")
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Mark()
	w.Advance(10 * time.Second)
	const failed = " Publish h1 = Internal"
	want(t, "MNT-160", w.timed(), []string{"100ms Stage h1", "100ms" + failed, "700ms" + failed, "1.8s" + failed, "3.9s Publish h1"})
	want(t, "MNT-156", w.node.kubelet.operations.pending.Len(), 0)
}

// MNT-170, MNT-171, MNT-172, MNT-044, MNT-008: reports of the node's status.
func TestReports(t *testing.T) {
	w := newFixture(t)
	w.pod("p1")
	w.Faults.Fail(fake.Match{Verb: "patch-status", Kind: "Node"}, errors.New("no")).Times(5)
	w.Advance(9200 * time.Millisecond)
	v, _ := w.node.kubelet.desired.Volume(volumeName)
	want(t, "MNT-172: failed five times, nothing reported back", []any{v.ReportedInUse, len(w.inUse())}, []any{false, 0})
	w.Advance(10 * time.Second)
	want(t, "MNT-172: the next round", []any{v.ReportedInUse, len(w.inUse())}, []any{true, 1})
	writes := func() int {
		n := 0
		for e := range w.Since() {
			if e.Type == trace.Write && e.Verb == "patch-status" && e.Object.Kind == api.Node && e.Err == nil {
				n++
			}
		}
		return n
	}
	w.attach(handle)
	w.Advance(20 * time.Second)
	w.Mark()
	w.Advance(6 * time.Minute)
	want(t, "MNT-008: unchanged", writes(), 1)
	w.Advance(20 * time.Minute)
	w.Mark()
	w.Advance(24 * time.Hour)
	want(t, "MNT-008: nothing to learn", writes(), 0)
	// ATT-044: a volume that is attached and not in use may be taken for mounted, for as long as that is so.
	w.bound("pv2", "h2", "c2")
	w.attachment("h2", func(*storagev1.VolumeAttachment) {})
	w.Advance(time.Hour)
	w.Mark()
	w.Advance(time.Hour)
	want(t, "MNT-008: attached and not in use", writes(), 12)
	_, err := w.Store().Attachments.Delete(objects.AttachmentName("h2", driverName, nodeName), deleteNow)
	w.OK(err)
	w.Advance(time.Hour)
	w.Mark()
	w.Advance(24 * time.Hour)
	want(t, "MNT-008: nothing to learn again", writes(), 0)
	// A user removes the list: it comes back, and is reported again.
	node, _ := w.Store().Nodes.Get(nodeName)
	changed := *node
	changed.Status.VolumesInUse = nil
	_, err = w.Store().Nodes.UpdateStatus(&changed)
	w.OK(err)
	w.Advance(11 * time.Second)
	want(t, "MNT-044, MNT-910: in use", len(w.inUse()), 1)
}

// MNT-934: what a try of a round begins with.
func TestReportsBeginWithTheWatch(t *testing.T) {
	w := newFixture(t)
	w.pod("p1")
	w.Faults.Fail(fake.Match{Verb: "get", Kind: "Node", Actor: actors.Kubelet(nodeName)}, errors.New("no")).Times(100)
	w.Faults.Fail(fake.Match{Verb: "patch-status", Kind: "Node"}, errors.New("no")).Once()
	w.Advance(9200 * time.Millisecond)
	want(t, "MNT-934: later tries ask the API server", len(w.inUse()), 0)
	w.Advance(10 * time.Second)
	want(t, "MNT-934: the first one does not", len(w.inUse()), 1)
}

func TestUnskippedReports(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.engine.NoSkipping = true })
	w.Advance(time.Hour)
	n := 0
	for e := range w.Since() {
		if e.Type == trace.Write && e.Verb == "patch-status" {
			n++
		}
	}
	want(t, "MNT-008: every 5 min", n, 12)
}

// MNT-172, MNT-008: an unchanged report whose answers are all lost is made again in the next round, although it was stored.
func TestLostReports(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.engine.NoSkipping = true })
	reports := func() []string {
		var times []string
		for e := range w.Since() {
			if e.Type == trace.Write && e.Verb == "patch-status" && e.Object.Kind == api.Node {
				times = append(times, e.Time.Sub(engine.DefaultStart).Round(time.Second).String())
			}
		}
		return slices.Compact(times)
	}
	w.Faults.Lose(fake.Match{Verb: "patch-status", Kind: "Node"}, errors.New("no")).Times(8)
	w.Advance(11 * time.Minute)
	want(t, "MNT-172", reports(), []string{"5m0s", "5m10s", "10m10s"})
}

// MNT-350, MNT-351, MNT-904: a pod that has all it uses does not fail, and one that uses nothing does not wait.
func TestWaitSucceeds(t *testing.T) {
	w := newFixture(t)
	w.Create(fake.Pod("p0", fake.OnNode(nodeName)))
	w.Advance(0)
	want(t, "MNT-350: no volumes", w.phase("p0"), corev1.PodRunning)
	w.run("p1")
	_, err := w.Store().Claims.Delete("default/c1", deleteNow)
	w.OK(err)
	w.Mark()
	w.Advance(3 * time.Minute)
	want(t, "MNT-351, MNT-904: phase", w.phase("p1"), corev1.PodRunning)
	want(t, "MNT-904: events", w.events(), nil)
}

// MNT-356: the end of a pod cancels its wait; MNT-355: several pods.
func TestWaitEnds(t *testing.T) {
	w := newFixture(t)
	w.pod("p1")
	w.Advance(time.Second)
	k := w.node.kubelet
	ended := k.workers[w.stored("p1").UID]
	w.deletePod("p1")
	w.Advance(0)
	want(t, "MNT-356: over", ended.state.containersGone(), true)
	w.Advance(time.Second)
	want(t, "MNT-387: never ran", w.phase("p1"), "gone")
	want(t, "MNT-382: events", w.events(), nil)

	a, b := w.run("a"), w.pod("b")
	w.Advance(time.Second)
	var errs error
	w.node.kubeletActor.Go("test", func(p *engine.Process) {
		errs = k.waitForAllPodsUnmount(p, nil, time.Second)
		want(t, "MNT-355: none", errs, nil)
		errs = k.waitForAllPodsUnmount(p, []*podWorker{k.workers[a.UID], k.workers[b.UID]}, time.Second)
	})
	w.Advance(2 * time.Second)
	if !errors.Is(errs, errDeadline) {
		t.Errorf("MNT-355: error = %v, want %v", errs, errDeadline)
	}
}

// MNT-354: the text of a wait for unmounting.
func TestWaitForUnmountFails(t *testing.T) {
	w := newFixture(t)
	pod := w.run("p1")
	k := w.node.kubelet
	var err error
	w.node.kubeletActor.Go("test", func(p *engine.Process) { err = k.waitForUnmount(p, k.workers[pod.UID]) })
	w.Advance(3 * time.Minute)
	want(t, "MNT-354", err.Error(), "mounted volumes=[kubernetes.io/csi/d^h1]: context deadline exceeded")
}

// MNT-357, MNT-385: containers get the mounted volumes.
func TestContainersNeedVolumes(t *testing.T) {
	w := newFixture(t)
	pod := w.run("p1")
	k := w.node.kubelet
	want(t, "MNT-357", []bool{k.isMounted(pod.UID, "data"), k.isMounted(pod.UID, "other")}, []bool{true, false})
	k.operations.setPodState(volumeName, pod.UID, testSpec("data"), volumes.MountUncertain)
	failuresOf := func(pod *corev1.Pod) []kubeletstatus.Failure {
		failures, mounts := k.failures(pod)
		want(t, "MNT-385: mounts", mounts, true)
		return failures
	}
	want(t, "MNT-385: mount", failuresOf(pod), []kubeletstatus.Failure{{Container: "main", Message: `cannot find volume "data" to mount into container "main"`}})
	device := fake.Pod("p2", fake.BlockClaims("c9"))
	want(t, "MNT-385: device", failuresOf(device), []kubeletstatus.Failure{{Container: "main", Message: `cannot find volume "c9" to pass into container "main"`}})
}

// MNT-384: the status of a pod that waits.
func TestPodStatus(t *testing.T) {
	pod := fake.Pod("p")
	status := kubeletstatus.Waiting(nil, pod)
	conditions := map[corev1.PodConditionType]string{}
	for _, c := range status.Conditions {
		conditions[c.Type] = strings.TrimSpace(string(c.Status) + " " + c.Reason + " " + c.Message)
	}
	want(t, "MNT-384: phase", status.Phase, corev1.PodPending)
	want(t, "MNT-384: container", status.ContainerStatuses[0].State.Waiting.Reason, "ContainerCreating")
	want(t, "MNT-384: conditions", conditions, map[corev1.PodConditionType]string{
		corev1.PodReadyToStartContainers: "False", corev1.PodInitialized: "True",
		corev1.PodReady:        "False ContainersNotReady containers with unready status: [main]",
		corev1.ContainersReady: "False ContainersNotReady containers with unready status: [main]"})
	pod.Spec.InitContainers = []corev1.Container{{Name: "init"}, {Name: "then"}}
	status = kubeletstatus.Waiting(nil, pod)
	want(t, "MNT-384: init containers", status.Conditions[1].Message, "containers with incomplete status: [init then]")
	want(t, "MNT-384: with init containers", status.ContainerStatuses[0].State.Waiting.Reason, "PodInitializing")
	running := kubeletstatus.Running(nil, pod)
	want(t, "MNT-380: running", []any{running.Phase, running.ContainerStatuses[0].State.Running != nil}, []any{corev1.PodRunning, true})
	pod.Status = running
	ended := kubeletstatus.Terminated(nil, pod, kubeletstatus.Exited, corev1.PodFailed, "Evicted", "text")
	want(t, "MNT-387: ended", []any{ended.Phase, ended.Reason, ended.ContainerStatuses[0].State.Terminated.ExitCode},
		[]any{corev1.PodFailed, "Evicted", int32(0)})
}

// toTick advances to the next tick of the status manager.
func (w *fixture) toTick() {
	w.Advance(statusSyncPeriod - w.Now().Sub(w.node.kubelet.began)%statusSyncPeriod)
}

// MNT-465: a status that could not be written is written at the next tick, though nothing else happens to the pod.
func TestStatusIsTriedAgain(t *testing.T) {
	tests := []struct {
		name  string
		times int
		after time.Duration
		want  corev1.PodPhase
	}{
		{"fails once, reported already", 1, 0, corev1.PodPending},
		{"fails once, before the tick", 1, 8800 * time.Millisecond, corev1.PodPending},
		{"fails once, and is repeated", 1, 9 * time.Second, corev1.PodRunning},
		{"fails twice", 2, 18800 * time.Millisecond, corev1.PodPending},
		{"fails twice, and is repeated", 2, 19 * time.Second, corev1.PodRunning},
	}
	for _, tc := range tests {
		w := newFixture(t)
		w.pod("p1")
		w.toTick()
		w.Faults.Fail(fake.Match{Verb: "patch-status", Kind: "Pod"}, errors.New("no")).Times(tc.times)
		w.attach(handle)
		w.Advance(time.Second)
		want(t, tc.name+": containers", len(internals.Node(w.node).Containers()), 1)
		w.Advance(tc.after)
		want(t, tc.name, w.phase("p1"), tc.want)
	}
}

// MNT-465: a status that could not be written is also written with the next one of the kubelet, and has the times of its changes.
func TestStatusIsSentWithTheNext(t *testing.T) {
	w := newFixture(t)
	w.pod("p1")
	w.Advance(11 * time.Second)
	w.Faults.Fail(fake.Match{Verb: "patch-status", Kind: "Pod"}, errors.New("no")).Times(1)
	w.attach(handle)
	w.Advance(2 * time.Second)
	want(t, "MNT-465: phase", w.phase("p1"), corev1.PodPending)
	began := w.Now()
	w.Create(fake.Pod("p2", fake.OnNode("n1")))
	w.Advance(time.Second)
	want(t, "MNT-465: phase", w.phase("p1"), corev1.PodRunning)
	pod, err := w.Store().Pods.Get("default/p1")
	w.OK(err)
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && !c.LastTransitionTime.Time.Before(began) {
			t.Errorf("MNT-465: ready since %v, want a time before %v", c.LastTransitionTime, began)
		}
	}
}

// MNT-465: a pod that ends does not wait until its status is written, and a deletion that fails is repeated at the next tick.
func TestEndWithoutStatus(t *testing.T) {
	for _, tt := range []struct {
		name, verb    string
		times         int
		phase, later  corev1.PodPhase
		before, after time.Duration // since the deletion
	}{
		{"MNT-465: no status is written", "patch-status", 3, corev1.PodRunning, "gone", 17 * time.Second, 20 * time.Second},
		{"MNT-387: the pod cannot be read", "get", 3, corev1.PodRunning, "gone", 17 * time.Second, 20 * time.Second},
		{"MNT-387: the pod cannot be deleted", "delete", 2, corev1.PodSucceeded, "gone", 17 * time.Second, 20 * time.Second},
	} {
		w := newFixture(t)
		w.run("p1")
		w.toTick()
		w.Faults.Fail(fake.Match{Actor: "kubelet/n1", Verb: tt.verb, Kind: "Pod"}, errors.New("no")).Times(tt.times)
		w.deletePod("p1")
		w.Advance(2 * time.Second)
		want(t, tt.name+": calls", w.calls(), []string{"Unpublish h1", "Unstage h1"})
		w.Advance(tt.before - 2*time.Second)
		want(t, tt.name, w.phase("p1"), tt.phase)
		w.Advance(tt.after - tt.before)
		want(t, tt.name+": later", w.phase("p1"), tt.later)
	}
}

// MNT-465: the next tick repairs a status that another writer has changed.
func TestStatusIsRepaired(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	w.toTick()
	w.Advance(time.Second)
	_, err := w.Store().Pods.PatchWith("default/p1", func(pod *corev1.Pod) error { pod.Status.Phase = corev1.PodUnknown; return nil }, api.Status)
	w.OK(err)
	w.Advance(8900 * time.Millisecond)
	want(t, "MNT-465: phase", w.phase("p1"), corev1.PodUnknown)
	w.Advance(200 * time.Millisecond)
	want(t, "MNT-465: phase", w.phase("p1"), corev1.PodRunning)
}

// Settle does not wait for a tick if every status is written (MNT-465).
func TestSettleWithoutTick(t *testing.T) {
	w := newFixture(t)
	w.Create(fake.Pod("p1", fake.OnNode("n1")))
	w.OK(w.Settle(time.Hour))
	began := w.Now()
	w.deletePod("p1")
	w.OK(w.Settle(time.Hour))
	want(t, "MNT-465: pod", w.phase("p1"), "gone")
	if passed := w.Now().Sub(began); passed > 5*time.Second {
		t.Errorf("MNT-465: Settle took %v", passed)
	}
}

// A status that is tried again does not take back the end of the pod.
func TestStatusIsTriedAgainTooLate(t *testing.T) {
	w := newFixture(t)
	w.pod("p1")
	w.Advance(11 * time.Second)
	w.Faults.Fail(fake.Match{Verb: "patch-status", Kind: "Pod"}, errors.New("no")).Times(1)
	w.attach(handle)
	w.Advance(time.Second)
	w.OK(w.node.Exit("default/p1", corev1.PodFailed))
	w.Advance(time.Minute)
	want(t, "phase", w.phase("p1"), corev1.PodFailed)
}

// MNT-388: a finished pod releases its volumes and stays in the API.
func TestPodExits(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	if err := w.node.Exit("default/p1", corev1.PodRunning); err == nil {
		t.Errorf("Exit with phase Running is accepted")
	}
	if err := w.node.Exit("default/other", corev1.PodFailed); err == nil {
		t.Errorf("Exit of a pod that does not run is accepted")
	}
	w.OK(w.node.Exit("default/p1", corev1.PodFailed))
	w.Advance(time.Second)
	want(t, "MNT-388: calls", w.calls(), []string{"Unpublish h1", "Unstage h1"})
	want(t, "MNT-388: phase", w.phase("p1"), corev1.PodFailed)
	w.deletePod("p1")
	want(t, "MNT-388: deleted", w.phase("p1"), "gone")
	want(t, "workers", len(w.node.kubelet.workers), 0)
}

// MNT-011: directories on the disk keep a terminated pod.
func TestLeftovers(t *testing.T) {
	w := newFixture(t)
	pod := w.run("p1")
	path := w.node.kubelet.layout.PodVolumes(pod.UID) + "/kubernetes.io~csi/other/mount"
	w.OK(w.node.disk.Mount(disk.Mount{Path: path, Volume: "h9"}))
	w.deletePod("p1")
	w.Advance(time.Minute)
	want(t, "MNT-011, MNT-387: pod", w.phase("p1"), corev1.PodSucceeded)
	w.OK(w.node.disk.Unmount(path))
	w.node.kubelet.podVolumesChanged(pod.UID)
	w.Advance(time.Second)
	want(t, "MNT-387: pod", w.phase("p1"), "gone")
}

// MNT-009: a pod that failed comes again after 10 s, one that runs after 60 s.
func TestSyncPeriods(t *testing.T) {
	w := newFixture(t)
	w.pod("p1", fake.Claims("missing"))
	w.Advance(65 * time.Second)
	want(t, "MNT-009: failed syncs", len(w.events()), 7)
}

// Settle waits for the consequences of a claim's change; it does not wait for a pod that can only wait.
func TestSettle(t *testing.T) {
	w := newFixture(t)
	w.setClaim("c1", func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimPending })
	w.pod("p1")
	w.OK(w.Settle(time.Hour))
	if passed := w.Now().Sub(w.Begin); passed > time.Minute {
		t.Errorf("Settle took %v", passed)
	}
	want(t, "phase", w.phase("p1"), corev1.PodPending)
	w.setClaim("c1", func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimBound })
	w.OK(w.Settle(time.Hour))
	want(t, "desired", len(w.node.kubelet.desired.PodVolumes()), 1)
}

// A node with a running pod costs nothing while nothing happens.
func TestIdle(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	w.Advance(10 * time.Minute)
	steps := 0
	w.AfterEvent(func() { steps++ })
	w.Advance(365 * 24 * time.Hour)
	if steps > 100 {
		t.Errorf("MNT-001, MNT-002: an idle year took %d events, want next to none", steps)
	}
	w.Mark()
	w.deletePod("p1")
	w.Advance(time.Second)
	want(t, "MNT-139: calls", w.calls(), []string{"Unpublish h1", "Unstage h1"})
}

func TestConfig(t *testing.T) {
	e, _ := engine.New(engine.Config{})
	for _, tc := range []struct {
		field, want string
		cfg         Config
	}{
		{"StatusPeriod", "mount: StatusPeriod is -1s: give zero for the default of 10s, or more", Config{StatusPeriod: -time.Second}},
		{"WaitLimit", "mount: WaitLimit is -1s: give zero for the default of 2m3s, or more", Config{WaitLimit: -time.Second}},
	} {
		_, err := New(e, nil, tc.cfg, options.Kubelet{})
		if err == nil || err.Error() != tc.want {
			t.Errorf("New with %s: %v, want %q", tc.field, err, tc.want)
		}
	}
	ns, err := New(e, nil, Config{}, options.Kubelet{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "MNT-003: limit", ns.cfg.WaitLimit, 123*time.Second)
	want(t, "MNT-008: periods", []time.Duration{ns.cfg.StatusPeriod, kubeletdefs.ReportPeriod},
		[]time.Duration{10 * time.Second, 5 * time.Minute})
	want(t, "MNT-009: periods", []time.Duration{kubeletdefs.RetryPeriod, kubeletdefs.SyncPeriod},
		[]time.Duration{10 * time.Second, 60 * time.Second})
	want(t, "MNT-010: period", kubeletdefs.Housekeeping, 2*time.Second)
	if _, err := ns.Add(""); err == nil {
		t.Errorf("a node without a name is accepted")
	}
	if _, err := ns.Add("a"); err != nil {
		t.Errorf("Add(a) = %v", err)
	}
	if _, err := ns.Add("a"); err == nil {
		t.Errorf("a second node of the name is accepted")
	}
}
