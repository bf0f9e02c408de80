package mount

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// During a mount (MNT-198, MNT-229, MNT-410, MNT-419, MNT-426).
func TestExpansionAtMount(t *testing.T) {
	block := func(s *setup) { s.volume = []fake.Option{fake.Block()} }
	const note, note0 = "patch-status 1Gi NodeResizeInProgress", "patch-status 0 NodeResizeInProgress"
	success := []string{"FileSystemResizeSuccessful default/p1: " + succeeded, "FileSystemResizeSuccessful default/c1: " + succeeded}
	loseCapacity := func(w *fixture) {
		w.setClaim("c1", func(c *corev1.PersistentVolumeClaim) { c.Status.Capacity = nil })
	}
	for _, tc := range []struct {
		rule, name string
		options    []func(*setup)
		prepare    func(w *fixture)
		pod        fake.Option
		steps      []string
		events     []string
		phase      corev1.PodPhase
	}{
		{rule: "MNT-410", name: "after SetUp",
			steps: []string{"Stage h1", "Publish h1", note, "NodeExpand h1", "patch-status 2Gi "},
			events: []string{"FileSystemResizeSuccessful default/p1: " + succeeded,
				"FileSystemResizeSuccessful default/c1: " + succeeded}, phase: corev1.PodRunning},
		{rule: "MNT-419", name: "in use does not keep the pod waiting",
			prepare: func(w *fixture) { w.failing(storage.NodeExpand, storage.FailedPrecondition) },
			steps:   []string{"Stage h1", "Publish h1", note, "NodeExpand h1 = FailedPrecondition", note}, phase: corev1.PodRunning},
		{rule: "MNT-198", name: "a final error keeps it", prepare: func(w *fixture) { w.failing(storage.NodeExpand, storage.Internal).Times(1) },
			steps: []string{"Stage h1", "Publish h1", note, "NodeExpand h1 = Internal", note, "Publish h1", note, "NodeExpand h1",
				"patch-status 2Gi "},
			events: []string{`FailedMount default/p1: MountVolume.Setup failed while expanding volume for volume "pv1" : Expander.NodeExpand failed to expand the volume : rpc error: code = Internal desc = no`,
				"FileSystemResizeSuccessful default/p1: " + succeeded, "FileSystemResizeSuccessful default/c1: " + succeeded},
			phase: corev1.PodRunning},
		{rule: "MNT-410", name: "the controller is not so far", prepare: func(w *fixture) {
			w.setClaim("c1", func(c *corev1.PersistentVolumeClaim) {
				objects.SetResizeStatus(c, corev1.PersistentVolumeClaimControllerResizeInProgress)
			})
		}, steps: []string{"Stage h1", "Publish h1"}, phase: corev1.PodRunning},
		{rule: "MNT-229", name: "a device that cannot", options: []func(*setup){block},
			prepare: func(w *fixture) { w.failing(storage.NodeExpand, storage.Internal) },
			pod:     fake.BlockClaims("c1"), steps: []string{"Stage h1", "Publish h1", note, "NodeExpand h1 = Internal", note, "Publish h1", note,
				"NodeExpand h1 = Internal", note},
			phase: corev1.PodPending},
		{rule: "MNT-430", name: "a claim that has lost its capacity", prepare: loseCapacity,
			steps: []string{"Stage h1", "Publish h1", note0, "NodeExpand h1", "Publish h1", note0, "NodeExpand h1"}, events: slices.Concat(success,
				success), phase: corev1.PodPending},
		{rule: "MNT-430", name: "the same of a device", options: []func(*setup){block}, prepare: loseCapacity, pod: fake.BlockClaims("c1"),
			steps: []string{"Stage h1", "Publish h1", note0, "NodeExpand h1", "Publish h1", note0, "NodeExpand h1"}, events: slices.Concat(success,
				success), phase: corev1.PodPending},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			w := newFixture(t, tc.options...)
			w.grow("2Gi")
			if tc.prepare != nil {
				tc.prepare(w)
			}
			var options []fake.Option
			if tc.pod != nil {
				options = append(options, tc.pod)
			}
			w.pod("p1", options...)
			w.Advance(11 * time.Second)
			w.attach(handle)
			w.Advance(1500 * time.Millisecond)
			want(t, "steps", w.steps(), tc.steps)
			if tc.rule == "MNT-229" {
				const failure = `FailedMapVolume default/p1: MapVolume.MarkVolumeAsMounted failed while expanding volume for volume "pv1" : `
				want(t, "MNT-229: events", count(w.events(), failure), 2)
				want(t, "MNT-229: state", w.state(w.stored("p1").UID), "VolumeMountUncertain DeviceGloballyMounted")
			} else {
				mapped := func(line string) bool { return strings.HasPrefix(line, "SuccessfulMountVolume ") }
				want(t, "events", slices.DeleteFunc(w.events(), mapped), tc.events)
			}
			if tc.rule == "MNT-430" {
				want(t, "MNT-430: state", w.state(w.stored("p1").UID), "VolumeNotMounted DeviceGloballyMounted")
			}
			want(t, "phase", w.phase("p1"), tc.phase)
		})
	}
}

// each are the different ones, in the order in which they come first.
func each(lines []string) (different []string) {
	for _, line := range lines {
		if !slices.Contains(different, line) {
			different = append(different, line)
		}
	}
	return different
}

// A failed expansion is tried again after its backoff, also if it ends at the instant of a pass (MNT-014, MNT-406).
func TestExpansionEndsAtPass(t *testing.T) {
	for _, write := range []time.Duration{0, 50 * time.Millisecond, passPeriod} {
		w := newFixture(t)
		w.run("p1")
		w.Faults.Slow(fake.Match{Verb: "patch-status", Kind: "PersistentVolumeClaim"}, write)
		w.Faults.Fail(fake.Match{Target: driverName, Verb: "NodeExpand"}, storage.Errorf(storage.Internal, "no")).Once()
		w.grow("2Gi")
		w.Advance(70 * time.Second)
		want(t, fmt.Sprintf("MNT-406: calls, if a write takes %v", write), w.calls(),
			[]string{"NodeExpand h1 = Internal", "NodeExpand h1"})
	}
}

// A local volume whose PersistentVolume got another capacity by hand counts as expanded, at the mount and in use (MNT-405, MNT-410).
func TestLocalVolumeIsExpanded(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.volume = []fake.Option{fake.LocalSource("/mnt/x", nodeName)} })
	enlarge := func(size string) {
		w.setVolume("pv1", func(pv *corev1.PersistentVolume) {
			pv.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
		})
	}
	size := func() string {
		claim, _ := w.Store().Claims.Get("default/c1")
		return claim.Status.Capacity.Storage().String()
	}
	enlarge("2Gi")
	w.run("p1")
	want(t, "MNT-410: capacity", size(), "2Gi")
	enlarge("3Gi")
	w.Advance(2 * time.Minute)
	want(t, "MNT-405: capacity", size(), "3Gi")
	want(t, "MNT-424: calls", w.calls(), nil)
}

// A volume that pods may only read is not expanded (MNT-395, MNT-406, MNT-410, EXP-042).
func TestReadOnlyIsNotExpanded(t *testing.T) {
	reads := func(pod *corev1.Pod) { pod.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = true }
	deferred := []string{"FileSystemResizeFailed default/p1: " + readOnly, "FileSystemResizeFailed default/c1: " + readOnly}
	t.Run("MNT-410", func(t *testing.T) {
		w := newFixture(t)
		w.grow("2Gi")
		pod := fake.Pod("p1", fake.OnNode(nodeName))
		addClaim(pod, "data", "c1")
		reads(pod)
		w.Create(pod)
		w.Advance(11 * time.Second)
		w.attach(handle)
		w.Advance(5 * time.Minute)
		// TestDeferredAgain counts them.
		want(t, "MNT-395: events", each(w.events()), deferred)
		want(t, "MNT-410: steps", w.steps(), []string{"Stage h1", "Publish h1"})
		want(t, "MNT-410: the pod", w.phase("p1"), corev1.PodRunning)
	})
	t.Run("MNT-406", func(t *testing.T) {
		w := newFixture(t)
		w.run("p1")
		k := w.node.kubelet
		v, _ := k.desired.Volume(volumeName)
		v.Pods.Scan(func(_ types.UID, dp *volumes.DesiredPod) bool { dp.Spec.ReadOnly = true; return true })
		v.Size = 2 << 30 // of the time when a pod could write
		k.reconciler.ticker.Arm()
		w.Advance(time.Minute)
		// TestDeferredAgain counts them.
		want(t, "MNT-395: events", each(w.events()), deferred)
		want(t, "MNT-406: steps", w.steps(), nil)
	})
	t.Run("a writer comes first", func(t *testing.T) {
		w := newFixture(t)
		w.run("p1")
		second := fake.Pod("p2", fake.OnNode(nodeName), fake.UID("zzz"))
		addClaim(second, "data", "c1")
		w.Create(second)
		w.Advance(time.Second)
		first := w.stored("p1").UID
		v, _ := w.node.kubelet.desired.Volume(volumeName)
		dp, _ := v.Pods.Get(first)
		dp.Spec.ReadOnly = true
		k := w.node.kubelet
		want(t, "MNT-429: the pod", k.expansion.writablePair(volumes.DesiredPair{Volume: v, Pod: dp}).Pod.Pod.Name, "p2")
		k.actual.RemovePodVolume(volumeName, w.stored("p2").UID)
		want(t, "MNT-429: the pod, if the writer does not have it",
			k.expansion.writablePair(volumes.DesiredPair{Volume: v, Pod: dp}).Pod.Pod.Name, "p1")
	})
}

// One expansion serves all pods of the node; block volumes grow in the same way, at the place of the device (MNT-424, MNT-429).
func TestExpansionServesAll(t *testing.T) {
	t.Run("MNT-429", func(t *testing.T) {
		w := newFixture(t)
		w.run("p1")
		w.pod("p2")
		w.Advance(time.Second)
		w.Mark()
		w.grow("2Gi")
		w.Advance(3 * time.Minute)
		want(t, "calls", w.calls(), []string{"NodeExpand h1"})
		want(t, "events", len(w.events()), 2)
	})
	t.Run("MNT-429 block", func(t *testing.T) {
		w := newFixture(t, func(s *setup) { s.volume = []fake.Option{fake.Block()} })
		pod := w.run("p1", fake.BlockClaims("c1"))
		w.grow("2Gi")
		w.Advance(61 * time.Second)
		want(t, "calls", w.calls(), []string{"NodeExpand h1"})
		want(t, "claim", w.claim(), "2Gi of 2Gi Other")
		k := w.node.kubelet
		av, _ := k.actual.Volume(volumeName)
		got, err := k.expansion.newExpandRequest(av.Spec, pod, av.DevicePath)
		w.OK(err)
		want(t, "MNT-424: device path", got.VolumePath, k.layout.CSIPublish("pv1", pod.UID))
		want(t, "MNT-424: staging path", got.StagingPath, k.layout.CSIStaging("pv1"))
	})
	t.Run("MNT-424", func(t *testing.T) {
		w := newFixture(t)
		pod := w.run("p1")
		k := w.node.kubelet
		av, _ := k.actual.Volume(volumeName)
		got, err := k.expansion.newExpandRequest(av.Spec, pod, av.DevicePath)
		w.OK(err)
		want(t, "MNT-424: volume path", got.VolumePath, k.layout.CSIMount(pod.UID, "pv1"))
		want(t, "MNT-424: staging path", got.StagingPath, k.layout.CSIGlobalMount(driverName, handle))
	})
}

// expanding notes where the driver is asked to expand a volume on the node. It cannot at one path.
type expanding struct {
	*fake.Memory
	asked  map[string]string // paths to staging paths
	cannot string
}

func (e *expanding) NodeExpand(req storage.NodeRequest) (int64, error) {
	if req.TargetPath == e.cannot {
		return 0, storage.Errorf(storage.Unavailable, "not there")
	}
	e.asked[req.TargetPath] = req.StagingPath
	return e.Memory.NodeExpand(req)
}

// MNT-424: an expansion during a map operation names the staging path only if this operation staged the volume.
func TestStagingPathWhileMapping(t *testing.T) {
	tests := []struct {
		rule   string
		driver []fake.MemoryOption
		before bool // a pod has the volume already
		staged bool
	}{
		{"MNT-424 staged for this pod", nil, false, true},
		{"MNT-424 staged for another pod before", nil, true, false},
		{"MNT-424 the driver does not stage", []fake.MemoryOption{fake.Without(storage.Stage)}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			e := &expanding{asked: map[string]string{}}
			w := newFixture(t, func(s *setup) {
				s.volume, s.driver = []fake.Option{fake.Block()}, tt.driver
				s.wrap = func(driver *fake.Memory) storage.Backend {
					e.Memory = driver
					return e
				}
			})
			at := w.node.kubelet.layout
			if tt.before {
				// The expansion in use fails, so that of the other pod is the one that counts.
				e.cannot = at.CSIPublish("pv1", w.run("p1", fake.BlockClaims("c1")).UID)
			}
			w.grow("2Gi")
			pod := w.run("p2", fake.BlockClaims("c1"))
			staging := ""
			if tt.staged {
				staging = at.CSIStaging("pv1")
			}
			want(t, "asked", e.asked, map[string]string{at.CSIPublish("pv1", pod.UID): staging})
		})
	}
}

// MNT-068, MNT-069: a larger volume that could not be read at one sync is seen at the next.
func TestGrownVolumeIsReadAgain(t *testing.T) {
	t.Run("a failed call", func(t *testing.T) {
		w := newFixture(t)
		w.run("p1")
		w.grow("2Gi")
		w.Faults.Fail(fake.Match{Verb: "get", Kind: "PersistentVolume"}, errors.New("no")).Once()
		w.Advance(61 * time.Second)
		want(t, "MNT-068: not seen", w.calls(), nil)
		w.OK(w.Settle(time.Hour))
		want(t, "MNT-069: Settle waits for it", w.calls(), []string{"NodeExpand h1"})
	})
	t.Run("a partition", func(t *testing.T) {
		w := newFixture(t)
		w.run("p1")
		w.grow("2Gi")
		w.node.Partition(true)
		w.Advance(5 * time.Minute)
		w.OK(w.Settle(time.Hour))
		w.node.Partition(false)
		w.Advance(61 * time.Second)
		want(t, "MNT-069", w.calls(), []string{"NodeExpand h1"})
		w.Advance(30 * time.Minute)
		steps := 0
		w.AfterEvent(func() { steps++ })
		w.Advance(24 * time.Hour)
		if steps > 10 {
			t.Errorf("then nothing is left to do, and a day takes %d events", steps)
		}
	})
}

// Each node expands a volume of many when its own pods notice (MNT-427).
func TestEveryNodeExpands(t *testing.T) {
	w := newFixture(t, func(s *setup) {
		s.volume = []fake.Option{fake.Modes("RWX")}
		s.object = func(driver *storagev1.CSIDriver) { no := false; driver.Spec.AttachRequired = &no }
		s.driver = []fake.MemoryOption{fake.Without(storage.Attach)}
	})
	second, err := w.nodes.Add("n2")
	w.OK(err)
	w.pod("p1")
	other := fake.Pod("p2", fake.OnNode("n2"))
	addClaim(other, "data", "c1")
	w.Advance(20 * time.Second)
	w.Create(other)
	w.Advance(20 * time.Second)
	w.Mark()
	w.grow("2Gi")
	w.Advance(35 * time.Second)
	want(t, "MNT-427: the first node", w.steps(), []string{"patch-status 1Gi NodeResizeInProgress", "NodeExpand h1", "patch-status 2Gi "})
	w.Advance(20 * time.Second)
	want(t, "MNT-427: the second node", w.steps()[3:], []string{"NodeExpand h1"})
	v, _ := second.kubelet.actual.Volume(volumeName)
	want(t, "MNT-427: size on the second node", v.Size, int64(2<<30))
}

// The mount does not change the size that the node records, so one more check follows; for many drivers it is one more call (MNT-426).
func TestLookAfterMount(t *testing.T) {
	for _, tc := range []struct {
		mode  string
		calls []string
	}{
		{"RWO", []string{"Stage h1", "Publish h1", "NodeExpand h1"}},
		{"RWX", []string{"Stage h1", "Publish h1", "NodeExpand h1", "NodeExpand h1"}},
	} {
		t.Run("MNT-426 "+tc.mode, func(t *testing.T) {
			w := newFixture(t, func(s *setup) { s.volume = []fake.Option{fake.Modes(tc.mode)} })
			w.grow("2Gi")
			w.pod("p1")
			w.Advance(11 * time.Second)
			w.attach(handle)
			w.Advance(5 * time.Minute)
			want(t, "calls", w.calls(), tc.calls)
			v, _ := w.node.kubelet.actual.Volume(volumeName)
			want(t, "size", v.Size, int64(2<<30))
		})
	}
}

// A failure for good is remembered as long as the kubelet runs, also when the volume is gone from the node; a driver that refused while
// the volume was used is asked again after that (MNT-107, MNT-419, MNT-425).
func TestWhatIsRememberedOfFailures(t *testing.T) {
	w := newFixture(t)
	w.failing(storage.NodeExpand, storage.FailedPrecondition).Times(1)
	w.run("p1")
	w.grow("2Gi")
	w.Advance(61 * time.Second)
	w.deletePod("p1")
	w.Advance(time.Minute)
	k := w.node.kubelet
	_, there := k.actual.Volume(volumeName)
	want(t, "MNT-107: the record", there, false)
	want(t, "MNT-425: remembered", k.actual.FailedExpansions[volumeName], true)
	w.Mark()
	w.pod("p2")
	w.Advance(20 * time.Second)
	want(t, "MNT-419: asked again", count(w.calls(), "NodeExpand h1"), 1)
	w.node.Stop()
	w.node.Start()
	w.Advance(time.Second)
	want(t, "MNT-425: forgotten", w.node.kubelet.actual.FailedExpansions[volumeName], false)
}

// After a restart the size is that of the claim, and an expansion in progress continues with the mount (MNT-410, MNT-455).
func TestExpansionAfterRestart(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	w.grow("2Gi")
	w.node.Stop()
	w.Advance(time.Minute)
	want(t, "MNT-405: no call", w.calls(), nil)
	w.node.Start()
	w.Advance(5 * time.Second)
	want(t, "MNT-410: calls", w.calls(), []string{"Stage h1", "Publish h1", "NodeExpand h1"})
	want(t, "MNT-414: claim", w.claim(), "2Gi of 2Gi Other")
	v, _ := w.node.kubelet.actual.Volume(volumeName)
	want(t, "MNT-074: size", v.Size, int64(2<<30))
}

// What the controller does later is seen in the next pass (MNT-406, MNT-925).
func TestUndecidedExpansionGoesOn(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	w.grow("2Gi", func(c *corev1.PersistentVolumeClaim) { objects.SetResizeStatus(c, infeasible) })
	w.Advance(2 * time.Minute)
	want(t, "MNT-925: steps", w.steps(), nil)
	w.setClaim("c1", func(c *corev1.PersistentVolumeClaim) { objects.SetResizeStatus(c, pending) })
	w.Advance(100 * time.Millisecond)
	want(t, "MNT-925: calls", w.calls(), []string{"NodeExpand h1"})
}

// A claim that cannot be read says nothing about the size (MNT-393, MNT-406, MNT-410).
func TestClaimCannotBeRead(t *testing.T) {
	get := fake.Match{Target: api.APIServer, Verb: "get", Kind: string(api.PersistentVolumeClaim)}
	t.Run("MNT-406", func(t *testing.T) {
		w := newFixture(t)
		w.run("p1")
		// The populator reads it first.
		w.Faults.Fail(get, errors.New("no")).Skip(1).Once()
		w.grow("2Gi")
		w.Advance(62 * time.Second)
		want(t, "MNT-393: events", w.events(), []string{
			`VolumeResizeFailed default/p1: NodeExpandVolume.NodeExpandVolume failed for volume "pv1" : mountVolume.NodeExpandVolume get PVC failed : no`,
			"FileSystemResizeSuccessful default/p1: " + succeeded, "FileSystemResizeSuccessful default/c1: " + succeeded,
		})
	})
	t.Run("MNT-410", func(t *testing.T) {
		w := newFixture(t)
		w.grow("2Gi")
		pod := w.pod("p1")
		w.Advance(11 * time.Second)
		// Verifying reads it, too.
		w.Faults.Fail(get, errors.New("no")).Skip(1).Once()
		w.attach(handle)
		w.Advance(300 * time.Millisecond)
		want(t, "MNT-198: events", w.events(), []string{
			`FailedMount default/p1: MountVolume.Setup failed while expanding volume for volume "pv1" : mountVolume.NodeExpandVolume get PVC failed : no`})
		want(t, "MNT-198: state", w.state(pod.UID), "VolumeMountUncertain DeviceGloballyMounted")
		w.Advance(time.Second)
		want(t, "MNT-410: claim", w.claim(), "2Gi of 2Gi Other")
	})
}
