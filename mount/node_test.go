package mount

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/plugin"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// The kubelet registers its node, or marks the one that is there.
func TestRegister(t *testing.T) {
	w := newFixture(t)
	node, err := w.Store().Nodes.Get(nodeName)
	w.OK(err)
	want(t, "annotation", node.Annotations[objects.AnnManagedAttach], "true")
	want(t, "ready", kubeletstatus.Ready(node), true)
	w.Create(fake.Node("n2"))
	w.OK(w.nodes.Follow())
	w.Advance(time.Second)
	second, ok := w.nodes.Get("n2")
	want(t, "followed", ok && second.Running(), true)
	node, _ = w.Store().Nodes.Get("n2")
	want(t, "annotation of a node that was there", node.Annotations[objects.AnnManagedAttach], "true")
	w.Create(fake.Node("n3"))
	w.Advance(time.Second)
	want(t, "nodes", len(w.nodes.names), 3)
}

// A call under way when the kubelet stops has no effect.
func TestStopDuringCall(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.driver = []fake.MemoryOption{fake.Latency(storage.Stage, 10*time.Second)} })
	w.pod("p1")
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(5 * time.Second)
	w.node.Stop()
	want(t, "running", w.node.Running(), false)
	w.Advance(time.Minute)
	v, _ := w.driver.Volume(handle)
	want(t, "staged", len(v.Staged), 0)
	w.node.Start()
	w.Advance(time.Minute)
	want(t, "phase", w.phase("p1"), corev1.PodRunning)
}

// TestNodeMisuse: what has no effect is an error.
func TestNodeMisuse(t *testing.T) {
	n := newFixture(t).node
	for _, tt := range []struct {
		err  error
		want string
	}{
		{n.Unregister("typo"), `unregister driver "typo" on node ` + nodeName + ": there is no such CSI driver"},
		{n.Register("typo"), `register driver "typo" on node ` + nodeName + ": there is no such CSI driver"},
		{n.BreakDisk("relative", errors.New("broken")), `break the disk of node ` + nodeName + ` at "relative": the path is not absolute and clean; ` +
			"want one like /var/lib/kubelet/pods"},
		{n.BreakDisk("/var/", nil), `at "/var/": the path is not absolute and clean`},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%v, want %q", tt.err, tt.want)
		}
	}
}

// MNT-485: a reboot loses mounts and containers, not files; volumes are mounted again, and an Event reports the reboot.
func TestReboot(t *testing.T) {
	w := newFixture(t)
	pod := w.run("p1")
	w.node.PowerOff()
	w.node.Start()
	want(t, "MNT-485: mounts", w.node.disk.Mounts(), nil)
	want(t, "MNT-485: containers", internals.Node(w.node).Containers(), nil)
	v, _ := w.driver.Volume(handle)
	want(t, "MNT-485: storage", []int{len(v.Staged), len(v.Published), len(v.Attached)}, []int{0, 0, 1})
	w.Advance(0)
	want(t, "MNT-485: state", w.state(pod.UID), "VolumeMountUncertain DeviceMountUncertain")
	w.Advance(5 * time.Second)
	want(t, "MNT-485: calls", w.calls(), []string{"Stage h1", "Publish h1"})
	want(t, "MNT-485: containers", internals.Node(w.node).Containers(), []types.UID{pod.UID})
	if events := w.events(); len(events) != 1 || !strings.HasPrefix(events[0], "Rebooted n1") {
		t.Errorf("MNT-485: events = %q", events)
	}
}

// MNT-485: volumes that no pod uses after a reboot are unmounted although nothing is mounted.
func TestRebootWithoutPod(t *testing.T) {
	w := newFixture(t)
	pod := w.run("p1")
	w.node.PowerOff()
	w.forceDelete("p1")
	w.node.Start()
	w.Advance(20 * time.Second)
	want(t, "MNT-485: calls", w.calls(), []string{"Unpublish h1", "Unstage h1"})
	want(t, "MNT-480: directory", w.node.disk.Exists(w.node.kubelet.layout.Pod(pod.UID)), false)
	want(t, "MNT-457: in use", len(w.inUse()), 0)
}

// A partitioned kubelet neither sees nor writes anything; its containers run on, and afterwards it catches up.
func TestPartition(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	w.node.Partition(true)
	want(t, "partitioned", w.node.Partitioned(), true)
	w.deletePod("p1")
	w.pod("p2")
	w.Advance(time.Minute)
	want(t, "containers", len(internals.Node(w.node).Containers()), 1)
	want(t, "calls", w.calls(), nil)
	for e := range w.Since() {
		if e.Type == trace.Write && e.Actor == actors.Kubelet(nodeName) {
			t.Errorf("a partitioned kubelet wrote: %s %s", e.Verb, e.Object)
		}
	}
	w.node.Partition(false)
	w.Advance(time.Minute)
	want(t, "p1", w.phase("p1"), "gone")
	want(t, "p2", w.phase("p2"), corev1.PodRunning)
}

// A partition that ends before the kubelet watches leaves no pod whose deletion it misses.
func TestPartitionEndsDuringStart(t *testing.T) {
	w := newFixture(t, func(s *setup) {
		s.engine.Latency = 10 * time.Millisecond
		s.engine.Lag = map[string]time.Duration{actors.Kubelet(nodeName): time.Millisecond}
	})
	w.node.Stop()
	w.pod("p1")
	w.pod("p2")
	w.node.Start()
	w.Advance(5 * time.Millisecond) // it waits for its Node
	w.node.Partition(true)
	w.forceDelete("p1")
	w.node.Partition(false)
	w.Advance(time.Second)
	var pods []string
	for _, pod := range w.node.kubelet.pods {
		pods = append(pods, pod.Name)
	}
	want(t, "pods", pods, []string{"p2"})
	want(t, "workers", len(w.node.kubelet.workers), 1)
}

// MNT-450, MNT-456: a failing mount after a restart keeps what an earlier kubelet left.
func TestMountFailsAfterRestart(t *testing.T) {
	w := newFixture(t)
	pod := w.run("p1")
	w.node.Stop()
	w.failing(storage.Publish, storage.Internal)
	w.node.Start()
	w.Advance(5 * time.Second)
	want(t, "MNT-456: state", w.state(pod.UID), "VolumeMountUncertain DeviceGloballyMounted")
	want(t, "MNT-456: files", w.node.disk.Mounted(w.node.kubelet.layout.CSIMount(pod.UID, "pv1")), true)
	w.Mark()
	w.deletePod("p1")
	w.Advance(5 * time.Second)
	want(t, "MNT-456: unmounted later", w.calls(), []string{"Unpublish h1", "Unstage h1"})
}

// MNT-457, MNT-928: a reconstructed volume that the node's status does not have is not reported in use, unless it is desired.
func TestCorrection(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	w.node.Stop()
	w.forceDelete("p1")
	w.setAttached()
	w.failing(storage.Unpublish, storage.Internal)
	w.node.Start()
	w.Advance(20 * time.Second)
	v, _ := w.node.kubelet.actual.Volume(volumeName)
	want(t, "MNT-928: attachability", v.Attachable, volumes.NotAttachable)
	want(t, "MNT-928: in use", len(w.inUse()), 0)
	want(t, "MNT-137: synced", w.node.kubelet.reconciler.statesSynced, true)
}

// MNT-451, MNT-452, MNT-453: what can be read from the disk.
func TestReconstruct(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.backends = []storage.Backend{fake.NFS()} })
	k := w.node.kubelet
	fs, l := w.node.disk, k.layout
	w.OK(fs.WriteMetadata(l.PodVolume("u", "kubernetes.io/csi", "pv1")+"/"+disk.MetadataFile,
		disk.Metadata{SpecName: "pv1", Driver: driverName, Handle: handle}))
	w.OK(fs.WriteMetadata(l.CSIDeviceData("pv2")+"/"+disk.MetadataFile, disk.Metadata{SpecName: "pv2", Driver: driverName, Handle: "h2"}))
	w.OK(fs.Mkdir(l.PodVolume("u", "kubernetes.io/csi", "lost")))
	w.OK(fs.Mkdir(l.PodVolume("u", "kubernetes.io/local-volume", "dir")))
	w.OK(fs.Mount(disk.Mount{Path: l.GlobalMount(plugin.LocalPluginName, "dev")}))
	for _, tc := range []struct {
		rule  string
		what  plugin.VolumeDir
		block bool
		want  string
	}{
		{"MNT-451", plugin.VolumeDir{Pod: "u", Plugin: "kubernetes.io/csi", Name: "pv1"}, false, "kubernetes.io/csi/d^h1"},
		{"MNT-451", plugin.VolumeDir{Pod: "u", Plugin: "kubernetes.io/csi", Name: "pv2"}, true, "kubernetes.io/csi/d^h2"},
		{"MNT-451", plugin.VolumeDir{Pod: "u", Plugin: "kubernetes.io/nfs", Name: "pv3"}, false, "kubernetes.io/nfs/u-pv3"},
		{"MNT-451", plugin.VolumeDir{Pod: "u", Plugin: "kubernetes.io/empty-dir", Name: "tmp"}, false, "kubernetes.io/empty-dir/u-tmp"},
		{"MNT-451", plugin.VolumeDir{Pod: "u", Plugin: plugin.LocalPluginName, Name: "dev"}, false, "kubernetes.io/local-volume/dev"},
		{"MNT-453", plugin.VolumeDir{Pod: "u", Plugin: "kubernetes.io/csi", Name: "lost"}, false, "error"},
		{"MNT-453", plugin.VolumeDir{Pod: "u", Plugin: plugin.LocalPluginName, Name: "dir"}, false, "error"},
		{"MNT-453", plugin.VolumeDir{Pod: "u", Plugin: "example.com/other", Name: "x"}, false, "error"},
	} {
		got := "error"
		if spec, err := k.plugins.Reconstruct(tc.what, tc.block); err == nil {
			got = string(volumes.Identify(spec, "u", nil).Name)
		}
		want(t, tc.rule+": "+fmt.Sprint(tc.what), got, tc.want)
	}
	w.node.Stop()
	w.node.Start()
	w.Advance(0)
	v, ok := w.node.kubelet.actual.Volume(volumeName)
	if !ok {
		t.Fatal("MNT-452: no record")
	}
	want(t, "MNT-452: device path", []string{v.DevicePath, v.DeviceMountPath}, []string{"", l.CSIGlobalMount(driverName, handle)})
}

// MNT-480, MNT-481, MNT-482: orphaned directories.
func TestHousekeeping(t *testing.T) {
	w := newFixture(t)
	k := w.node.kubelet
	fs, l := w.node.disk, k.layout
	w.OK(fs.Mkdir(l.PodVolumes("empty") + "/kubernetes.io~csi/pv1/mount"))
	w.OK(fs.WriteMetadata(l.PodVolume("file", "kubernetes.io/csi", "pv1")+"/"+disk.MetadataFile, disk.Metadata{}))
	w.OK(fs.Mount(disk.Mount{Path: l.CSIMount("mounted", "pv1")}))
	w.OK(fs.Link(l.PodDevice("device", "kubernetes.io/csi", "pv1"), "/dev/x"))
	w.Advance(3 * time.Second)
	want(t, "MNT-480: empty", fs.Exists(l.Pod("empty")), false)
	want(t, "MNT-481: a file in the way", fs.Exists(l.PodVolume("file", "kubernetes.io/csi", "pv1")+"/"+disk.MetadataFile), true)
	want(t, "MNT-480: mounted", fs.Mounted(l.CSIMount("mounted", "pv1")), true)
	want(t, "MNT-482: a device", fs.Exists(l.Pod("device")), false)
}

// Containers of a pod that was deleted while no kubelet ran are ended.
func TestOrphanedContainers(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	w.node.Stop()
	w.forceDelete("p1")
	want(t, "containers", len(internals.Node(w.node).Containers()), 1)
	w.node.Start()
	w.Advance(5 * time.Second)
	want(t, "containers", len(internals.Node(w.node).Containers()), 0)
}

// MNT-488: groups go down one after the other, within their grace.
func TestShutDown(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.cfg.StopTime = 2 * time.Second })
	w.run("p1")
	w.bound("pv2", "h2", "c2")
	high := int32(100)
	pod := fake.Pod("p2", fake.OnNode(nodeName), fake.Claims("c2"))
	pod.Spec.Priority = &high
	w.Create(pod)
	w.Advance(11 * time.Second)
	w.attach(handle, "h2")
	w.Advance(time.Second)
	w.Mark()
	w.node.ShutDown(map[int32]time.Duration{100: 10 * time.Second, 0: 10 * time.Second})
	w.Advance(time.Minute)
	want(t, "MNT-488: calls", w.calls()[:1], []string{"Unpublish h1"})
	want(t, "MNT-488: phases", []corev1.PodPhase{w.phase("p1"), w.phase("p2")}, []corev1.PodPhase{corev1.PodSucceeded, corev1.PodSucceeded})
	want(t, "MNT-488: condition", conditionOf(w.stored("p1"), corev1.DisruptionTarget), "True TerminationByKubelet: "+shutdownMessage)
	want(t, "MNT-488: off", w.node.Running(), false)
	want(t, "MNT-488: mounts", w.node.disk.Mounts(), nil)
}

// Containers write what the next reader finds, also on another node, and go on while their kubelet is cut off.
func TestData(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.driver = []fake.MemoryOption{fake.Lenient()} })
	w.run("p1", fake.Annotations(AnnWriteEvery, "10s"))
	first := w.node.Accesses()
	want(t, "accesses", []bool{first[0].Wrote, first[1].Wrote}, []bool{false, true})
	w.node.Partition(true)
	w.Advance(time.Minute)
	v, _ := w.driver.Volume(handle)
	if v.Content.Version < 6 || v.Content.Node != nodeName {
		t.Errorf("content = %+v, want several writes from %s", v.Content, nodeName)
	}
	// The volume is taken away: what containers write no longer arrives.
	w.OK(w.driver.Detach(storage.NodeRequest{ID: handle, Node: nodeName}))
	_, err := w.driver.Attach(storage.NodeRequest{ID: handle, Node: "elsewhere"})
	w.OK(err)
	before := len(w.node.Accesses())
	w.Advance(20 * time.Second)
	after := w.node.Accesses()
	if len(after) <= before || after[len(after)-1].Err == nil {
		t.Errorf("a write after the detachment succeeded")
	}
}

func TestWorkload(t *testing.T) {
	for _, tc := range []struct {
		name        string
		annotations []string
		want        kubeletdefs.Workload
	}{
		{"nothing", nil, kubeletdefs.Workload{}},
		{"a job", []string{AnnRunFor, "30s", AnnExitPhase, "Failed"}, kubeletdefs.Workload{RunFor: 30 * time.Second, Phase: corev1.PodFailed}},
		{"a writer", []string{AnnWriteEvery, "5s"}, kubeletdefs.Workload{Read: true, Write: true, Every: 5 * time.Second}},
		{"a reader", []string{AnnRead, ""}, kubeletdefs.Workload{Read: true}},
		{"nonsense", []string{AnnRunFor, "soon", AnnExitPhase, "Running"}, kubeletdefs.Workload{}},
	} {
		want(t, tc.name, kubeletdefs.WorkloadOf(fake.Pod("p", fake.Annotations(tc.annotations...))), tc.want)
	}
	w := newFixture(t)
	w.Create(fake.Pod("job", fake.OnNode(nodeName), fake.Annotations(AnnRunFor, "30s")))
	w.Advance(29 * time.Second)
	want(t, "running", w.phase("job"), corev1.PodRunning)
	w.Advance(2 * time.Second)
	want(t, "over", w.phase("job"), corev1.PodSucceeded)
}

// The annotations of a running pod decide when it ends and how, counted from the start of its containers.
func TestWorkloadChanges(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before []string
		patch  string // of the annotations
		// passed is how long the containers have run when the annotations change, left is how long they run after that.
		passed, left time.Duration
		want         corev1.PodPhase
	}{
		{"an end for a pod without one", nil, `{"volsim.dev/run-for":"30s"}`, 10 * time.Second, 20 * time.Second, corev1.PodSucceeded},
		{"an end in the past", nil, `{"volsim.dev/run-for":"1s","volsim.dev/exit-phase":"Failed"}`, 10 * time.Second, 0, corev1.PodFailed},
		{"a later end", []string{AnnRunFor, "20s"}, `{"volsim.dev/run-for":"40s"}`, 10 * time.Second, 30 * time.Second, corev1.PodSucceeded},
		{"another phase", []string{AnnRunFor, "20s"}, `{"volsim.dev/exit-phase":"Failed"}`, 10 * time.Second, 10 * time.Second, corev1.PodFailed},
		{"no end any more", []string{AnnRunFor, "20s"}, `{"volsim.dev/run-for":null}`, 10 * time.Second, time.Hour, corev1.PodRunning},
		{"too late", []string{AnnRunFor, "5s"}, `{"volsim.dev/run-for":"1h"}`, 10 * time.Second, 0, corev1.PodSucceeded},
	} {
		w := newFixture(t)
		w.Create(fake.Pod("p", fake.OnNode(nodeName), fake.Annotations(tc.before...)))
		w.Advance(tc.passed)
		w.Patch("Pod", "default/p", `{"metadata":{"annotations":`+tc.patch+`}}`)
		if tc.left > 0 && tc.want != corev1.PodRunning {
			w.Advance(tc.left - time.Second)
			want(t, tc.name+": before its end", w.phase("p"), corev1.PodRunning)
			tc.left = time.Second
		}
		w.Advance(tc.left + 100*time.Millisecond)
		want(t, tc.name, w.phase("p"), tc.want)
	}
}

// For every seed pods come and go and leave nothing behind; and the same seed gives the same run.
func TestSeeds(t *testing.T) {
	for seed := int64(1); seed <= 40; seed++ {
		run := func() string {
			w := newFixture(t, func(s *setup) {
				s.engine.Seed, s.engine.Latency = seed, time.Duration(seed%3)*7*time.Millisecond
				s.driver = []fake.MemoryOption{fake.Latency(storage.Publish, time.Duration(seed%5)*100*time.Millisecond)}
			})
			w.pod("p1")
			w.pod("p2")
			w.Advance(11 * time.Second)
			w.attach(handle)
			w.Advance(20 * time.Second)
			if w.phase("p1") != corev1.PodRunning || w.phase("p2") != corev1.PodRunning {
				t.Errorf("seed %d: pods are %s and %s", seed, w.phase("p1"), w.phase("p2"))
			}
			w.node.Stop()
			w.node.Start()
			w.Advance(20 * time.Second)
			w.deletePod("p1")
			w.deletePod("p2")
			w.Advance(30 * time.Second)
			w.clean(fmt.Sprintf("seed %d", seed))
			var log strings.Builder
			w.OK(w.Trace().WriteText(&log))
			return log.String()
		}
		if first, second := run(), run(); first != second {
			t.Fatalf("seed %d: two runs differ", seed)
		}
	}
}

// A kubelet that crashes at any of its calls, before or after its effect, comes back and finishes what it began.
func TestCrashAnywhere(t *testing.T) {
	for _, effect := range []bool{false, true} {
		for nth := 1; nth <= 40; nth++ {
			calls, verb := 0, ""
			crash := engine.InjectorFunc(func(c api.Call) api.Fault {
				if c.Actor != actors.Kubelet(nodeName) {
					return api.Fault{}
				}
				if calls++; calls == nth {
					verb = c.Verb
					return api.Fault{Crash: true, Effect: effect, Restart: time.Second}
				}
				return api.Fault{}
			})
			w := newFixtureWith(t, crash)
			w.pod("p1")
			w.Advance(11 * time.Second)
			w.attach(handle)
			w.Advance(30 * time.Second)
			if w.phase("p1") != corev1.PodRunning {
				t.Errorf("crash at call %d (effect %v): the pod is %s", nth, effect, w.phase("p1"))
			}
			w.deletePod("p1")
			w.Advance(time.Minute)
			if verb == string(storage.Unstage) && !effect {
				// MNT-462: the directory of the pod is gone by then, so nothing leads the next kubelet to the device.
				v, _ := w.driver.Volume(handle)
				want(t, "MNT-462: staged for good", len(v.Staged), 1)
				continue
			}
			w.clean(fmt.Sprintf("crash at call %d (effect %v)", nth, effect))
		}
	}
}

// clean fails the test if pods or volumes have left anything behind.
func (w *fixture) clean(when string) {
	w.T.Helper()
	for _, pod := range w.Store().Pods.List() {
		w.T.Errorf("%s: pod %s is still there, %s", when, api.KeyOf(pod), pod.Status.Phase)
	}
	if mounts := w.node.disk.Mounts(); len(mounts) > 0 {
		w.T.Errorf("%s: still mounted: %v", when, mounts)
	}
	if v, ok := w.driver.Volume(handle); ok && len(v.Staged)+len(v.Published) > 0 {
		w.T.Errorf("%s: the storage still has %+v %+v", when, v.Staged, v.Published)
	}
	if n := len(w.node.kubelet.actual.Volumes()); n > 0 {
		w.T.Errorf("%s: %d records", when, n)
	}
	if got := w.inUse(); len(got) > 0 {
		w.T.Errorf("%s: in use %v", when, got)
	}
	if w.node.disk.Exists(kubeletdefs.Root + "/pods") {
		for _, uid := range w.node.disk.Children(kubeletdefs.Root + "/pods") {
			w.T.Errorf("%s: the directory of pod %s is still there", when, uid)
		}
	}
}
