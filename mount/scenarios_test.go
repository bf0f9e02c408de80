package mount

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/storage"
)

// The scenarios of the rules by number. Those about expansion, 20 and 21, have a file of their own.

// Scenario 1: MNT-139, MNT-170, MNT-173, MNT-174, MNT-175, MNT-178, MNT-195, MNT-196, MNT-197, MNT-199, MNT-200, MNT-380.
func TestScenario01FirstMount(t *testing.T) {
	w := newFixture(t)
	pod := w.pod("p1")
	w.Advance(100 * time.Millisecond)
	want(t, "MNT-065: desired", w.node.kubelet.desired.HasPodVolume(volumeName, pod.UID), true)
	want(t, "MNT-170: in use", w.inUse(), nil)
	w.Advance(10 * time.Second)
	want(t, "MNT-170: in use", w.inUse(), []corev1.UniqueVolumeName{volumeName})
	want(t, "MNT-174: operations", w.node.kubelet.operations.pending.Len(), 0)
	want(t, "MNT-380: phase", w.phase("p1"), corev1.PodPending)
	// The next pass verifies, and the one after it mounts.
	w.attach(handle)
	want(t, "MNT-178: verified", w.state(pod.UID), "VolumeNotMounted DeviceNotMounted")
	w.Advance(100 * time.Millisecond)
	want(t, "MNT-199: state", w.state(pod.UID), "VolumeMounted DeviceGloballyMounted")
	want(t, "MNT-203: calls", w.calls(), []string{"Stage h1", "Publish h1"})
	w.Advance(300 * time.Millisecond)
	want(t, "MNT-003, MNT-380: phase", w.phase("p1"), corev1.PodRunning)
	want(t, "MNT-200: events", w.events(), nil)
}

// Scenario 2: MNT-021, MNT-201, MNT-135, MNT-287, MNT-932.
func TestScenario02SharedDevice(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	w.pod("p2")
	w.Advance(time.Second)
	want(t, "MNT-201: calls", w.calls(), []string{"Publish h1"})
	v, _ := w.node.kubelet.actual.Volume(volumeName)
	want(t, "MNT-021: pods of the record", v.Pods.Len(), 2)
	w.Mark()
	w.deletePod("p1")
	w.Advance(20 * time.Second)
	want(t, "MNT-135: calls", w.calls(), []string{"Unpublish h1"})
	want(t, "MNT-170: in use", w.inUse(), []corev1.UniqueVolumeName{volumeName})
	w.Mark()
	w.deletePod("p2")
	w.Advance(500 * time.Millisecond)
	want(t, "MNT-284: calls", w.calls(), []string{"Unpublish h1", "Unstage h1"})
	want(t, "MNT-135: records", len(w.node.kubelet.actual.Volumes()), 0)
	want(t, "MNT-932: still in use", w.inUse(), []corev1.UniqueVolumeName{volumeName})
	w.Advance(10 * time.Second)
	want(t, "MNT-287: in use", len(w.inUse()), 0)
}

// Scenario 3: MNT-081, MNT-083, MNT-132, MNT-138, MNT-139, MNT-263, MNT-387.
func TestScenario03Deletion(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.cfg.StopTime = 2 * time.Second })
	w.run("p1")
	w.deletePod("p1")
	w.Advance(1900 * time.Millisecond)
	want(t, "MNT-081: calls", w.calls(), nil)
	want(t, "MNT-387: containers", len(internals.Node(w.node).Containers()), 1)
	w.Advance(time.Second)
	want(t, "MNT-139: calls", w.calls(), []string{"Unpublish h1", "Unstage h1"})
	want(t, "MNT-387: pod", w.phase("p1"), "gone")
}

// Scenario 4: MNT-174, MNT-352, MNT-382, MNT-900, MNT-909.
func TestScenario04NeverAttached(t *testing.T) {
	w := newFixture(t)
	w.pod("p1")
	w.Advance(120 * time.Second)
	want(t, "MNT-909: operations", w.node.kubelet.operations.pending.Len(), 0)
	worker := w.node.kubelet.workers[w.stored("p1").UID]
	want(t, "MNT-003: waiting", worker.state == podRetrying, false)
	w.Advance(3 * time.Second)
	want(t, "MNT-003: paused", worker.state == podRetrying, true)
	want(t, "MNT-900: events", w.events(), nil)
	want(t, "MNT-352: text", worker.lastError.Error(),
		"unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]: context deadline exceeded")
	w.attach(handle)
	w.Advance(11 * time.Second)
	want(t, "MNT-009: phase", w.phase("p1"), corev1.PodRunning)
}

// Scenario 5: MNT-068, MNT-069, MNT-072c, MNT-350, MNT-358, MNT-381, MNT-903.
func TestScenario05UnboundClaim(t *testing.T) {
	w := newFixture(t)
	w.setClaim("c1", func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimPending })
	w.pod("p1")
	const text = "FailedMount default/p1: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: error processing PVC default/c1: PVC is not bound"
	w.Advance(300 * time.Millisecond)
	want(t, "MNT-903: events", w.events(), []string{text})
	w.setClaim("c1", func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimBound })
	w.Advance(9 * time.Second)
	want(t, "MNT-068: desired", len(w.node.kubelet.desired.PodVolumes()), 0)
	w.Mark()
	w.Advance(1200 * time.Millisecond)
	// The first poll of the next sync comes before the populator, and finds no error left over: the last one was taken.
	want(t, "MNT-358: events", w.events(), nil)
	want(t, "MNT-069: desired", len(w.node.kubelet.desired.PodVolumes()), 1)
}

// Scenario 5, second half: the next sync finds the error that a failed sync leaves (MNT-358).
func TestScenario05StoredError(t *testing.T) {
	w := newFixture(t)
	w.setClaim("c1", func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimPending })
	pod := w.pod("p1")
	w.Advance(300 * time.Millisecond)
	k := w.node.kubelet
	k.desired.AddPodError(pod.UID, "error processing PVC default/c1: PVC is not bound")
	w.setClaim("c1", func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimBound })
	w.Mark()
	w.Advance(10200 * time.Millisecond)
	want(t, "MNT-358: events", len(w.events()), 1)
	want(t, "MNT-358: desired in the background", len(k.desired.PodVolumes()), 1)
	w.Advance(10 * time.Second)
	w.attach(handle)
	w.Mark()
	w.Advance(12 * time.Second)
	want(t, "MNT-358: phase", w.phase("p1"), corev1.PodRunning)
	want(t, "MNT-358: no more events", w.events(), nil)
}

// Scenario 6: MNT-072e, MNT-072g, MNT-072h, MNT-072k.
func TestScenario06WrongVolume(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		change     func(w *fixture)
		pod        []fake.Option
		want       string
	}{
		{"MNT-072h", "the volume points at another claim", func(w *fixture) {
			w.setVolume("pv1", func(pv *corev1.PersistentVolume) { pv.Spec.ClaimRef.UID = "other" })
		}, nil, "found PV object pv1 but its pv.Spec.ClaimRef.UID other does not point to claim.UID uid-c1"},
		{"MNT-072g", "the volume points at no claim", func(w *fixture) {
			w.setVolume("pv1", func(pv *corev1.PersistentVolume) { pv.Spec.ClaimRef = nil })
		}, nil, "found PV object pv1 but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"},
		{"MNT-072k", "a block volume is mounted", func(w *fixture) {
			w.setVolume("pv1", func(pv *corev1.PersistentVolume) { block := corev1.PersistentVolumeBlock; pv.Spec.VolumeMode = &block })
		}, nil, "volume data has volumeMode Block, but is specified in volumeMounts"},
		{"MNT-072e", "the claim of the ephemeral volume is another's", func(w *fixture) { w.bound("pv2", "h2", "p1-scratch") },
			[]fake.Option{fake.Ephemeral("scratch", "1Gi", "")}, "PVC default/p1-scratch was not created for pod default/p1 (pod is not owner)"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			w := newFixture(t)
			tc.change(w)
			w.pod("p1", tc.pod...)
			w.Advance(400 * time.Millisecond)
			events := w.events()
			if len(events) != 1 || !strings.HasSuffix(events[0], ": "+tc.want) &&
				!strings.HasSuffix(events[0], "error processing PVC default/c1: "+tc.want) {
				t.Errorf("events = %q, want one that ends in %q", events, tc.want)
			}
			want(t, "calls", w.calls(), nil)
		})
	}
}

// Scenario 7: MNT-072b, MNT-905.
func TestScenario07ClaimBeingDeleted(t *testing.T) {
	now := metav1.Now()
	for _, tc := range []struct {
		rule       string
		finalizers []string
		desired    int
	}{
		{"MNT-905", []string{objects.ClaimProtectionFinalizer}, 1},
		{"MNT-072b", []string{"example.com/other"}, 0},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			w := newFixture(t)
			w.setClaim("c1", func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp, c.Finalizers = &now, tc.finalizers })
			w.pod("p1")
			w.Advance(400 * time.Millisecond)
			want(t, tc.rule+": desired", len(w.node.kubelet.desired.PodVolumes()), tc.desired)
			if tc.desired == 0 && !strings.HasSuffix(w.events()[0], "error processing PVC default/c1: PVC is being deleted") {
				t.Errorf("%s: events = %q", tc.rule, w.events())
			}
		})
	}
}

// Scenario 8: MNT-005, MNT-082, MNT-243, MNT-282, MNT-390, MNT-901, MNT-911, MNT-933.
func TestScenario08StageTimesOut(t *testing.T) {
	w := newFixture(t)
	w.failing(storage.Stage, storage.DeadlineExceeded)
	pod := w.pod("p1")
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Mark()
	w.Advance(10 * time.Second)
	const failed = " Stage h1 = DeadlineExceeded"
	want(t, "MNT-933: retries", w.timed(), []string{"100ms" + failed, "700ms" + failed, "1.8s" + failed, "3.9s" + failed, "8s" + failed})
	want(t, "MNT-390: events", len(w.events()), 5)
	want(t, "MNT-243: state", w.state(pod.UID), "VolumeNotMounted DeviceMountUncertain")
	w.hold("p1") // the object stays when its kubelet deletes it
	w.deletePod("p1")
	w.Mark()
	w.Advance(10 * time.Second)
	want(t, "MNT-901: retries go on", w.calls(), []string{"Stage h1 = DeadlineExceeded"})
	w.Mark()
	w.letGo("p1")
	w.Advance(30 * time.Second)
	want(t, "MNT-911: calls", w.calls(), []string{"Unstage h1"})
	want(t, "MNT-135: state", w.state(pod.UID), "-")
}

// Scenario 9: MNT-244, MNT-911.
func TestScenario09StageTimesOutThenFails(t *testing.T) {
	w := newFixture(t)
	w.failing(storage.Stage, storage.DeadlineExceeded).Once()
	w.failing(storage.Stage, storage.InvalidArgument)
	pod := w.pod("p1")
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(200 * time.Millisecond)
	want(t, "MNT-243: state", w.state(pod.UID), "VolumeNotMounted DeviceMountUncertain")
	w.Advance(time.Second)
	want(t, "MNT-244: state", w.state(pod.UID), "VolumeNotMounted DeviceNotMounted")
	w.deletePod("p1")
	w.Mark()
	w.Advance(20 * time.Second)
	want(t, "MNT-911: calls", w.calls(), nil)
	want(t, "MNT-135: state", w.state(pod.UID), "-")
}

// Scenario 10: MNT-197, MNT-246, MNT-302, MNT-912.
func TestScenario10PublishFails(t *testing.T) {
	w := newFixture(t)
	w.failing(storage.Publish, storage.Internal)
	pod := w.pod("p1")
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(time.Second)
	want(t, "MNT-246: state", w.state(pod.UID), "VolumeNotMounted DeviceGloballyMounted")
	want(t, "MNT-302: directory", w.node.disk.Exists(w.node.kubelet.layout.PodVolume(pod.UID, objects.CSIPluginName, "pv1")), false)
	w.hold("p1")
	w.deletePod("p1")
	w.Advance(2 * time.Second)
	w.Mark()
	w.letGo("p1")
	w.Advance(20 * time.Second)
	want(t, "MNT-912: calls", w.calls(), []string{"Unstage h1"})
}

// Scenario 11: MNT-246, MNT-249.
func TestScenario11PublishTimesOutOnce(t *testing.T) {
	w := newFixture(t)
	w.failing(storage.Publish, storage.DeadlineExceeded).Once()
	pod := w.pod("p1")
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Mark()
	w.Advance(200 * time.Millisecond)
	want(t, "MNT-246: state", w.state(pod.UID), "VolumeMountUncertain DeviceGloballyMounted")
	w.Advance(2 * time.Second)
	want(t, "MNT-249: calls", w.calls(), []string{"Stage h1", "Publish h1 = DeadlineExceeded", "Publish h1"})
	want(t, "MNT-350: phase", w.phase("p1"), corev1.PodRunning)
}

// Scenario 12: MNT-262, MNT-264, MNT-354, MNT-902, MNT-915.
func TestScenario12UnpublishFails(t *testing.T) {
	w := newFixture(t)
	pod := w.run("p1")
	w.failing(storage.Unpublish, storage.Internal).Times(3)
	w.deletePod("p1")
	w.Advance(2 * time.Second)
	want(t, "MNT-262: state", w.state(pod.UID), "VolumeMountUncertain DeviceGloballyMounted")
	want(t, "MNT-902: pod", w.phase("p1"), corev1.PodSucceeded)
	w.Advance(4 * time.Second)
	const failed = "Unpublish h1 = Internal"
	want(t, "MNT-264: calls", w.timed(), []string{"100ms " + failed, "700ms " + failed, "1.8s " + failed, "3.9s Unpublish h1", "4s Unstage h1"})
	want(t, "MNT-264: events", w.events(), nil)
	want(t, "MNT-387: pod", w.phase("p1"), "gone")
}

// Scenario 13: MNT-241, MNT-247, MNT-913.
func TestScenario13DriverGone(t *testing.T) {
	w := newFixture(t)
	w.failing(storage.Publish, storage.DeadlineExceeded).Once()
	pod := w.pod("p1")
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(200 * time.Millisecond)
	w.node.Unregister(driverName)
	w.Advance(2 * time.Second)
	want(t, "MNT-247: state", w.state(pod.UID), "VolumeMountUncertain DeviceGloballyMounted")
	w.deletePod("p1")
	w.Mark()
	w.Advance(2 * time.Second)
	want(t, "MNT-913: calls", w.calls(), nil)
	want(t, "MNT-913: state", w.state(pod.UID), "VolumeMountUncertain DeviceGloballyMounted")
	w.node.Register(driverName)
	w.Advance(10 * time.Second)
	want(t, "MNT-913: calls", w.calls(), []string{"Unpublish h1", "Unstage h1"})
}

// Scenario 14: MNT-151, MNT-156, MNT-157, MNT-907.
func TestScenario14SharedBackoff(t *testing.T) {
	w := newFixture(t)
	w.run("p0")
	w.failing(storage.Publish, storage.Internal).Times(4)
	w.pod("p1")
	w.Advance(4 * time.Second)
	w.pod("p2")
	w.Mark()
	// Both pods wait for the backoff of the volume; the first by uid is tried, and its success lets the other try immediately.
	w.Advance(5 * time.Second)
	want(t, "MNT-907: calls", w.timed(), []string{"4s Publish h1", "4.1s Publish h1"})
}

// Scenario 15: MNT-194, MNT-221, MNT-922.
func TestScenario15OnePod(t *testing.T) {
	w := newFixture(t, func(s *setup) {
		s.volume = []fake.Option{fake.Modes("RWOP")}
		s.driver = []fake.MemoryOption{fake.Lenient()}
	})
	w.run("p1")
	w.pod("p2")
	w.Advance(400 * time.Millisecond)
	want(t, "MNT-194: events", w.events()[:1], []string{
		`FailedMount default/p2: MountVolume.SetUp failed for volume "pv1" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`})
	want(t, "MNT-922: calls", w.calls(), nil)
	w.deletePod("p1")
	w.Advance(5 * time.Second)
	want(t, "MNT-138: calls", w.calls(), []string{"Unpublish h1", "Publish h1"})
	want(t, "phase", w.phase("p2"), corev1.PodRunning)
}

// Scenario 16: MNT-042, MNT-906.
func TestScenario16SameClaimTwice(t *testing.T) {
	w := newFixture(t)
	pod := fake.Pod("p1", fake.OnNode(nodeName))
	addClaim(pod, "a", "c1")
	addClaim(pod, "b", "c1")
	w.Create(pod)
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(time.Second)
	want(t, "MNT-042: calls", w.calls(), []string{"Stage h1", "Publish h1"})
	want(t, "MNT-906: mounted", internals.Node(w.node).MountedVolumes(w.stored("p1").UID), []string{"a", "b"})
	want(t, "MNT-906: phase", w.phase("p1"), corev1.PodRunning)
}

// Scenario 17: MNT-222, MNT-223, MNT-224, MNT-225, MNT-226, MNT-227, MNT-228, MNT-230, MNT-231, MNT-270, MNT-286, MNT-307, MNT-308,
// MNT-392.
func TestScenario17Block(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.volume = []fake.Option{fake.Block()} })
	w.pod("p1", fake.BlockClaims("c1"))
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(time.Second)
	pod, k := w.stored("p1"), w.node.kubelet
	bind, link := k.layout.CSIMap("pv1")+"/"+string(pod.UID), k.layout.PodDevice(pod.UID, objects.CSIPluginName, "pv1")
	want(t, "MNT-307: calls", w.calls(), []string{"Stage h1", "Publish h1"})
	want(t, "MNT-227: bind, link, lock", []bool{w.node.disk.Mounted(bind), w.node.disk.Exists(link), w.node.disk.Locked(bind)},
		[]bool{true, true, true})
	want(t, "MNT-228: events", w.events(), []string{
		fmt.Sprintf(`SuccessfulMountVolume default/p1: MapVolume.MapPodDevice succeeded for volume "pv1" globalMapPath %q`,
			k.layout.CSIMap("pv1")),
		fmt.Sprintf(`SuccessfulMountVolume default/p1: MapVolume.MapPodDevice succeeded for volume "pv1" volumeMapPath %q`,
			k.layout.PodDevices(pod.UID)+"/kubernetes.io~csi"),
	})
	want(t, "MNT-380: phase", w.phase("p1"), corev1.PodRunning)
	w.Mark()
	w.deletePod("p1")
	w.Advance(time.Second)
	want(t, "MNT-270, MNT-286: calls", w.calls(), []string{"Unpublish h1", "Unstage h1"})
	want(t, "MNT-270: bind, link", []bool{w.node.disk.Exists(bind), w.node.disk.Exists(link)}, []bool{false, false})
	want(t, "MNT-307: directories", w.node.disk.Exists(k.layout.CSIDevices()+"/pv1"), false)
	want(t, "MNT-387: pod", w.phase("p1"), "gone")
}

// Scenario 18: MNT-104, MNT-154, MNT-289, MNT-917.
func TestScenario18ComesBackDuringUnstage(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.driver = []fake.MemoryOption{fake.Latency(storage.Unstage, 5*time.Second)} })
	w.run("p1")
	w.deletePod("p1")
	w.Advance(2 * time.Second)
	pod := w.pod("p2")
	w.Advance(2 * time.Second)
	want(t, "MNT-154: calls", w.calls(), []string{"Unpublish h1"})
	v, _ := w.node.kubelet.actual.Volume(volumeName)
	path := v.DevicePath
	w.Advance(3 * time.Second)
	want(t, "MNT-289: calls", w.calls(), []string{"Unpublish h1", "Unstage h1", "Stage h1", "Publish h1"})
	want(t, "MNT-917: state", w.state(pod.UID), "VolumeMounted DeviceGloballyMounted")
	want(t, "MNT-917: device path", v.DevicePath, path)
}

// Scenario 19: MNT-067, MNT-070, MNT-248, MNT-302, MNT-914.
func TestScenario19Republish(t *testing.T) {
	yes := true
	w := newFixture(t, func(s *setup) { s.object = func(d *storagev1.CSIDriver) { d.Spec.RequiresRepublish = &yes } })
	pod := w.run("p1")
	w.Advance(61 * time.Second)
	want(t, "MNT-070: calls", w.calls(), []string{"Publish h1"})
	w.failing(storage.Publish, storage.Internal)
	w.Mark()
	w.Advance(60 * time.Second)
	want(t, "MNT-248: failed", w.calls()[0], "Publish h1 = Internal")
	want(t, "MNT-248: state", w.state(pod.UID), "VolumeMounted DeviceGloballyMounted")
	want(t, "MNT-914: directory", w.node.disk.Mounted(w.node.kubelet.layout.CSIMount(pod.UID, "pv1")), true)
	want(t, "MNT-248: phase", w.phase("p1"), corev1.PodRunning)
	if !strings.HasPrefix(w.events()[0], "FailedMount default/p1: MountVolume.SetUp failed") {
		t.Errorf("MNT-248: events = %q", w.events())
	}
}

// Scenario 22: MNT-450, MNT-451, MNT-452, MNT-455, MNT-462, MNT-171.
func TestScenario22Restart(t *testing.T) {
	w := newFixture(t)
	pod := w.run("p1")
	w.node.Stop()
	w.Advance(time.Second)
	want(t, "MNT-450: containers outlive the kubelet", internals.Node(w.node).Containers(), []types.UID{pod.UID})
	w.node.Start()
	w.Advance(0)
	want(t, "MNT-452: state", w.state(pod.UID), "VolumeMountUncertain DeviceMountUncertain")
	w.Advance(5 * time.Second)
	want(t, "MNT-455: calls", w.calls(), []string{"Stage h1", "Publish h1"})
	want(t, "MNT-456: state", w.state(pod.UID), "VolumeMounted DeviceGloballyMounted")
	w.Advance(20 * time.Second)
	for e := range w.Since() {
		if node, ok := e.New.(*corev1.Node); ok && len(node.Status.VolumesInUse) == 0 {
			t.Errorf("MNT-462: the volume left the list at %v", e.Time)
		}
	}
}

// Scenario 23: MNT-131, MNT-454, MNT-457, MNT-459, MNT-460, MNT-480, MNT-927.
func TestScenario23RestartAfterDeletion(t *testing.T) {
	w := newFixture(t)
	pod := w.run("p1")
	w.node.Stop()
	w.forceDelete("p1")
	w.Faults.Fail(fake.Match{Actor: actors.Kubelet(nodeName), Verb: "get", Kind: string(api.Node)},
		storage.Errorf(storage.Unavailable, "no")).Times(7)
	w.node.Start()
	// The first reports use five of the failures, the correction two.
	w.Advance(90 * time.Millisecond)
	want(t, "MNT-454: calls", w.calls(), nil)
	w.Advance(2 * time.Second)
	want(t, "MNT-459: calls", w.calls(), []string{"Unpublish h1", "Unstage h1"})
	want(t, "MNT-459: records", w.state(pod.UID), "-")
	w.Advance(12 * time.Second)
	want(t, "MNT-457: in use", len(w.inUse()), 0)
	want(t, "MNT-480: directory", w.node.disk.Exists(w.node.kubelet.layout.Pod(pod.UID)), false)
}

// Scenario 24: MNT-260, MNT-453, MNT-461, MNT-462, MNT-481.
func TestScenario24LostMetadata(t *testing.T) {
	w := newFixture(t)
	pod := w.run("p1")
	w.node.Stop()
	w.forceDelete("p1")
	mount := kubeletdefs.Root + "/pods/" + string(pod.UID) + "/volumes/kubernetes.io~csi/pv1"
	w.OK(w.node.disk.Remove(mount + "/" + disk.MetadataFile))
	w.node.Start()
	w.Advance(30 * time.Second)
	want(t, "MNT-461: calls", w.calls(), nil)
	want(t, "MNT-461: list", len(w.node.kubelet.reconciler.unreconstructed), 0)
	want(t, "MNT-462: in use", len(w.inUse()), 0)
	want(t, "MNT-480: directory", w.node.disk.Mounted(mount+"/mount"), true)
}

// Scenario 25: MNT-353, MNT-383.
func TestScenario25AttachLimit(t *testing.T) {
	const limit = "Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]: context deadline exceeded"
	for _, tc := range []struct {
		rule    string
		period  int64
		phase   corev1.PodPhase
		message string
		events  []string
	}{
		{"MNT-353", 60, corev1.PodFailed, "Pod was rejected: " + limit, []string{"VolumeAttachmentLimitExceeded default/p1: " + limit}},
		{"MNT-382", 0, corev1.PodPending, "", nil},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			w := newFixture(t, func(s *setup) {
				s.object = func(d *storagev1.CSIDriver) {
					if tc.period > 0 {
						d.Spec.NodeAllocatableUpdatePeriodSeconds = &tc.period
					}
				}
			})
			full := int32(8)
			w.attachment(handle, func(va *storagev1.VolumeAttachment) {
				va.Status.AttachError = &storagev1.VolumeError{Message: "full", ErrorCode: &full}
			})
			w.pod("p1")
			w.Advance(125 * time.Second)
			want(t, "MNT-383: phase", w.phase("p1"), tc.phase)
			want(t, "MNT-383: message", w.stored("p1").Status.Message, tc.message)
			want(t, "MNT-383: events", w.events(), tc.events)
		})
	}
}

// Scenario 25, the node's limit: the CSINode says what the driver says, if it can be written within four tries (MNT-353).
func TestScenario25Refresh(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		options    []fake.MemoryOption
		fails      int // updates of the CSINode
		want       string
	}{
		{"MNT-353", "another limit", []fake.MemoryOption{fake.AttachLimit(3)}, 0, "3"},
		{"MNT-353", "no limit any more", nil, 0, "none"},
		{"MNT-353", "the fourth try", []fake.MemoryOption{fake.AttachLimit(3)}, 3, "3"},
		{"MNT-353", "no fifth try", []fake.MemoryOption{fake.AttachLimit(3)}, 4, "5"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			period := int64(3600) // too long to matter
			w := newFixture(t, func(s *setup) {
				s.driver = tc.options
				s.object = func(d *storagev1.CSIDriver) { d.Spec.NodeAllocatableUpdatePeriodSeconds = &period }
			})
			limit := func() string {
				node, err := w.Store().CSINodes.Get(nodeName)
				w.OK(err)
				if node.Spec.Drivers[0].Allocatable == nil {
					return "none"
				}
				return fmt.Sprint(*node.Spec.Drivers[0].Allocatable.Count)
			}
			node, err := w.Store().CSINodes.Get(nodeName)
			w.OK(err)
			stale, old := node.DeepCopy(), int32(5)
			stale.Spec.Drivers[0].Allocatable = &storagev1.VolumeNodeResources{Count: &old}
			w.Load(stale)
			full := int32(8)
			w.attachment(handle, func(va *storagev1.VolumeAttachment) {
				va.Status.AttachError = &storagev1.VolumeError{Message: "full", ErrorCode: &full}
			})
			if tc.fails > 0 {
				w.Faults.Fail(fake.Match{Verb: "update", Kind: string(api.CSINode)}, errors.New("broken")).Times(tc.fails)
			}
			w.pod("p1")
			want(t, "before", limit(), "5")
			w.Advance(125 * time.Second)
			want(t, tc.rule+": after", limit(), tc.want)
			want(t, "MNT-383: phase", w.phase("p1"), corev1.PodFailed)
		})
	}
}
