package mount_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/mount"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

const csiName = "disk.example.com"

// loaded is a cluster that was loaded from another one, in which pods run.
type loaded struct {
	*volsim.Cluster
	t      *testing.T
	driver *fake.Memory
	node   *mount.Node
	seen   uint64
}

func cluster(t *testing.T, start time.Time, options ...fake.MemoryOption) (*volsim.Cluster, *fake.Memory) {
	t.Helper()
	driver := fake.CSI(csiName, options...)
	c, err := volsim.New(volsim.Config{Start: start, Without: actors.NodeFailure,
		Backends: []storage.Backend{driver, fake.CSI("other.example.com")}})
	require.NoError(t, err)
	return c, driver
}

// dump runs pods on node n1 and returns all objects, as they are then.
func dump(t *testing.T) ([]api.Object, time.Time) {
	t.Helper()
	c, _ := cluster(t, time.Time{})
	scratch := fake.Pod("scratch", fake.OnNode("n1"))
	scratch.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	scratch.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}}
	require.NoError(t, c.Create(
		fake.Node("n1"), fake.Class("fast", csiName, fake.Policy(corev1.PersistentVolumeReclaimDelete)),
		fake.Claim("data", "1Gi", fake.InClass("fast")), fake.Claim("raw", "1Gi", fake.InClass("fast"), fake.Block()),
		fake.Volume("here", "1Gi", fake.LocalSource("/mnt/here", "n1")), fake.Claim("local", "1Gi", fake.VolumeName("here")),
	))
	require.NoError(t, c.Settle())
	require.NoError(t, c.Create(
		fake.Pod("db", fake.OnNode("n1"), fake.Claims("data"), fake.BlockClaims("raw")),
		fake.Pod("reader", fake.OnNode("n1"), fake.Claims("data")),
		fake.Pod("near", fake.OnNode("n1"), fake.Claims("local")), scratch,
	))
	require.NoError(t, c.Settle())
	var objs []api.Object
	for _, pod := range c.Pods.List() {
		require.Equal(t, corev1.PodRunning, pod.Status.Phase, "pod %s", pod.Name)
		objs = append(objs, pod)
	}
	for _, node := range c.Nodes.List() {
		node.Status.NodeInfo.BootID = "6f1ce0de"
		objs = append(objs, node)
	}
	for _, obj := range c.Volumes.List() {
		objs = append(objs, obj)
	}
	for _, obj := range c.Claims.List() {
		objs = append(objs, obj)
	}
	for _, obj := range c.Classes.List() {
		objs = append(objs, obj)
	}
	for _, obj := range c.Attachments.List() {
		objs = append(objs, obj)
	}
	for _, obj := range c.CSIDrivers.List() {
		objs = append(objs, obj)
	}
	for _, node := range c.CSINodes.List() {
		for i := range node.Spec.Drivers {
			if node.Spec.Drivers[i].Name == csiName {
				node.Spec.Drivers = node.Spec.Drivers[i : i+1]
				break
			}
		}
		objs = append(objs, node)
	}
	return objs, c.Now()
}

func load(t *testing.T, options ...fake.MemoryOption) *loaded {
	t.Helper()
	objs, now := dump(t)
	c, driver := cluster(t, now, options...)
	require.NoError(t, c.Load(objs...))
	node, err := c.Node("n1")
	require.NoError(t, err)
	return &loaded{Cluster: c, t: t, driver: driver, node: node}
}

func (l *loaded) adoptAll() {
	l.t.Helper()
	for _, pod := range l.Pods.List() {
		require.NoError(l.t, internals.Node(l.node).Adopt(pod))
	}
	l.restart()
	l.seen = l.Trace().Seq()
}

// restart restarts the controllers, so that they read the loaded objects. The kubelets have not started.
func (l *loaded) restart() {
	for _, name := range l.Controllers() {
		if !strings.HasPrefix(name, actors.Kubelet("")) && !strings.HasPrefix(name, actors.Node("")) {
			require.NoError(l.t, l.Crash(name))
			require.NoError(l.t, l.Restart(name))
		}
	}
}

// did lists writes, storage calls and Events since all pods were adopted.
func (l *loaded) did() []string {
	var lines []string
	for e := range l.Trace().Since(l.seen) {
		switch {
		case e.Type == trace.Write && e.Old != e.New, e.Type == trace.Emitted, e.Type == trace.Storage && e.Verb == "end":
			lines = append(lines, fmt.Sprintf("%s %s %s%s %s %s %v", e.Actor, e.Verb, e.Call.Verb, e.Object, e.Call.Key, e.Text, e.Err))
		}
	}
	return lines
}

func TestAdoptedPodsGoOn(t *testing.T) {
	l := load(t)
	l.adoptAll()
	require.Len(t, internals.Node(l.node).Containers(), 4)
	require.NoError(t, l.Advance(20*time.Minute))
	require.Empty(t, l.did(), "nothing is written, mounted or reported")
	db, err := l.Pods.Get("default/db")
	require.NoError(t, err)
	require.Len(t, internals.Node(l.node).MountedVolumes(db.UID), 2)
	require.Empty(t, l.driver.Problems())
}

func (l *loaded) delete(pod string) {
	l.t.Helper()
	stored, err := l.Pods.Get("default/" + pod)
	require.NoError(l.t, err)
	require.NoError(l.t, l.Delete(stored))
}

// calls are the storage calls about a node since all pods were adopted.
func (l *loaded) calls() []string {
	var calls []string
	for e := range l.Trace().Since(l.seen) {
		if e.Type == trace.Storage && e.Verb == "end" {
			calls = append(calls, e.Call.Verb)
			require.NoError(l.t, e.Err)
		}
	}
	return calls
}

func TestAdoptedPodIsDeleted(t *testing.T) {
	l := load(t)
	l.adoptAll()
	l.delete("db")
	require.NoError(t, l.Advance(2*time.Minute))
	_, err := l.Pods.Get("default/db")
	require.Error(t, err, "the pod is gone")
	require.Equal(t, []string{"Unpublish", "Unpublish", "Unstage", "Detach"}, l.calls(), "the other pod keeps the file system")
	l.delete("reader")
	l.delete("scratch")
	l.delete("near")
	require.NoError(t, l.Advance(2*time.Minute))
	require.Empty(t, l.Pods.List())
	require.Empty(t, l.Attachments.List())
	require.Empty(t, l.node.Mounts())
	require.Empty(t, l.below("/pods/"), "no directory of a pod")
	for _, v := range l.driver.Volumes() {
		require.Empty(t, v.Attached)
		require.Empty(t, v.Staged)
		require.Empty(t, v.Published)
	}
	require.Empty(t, l.driver.Problems())
	require.Empty(t, l.Events())
}

// A stopped kubelet finds the adopted volumes when it starts, as after any restart (MNT-455).
func TestAdoptWithoutKubelet(t *testing.T) {
	l := load(t)
	l.node.Stop()
	l.adoptAll()
	require.NoError(t, l.Advance(time.Minute))
	require.Empty(t, l.did())
	require.Len(t, internals.Node(l.node).Containers(), 4)
	l.node.Start()
	require.NoError(t, l.Advance(time.Minute))
	require.Equal(t, []string{"Stage", "Stage", "Publish", "Publish", "Publish"}, sorted(l.calls()))
	require.Len(t, internals.Node(l.node).Containers(), 4)
	for _, event := range l.Events() {
		require.Equal(t, "SuccessfulMountVolume", event.Reason)
	}
}

// A pod whose status says Running is not reported again, even if a container waits.
func TestAdoptLeavesStatusAlone(t *testing.T) {
	l := load(t)
	pod, err := l.Pods.Get("default/scratch")
	require.NoError(t, err)
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	require.NoError(t, l.Load(pod))
	l.adoptAll()
	require.NoError(t, l.Advance(10*time.Minute))
	require.Empty(t, l.did())
}

// A dump without VolumeAttachments, without claims, or with a claim that is not bound any more: the pods run all the same.
func TestAdoptWhatIsIncomplete(t *testing.T) {
	for _, tc := range []struct {
		name   string
		remove func(l *loaded)
	}{
		{"no VolumeAttachment", func(l *loaded) {
			for _, va := range l.Attachments.List() {
				va.Finalizers = nil
				l.remove(va)
			}
		}},
		{"a claim that lost its volume", func(l *loaded) {
			claim, err := l.Claims.Get("default/data")
			require.NoError(l.t, err)
			claim.Status.Phase, claim.Spec.VolumeName = corev1.ClaimLost, "gone"
			require.NoError(l.t, l.Load(claim))
		}},
		{"no claim", func(l *loaded) {
			claim, err := l.Claims.Get("default/data")
			require.NoError(l.t, err)
			claim.Finalizers = nil
			l.remove(claim)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := load(t)
			tc.remove(l)
			l.adoptAll()
			require.NoError(t, l.Advance(time.Minute))
			require.Len(t, internals.Node(l.node).Containers(), 4)
			for _, call := range l.calls() {
				require.NotContains(t, []string{"Stage", "Publish", "Unpublish"}, call)
			}
			db, err := l.Pods.Get("default/db")
			require.NoError(t, err)
			require.Len(t, internals.Node(l.node).MountedVolumes(db.UID), 2)
		})
	}
}

func TestAdoptErrors(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(l *loaded, pod *corev1.Pod) *corev1.Pod
		want   string
	}{
		{"nil", func(*loaded, *corev1.Pod) *corev1.Pod { return nil }, "the pod is nil"},
		{"unknown", func(_ *loaded, pod *corev1.Pod) *corev1.Pod { pod.Name = "other"; return pod },
			"pod default/other does not exist"},
		{"another of that name", func(_ *loaded, pod *corev1.Pod) *corev1.Pod { pod.UID = "other"; return pod }, "pod default/db does not exist"},
		{"on another node", func(l *loaded, pod *corev1.Pod) *corev1.Pod {
			pod.Spec.NodeName = "n2"
			require.NoError(l.t, l.Load(pod))
			return pod
		}, `its node is "n2" and not n1`},
		{"ended", func(l *loaded, pod *corev1.Pod) *corev1.Pod {
			pod.Status.Phase = corev1.PodSucceeded
			require.NoError(l.t, l.Load(pod))
			return pod
		}, "it has ended (Succeeded)"},
		{"twice", func(l *loaded, pod *corev1.Pod) *corev1.Pod {
			require.NoError(l.t, internals.Node(l.node).Adopt(pod))
			return pod
		}, "it runs here already"},
		{"too late", func(l *loaded, pod *corev1.Pod) *corev1.Pod {
			require.NoError(l.t, l.Advance(0))
			return pod
		}, "its kubelet works already"},
		{"a volume without a PersistentVolume", func(l *loaded, pod *corev1.Pod) *corev1.Pod {
			pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "none"
			require.NoError(l.t, l.Load(pod))
			return pod
		}, "volume data: the PersistentVolume of claim default/none does not exist"},
		{"a volume without a plugin", func(l *loaded, pod *corev1.Pod) *corev1.Pod {
			pod.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{}}
			require.NoError(l.t, l.Load(pod))
			return pod
		}, "pod default/db: volume data: failed to get Plugin"},
		{"a backend that fails", func(l *loaded, pod *corev1.Pod) *corev1.Pod {
			claim, err := l.Claims.Get("default/raw")
			require.NoError(l.t, err)
			_, err = l.driver.Attach(storage.NodeRequest{ID: claim.Spec.VolumeName, Node: "elsewhere"})
			require.NoError(l.t, err)
			return pod
		}, "is attached to node elsewhere"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := load(t)
			pod, err := l.Pods.Get("default/db")
			require.NoError(t, err)
			pod = tc.change(l, pod)
			require.ErrorContains(t, internals.Node(l.node).Adopt(pod), tc.want)
			if tc.name != "twice" && tc.name != "too late" {
				require.Empty(t, internals.Node(l.node).Containers())
				require.Empty(t, l.node.Mounts())
				require.Empty(t, l.below("/pods/"))
				for _, v := range l.driver.Volumes() {
					require.Empty(t, v.Staged)
					require.Empty(t, v.Published)
				}
			}
		})
	}
	t.Run("no Node", func(t *testing.T) {
		l := load(t)
		require.NoError(t, l.Delete(fake.Node("n1")))
		require.ErrorContains(t, internals.Node(l.node).Resume(), "node n1 does not exist")
	})
}

// below lists what is on the disk below a directory of the kubelet.
func (l *loaded) below(dir string) []string {
	return slices.DeleteFunc(internals.Node(l.node).Paths(), func(path string) bool {
		return !strings.HasPrefix(path, kubeletdefs.Root+dir) || path == kubeletdefs.Root+dir
	})
}

// remove takes an object away at once.
func (l *loaded) remove(obj api.Object) {
	l.t.Helper()
	require.NoError(l.t, l.Load(obj))
	obj.SetResourceVersion("")
	require.NoError(l.t, l.Delete(obj))
}

func sorted(words []string) []string {
	slices.Sort(words)
	slices.Reverse(words)
	return words
}

// Resume keeps the boot ID and the drivers of the API objects; the next boot is a new one.
func TestResume(t *testing.T) {
	l := load(t)
	require.NoError(t, internals.Node(l.node).Resume())
	l.restart()
	require.NoError(t, l.Advance(time.Minute))
	node, err := l.Nodes.Get("n1")
	require.NoError(t, err)
	require.Equal(t, "6f1ce0de", node.Status.NodeInfo.BootID)
	csiNode, err := l.CSINodes.Get("n1")
	require.NoError(t, err)
	require.Len(t, csiNode.Spec.Drivers, 1, "other.example.com is not registered")
	l.node.PowerOff()
	l.node.Start()
	require.NoError(t, l.Advance(time.Minute))
	node, err = l.Nodes.Get("n1")
	require.NoError(t, err)
	require.NotEqual(t, "6f1ce0de", node.Status.NodeInfo.BootID)
}

// Only the attach/detach controller reports attachments (MNT-396).
func TestKubeletsDoNotTellOfAttaching(t *testing.T) {
	c, _ := cluster(t, time.Time{})
	c.Faults.Fail(fake.Match{Target: csiName, Verb: string(storage.Attach)}, storage.Errorf(storage.Internal, "no")).Times(6)
	require.NoError(t, c.Create(fake.Node("n1"), fake.Class("fast", csiName), fake.Claim("data", "1Gi", fake.InClass("fast"))))
	require.NoError(t, c.Settle())
	require.NoError(t, c.Create(fake.Pod("db", fake.OnNode("n1"), fake.Claims("data"))))
	require.NoError(t, c.Settle())
	emitted := map[string]bool{}
	for e := range c.Trace().Since(0) {
		if e.Type == trace.Emitted && strings.HasSuffix(e.Reason, "AttachVolume") {
			require.Equal(t, actors.AttachDetach, e.Actor)
			emitted[e.Reason] = true
		}
	}
	require.Equal(t, map[string]bool{"FailedAttachVolume": true, "SuccessfulAttachVolume": true}, emitted)
}
