package mount

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// groupPod returns a pod with fsGroup 5.
func groupPod(name string, policy corev1.PodFSGroupChangePolicy) *corev1.Pod {
	group := int64(5)
	pod := fake.Pod(name, fake.OnNode(nodeName))
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group, FSGroupChangePolicy: &policy}
	addClaim(pod, "data", "c1")
	return pod
}

// A slow change of the group keeps the pod waiting, and is reported at intervals (MNT-012, MNT-330, MNT-333).
func TestSlowGroupChange(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.cfg.GroupChange = 3 * time.Minute })
	w.setVolume("pv1", func(pv *corev1.PersistentVolume) { pv.Spec.CSI.FSType = "ext4" })
	w.Create(groupPod("p1", corev1.FSGroupChangeAlways))
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Mark()
	w.Advance(29 * time.Second)
	want(t, "MNT-012: events", w.events(), nil)
	want(t, "MNT-333: operations", w.node.kubelet.operations.pending.Len(), 1)
	w.Advance(150 * time.Second)
	want(t, "MNT-333: phase", w.phase("p1"), corev1.PodPending)
	dir := string(w.stored("p1").UID) + "/volumes/kubernetes.io~csi/pv1/mount"
	events := w.events()
	if len(events) != 3 || !strings.HasPrefix(events[0],
		"VolumePermissionChangeInProgress default/p1: Setting volume ownership for "+dir+" is taking longer than expected") {
		t.Fatalf("MNT-012: events = %q", events)
	}
	for i, seconds := range []int{90, 150} {
		want(t, "MNT-012: event", events[i+1],
			fmt.Sprintf("VolumePermissionChangeInProgress default/p1: Setting volume ownership for %s, processed %d files.", dir, 1000*seconds))
	}
	w.Advance(15 * time.Second)
	want(t, "MNT-333: phase", w.phase("p1"), corev1.PodRunning)
	want(t, "MNT-333: calls", w.calls(), []string{"Stage h1", "Publish h1"})
	for _, tc := range []struct {
		rule, pod string
		policy    corev1.PodFSGroupChangePolicy
		phase     corev1.PodPhase
	}{
		{"MNT-330", "p2", corev1.FSGroupChangeOnRootMismatch, corev1.PodRunning},
		{"MNT-330", "p3", corev1.FSGroupChangeAlways, corev1.PodPending},
	} {
		w.Create(groupPod(tc.pod, tc.policy))
		w.Advance(2 * time.Second)
		want(t, tc.rule+" "+tc.pod, w.phase(tc.pod), tc.phase)
	}
}

// The files of a local volume change their group as well, once (MNT-332, MNT-333).
func TestSlowGroupChangeOfLocalVolume(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.cfg.GroupChange = time.Minute })
	w.setVolume("pv1", func(pv *corev1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt/x"}}
	})
	w.Create(groupPod("p1", corev1.FSGroupChangeAlways))
	w.Advance(50 * time.Second)
	want(t, "MNT-333: events", len(w.events()), 1)
	want(t, "MNT-333: phase", w.phase("p1"), corev1.PodPending)
	w.Advance(20 * time.Second)
	want(t, "MNT-333: phase", w.phase("p1"), corev1.PodRunning)
	w.Create(groupPod("p2", corev1.FSGroupChangeAlways))
	w.Advance(2 * time.Second)
	want(t, "MNT-332: phase", w.phase("p2"), corev1.PodRunning)
}

// A wrong file system on the device is reported on the volume as well (MNT-202, MNT-397).
func TestFilesystemMismatch(t *testing.T) {
	fsType := "xfs"
	w := newFixture(t)
	w.setVolume("pv1", func(pv *corev1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/dev/x", FSType: &fsType}}
	})
	l := w.node.kubelet.layout
	path := l.GlobalMount("kubernetes.io/local-volume", "pv1")
	w.node.disk.Break(path, errFilesystemMismatch)
	w.pod("p1")
	w.Advance(300 * time.Millisecond)
	want(t, "MNT-202: events", w.events(), []string{
		`FailedMountOnFilesystemMismatch pv1: MountVolume failed for volume "pv1" access ` + path + `: wrong file system type`,
		`FailedMount default/p1: MountVolume.MountDevice failed for volume "pv1" : access ` + path + `: wrong file system type`,
	})
	w.node.disk.Break(path, nil)
	w.Advance(2 * time.Second)
	want(t, "MNT-202: phase", w.phase("p1"), corev1.PodRunning)
}

// Drivers with VOLUME_MOUNT_GROUP receive the group, and the kubelet changes nothing (MNT-331).
func TestMountGroup(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		options    []fake.MemoryOption
		want       []string
		group      int64
	}{
		{"MNT-331", "a driver that can", []fake.MemoryOption{fake.MountGroup()}, []string{"5", "5"}, 0},
		{"MNT-331", "one that cannot", nil, []string{"none", "none"}, 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked := &groupsAsked{}
			w := newFixture(t, func(s *setup) {
				s.driver = tc.options
				s.wrap = func(driver *fake.Memory) storage.Backend { asked.Memory = driver; return asked }
			})
			w.setVolume("pv1", func(pv *corev1.PersistentVolume) { pv.Spec.CSI.FSType = "ext4" })
			w.Create(groupPod("p1", corev1.FSGroupChangeAlways))
			w.Advance(11 * time.Second)
			w.attach(handle)
			w.Advance(time.Second)
			want(t, tc.rule+": asked", asked.groups, tc.want)
			for _, m := range w.node.disk.Mounts() {
				want(t, tc.rule+": group of "+m.Path, m.Group, tc.group)
			}
		})
	}
}

// groupsAsked records the groups that a driver receives.
type groupsAsked struct {
	*fake.Memory
	groups []string
}

func (g *groupsAsked) note(group *int64) {
	if group == nil {
		g.groups = append(g.groups, "none")
		return
	}
	g.groups = append(g.groups, fmt.Sprint(*group))
}

func (g *groupsAsked) Stage(req storage.NodeRequest) error {
	g.note(req.Group)
	return g.Memory.Stage(req)
}

func (g *groupsAsked) Publish(req storage.NodeRequest) error {
	g.note(req.Group)
	return g.Memory.Publish(req)
}

// Group 0 is a group like any other: an unchanged volume does not belong to it (MNT-330).
func TestGroupZero(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.cfg.GroupChange = time.Minute })
	w.setVolume("pv1", func(pv *corev1.PersistentVolume) { pv.Spec.CSI.FSType = "ext4" })
	pod := groupPod("p1", corev1.FSGroupChangeOnRootMismatch)
	*pod.Spec.SecurityContext.FSGroup = 0
	w.Create(pod)
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(50 * time.Second)
	want(t, "MNT-330: phase", w.phase("p1"), corev1.PodPending)
	w.Advance(15 * time.Second)
	want(t, "MNT-330: phase", w.phase("p1"), corev1.PodRunning)
}

// CSI volumes in pods are each pod's own, also those of the same name (MNT-303, MNT-330).
func TestGroupOfInlineVolumes(t *testing.T) {
	w := newFixture(t, func(s *setup) {
		s.cfg.GroupChange, s.driver = time.Minute, []fake.MemoryOption{fake.Lenient()}
		s.object = func(d *storagev1.CSIDriver) {
			d.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral}
			d.Spec.FSGroupPolicy = new(storagev1.FileFSGroupPolicy)
		}
	})
	for _, name := range []string{"p1", "p2"} {
		pod := fake.Pod(name, fake.OnNode(nodeName))
		policy := corev1.FSGroupChangeOnRootMismatch
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(5)), FSGroupChangePolicy: &policy}
		pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: driverName}}}}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}
		w.Create(pod)
		w.Advance(50 * time.Second)
		want(t, "MNT-330: phase of "+name, w.phase(name), corev1.PodPending)
		w.Advance(20 * time.Second)
		want(t, "MNT-330: phase of "+name, w.phase(name), corev1.PodRunning)
	}
}

// The group of a local volume is that of its files, whichever pod set it; a pod that only reads does not change it (MNT-332).
func TestGroupOfLocalVolume(t *testing.T) {
	w := newFixture(t)
	w.setVolume("pv1", func(pv *corev1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt/x"}}
	})
	start := func(name string, group int64, readOnly bool) {
		pod := groupPod(name, corev1.FSGroupChangeAlways)
		pod.Spec.SecurityContext.FSGroup = &group
		if group < 0 {
			pod.Spec.SecurityContext = nil
		}
		pod.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = readOnly
		w.Mark()
		w.Create(pod)
		w.Advance(time.Second)
		want(t, "MNT-332: phase of "+name, w.phase(name), corev1.PodRunning)
	}
	group := func() int64 { return w.node.disk.Mounts()[0].Group }
	start("reader", 6, true)
	want(t, "MNT-332: group", group(), int64(0))
	w.deletePod("reader")
	w.Advance(2 * time.Second)
	start("writer", 7, false)
	want(t, "MNT-332: group", group(), int64(7))
	w.deletePod("writer")
	w.Advance(2 * time.Second)
	start("indifferent", -1, false)
	want(t, "MNT-332: events", w.events(), []string(nil))
	start("other", 5, false)
	want(t, "MNT-332: events", w.events(),
		[]string{"AlreadyMountedVolume default/other: The requested fsGroup is 5, but the volume pv1 has GID 7. The volume may not be shareable."})
	want(t, "MNT-332: group", group(), int64(7))
}
