package mount

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/plugin"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// Steps of a mount that fail say which they were, and leave what the rule says.
func TestMountSteps(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		volume     []fake.Option
		change     func(w *fixture)
		event      string
		calls      []string
	}{
		{"MNT-191", "the volume is for another node", []fake.Option{fake.FromNodes("n2")}, nil,
			`MountVolume.NodeAffinity check failed for volume "pv1" : no matching NodeSelectorTerms`, nil},
		{"MNT-191", "the Node is gone", nil, func(w *fixture) {
			_, err := w.Store().Nodes.Delete(nodeName, api.DeleteOptions{})
			w.OK(err)
		}, `MountVolume.NodeAffinity check failed for volume "pv1" : error retrieving node: node "n1" not found`, nil},
		{"MNT-195", "the attachment is gone", nil, func(w *fixture) {
			_, err := w.Store().Attachments.Delete(objects.AttachmentName(handle, driverName, nodeName), deleteNow)
			w.OK(err)
		}, `MountVolume.WaitForAttach failed for volume "pv1" : volume h1 has GET error for volume attachment`, nil},
		{"MNT-300", "the attachment failed", nil, func(w *fixture) {
			w.attachment(handle, func(va *storagev1.VolumeAttachment) {
				va.Status.AttachError = &storagev1.VolumeError{Message: "on fire"}
			})
		}, `MountVolume.WaitForAttach failed for volume "pv1" : on fire`, nil},
		{"MNT-300", "the attachment is not done", nil, func(w *fixture) { w.attachment(handle, func(*storagev1.VolumeAttachment) {}) },
			`MountVolume.WaitForAttach failed for volume "pv1" : volume h1 is not attached for volume attachment`, nil},
		{"MNT-196", "staging fails", nil, func(w *fixture) { w.failing(storage.Stage, storage.Internal) },
			`MountVolume.MountDevice failed for volume "pv1" : rpc error: code = Internal desc = no`, []string{"Stage h1 = Internal"}},
		{"MNT-197", "publishing fails", nil, func(w *fixture) { w.failing(storage.Publish, storage.Internal) },
			`MountVolume.SetUp failed for volume "pv1" : rpc error: code = Internal desc = no`, []string{"Stage h1", "Publish h1 = Internal"}},
		{"MNT-241", "no driver", nil, func(w *fixture) { w.node.Unregister(driverName) },
			`MountVolume.MountDevice failed for volume "pv1" : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name d not found in the list of registered CSI drivers`, nil},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			w := newFixture(t, func(s *setup) { s.volume = tc.volume })
			w.pod("p1")
			w.Advance(11 * time.Second)
			w.attach(handle)
			if tc.change != nil {
				tc.change(w)
			}
			w.Mark()
			w.Advance(200 * time.Millisecond)
			events := w.events()
			if len(events) != 1 || !strings.HasPrefix(events[0], "FailedMount default/p1: "+tc.event) {
				t.Errorf("%s, MNT-390: events = %q, want %q", tc.rule, events, tc.event)
			}
			want(t, tc.rule+": calls", w.calls(), tc.calls)
		})
	}
}

// MNT-193: a hostPath takes no mount options; MNT-192 and MNT-190 are about plugins that cannot be found or made.
func TestMountOptionsNotSupported(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.backends = []storage.Backend{fake.HostPath()} })
	w.setVolume("pv1", func(pv *corev1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/x"}}
		pv.Spec.MountOptions = []string{"ro"}
	})
	w.pod("p1")
	w.Advance(300 * time.Millisecond)
	want(t, "MNT-193", w.events(),
		[]string{`FailedMount default/p1: MountVolume.MountOptionSupport check failed for volume "pv1" : mount options are not supported for this volume type`})
	k := w.node.kubelet
	if err := k.operations.checkMounter(&volumes.Spec{Plugin: objects.Plugin{Name: objects.CSIPluginName}}); err == nil {
		t.Errorf("MNT-192: a mounter for no driver was made")
	}
	_, err := k.populator.withPlugin(&corev1.Pod{}, resolved{spec: &volumes.Spec{VolumeSpec: objects.VolumeSpec{PV: &corev1.PersistentVolume{}}}})
	if err == nil {
		t.Errorf("MNT-190: a plugin for no source was found")
	}
}

// MNT-220, MNT-919: the reason why a map operation cannot start is reported in every pass, under another Event reason.
func TestMapBeforeTheStart(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		volume     []fake.Option
		change     func(*fixture)
		why        string
	}{
		{"MNT-220", "the volume is for another node", []fake.Option{fake.FromNodes("n2")}, nil, "no matching NodeSelectorTerms"},
		{"MNT-220", "the Node is gone", nil, func(w *fixture) {
			_, err := w.Store().Nodes.Delete(nodeName, api.DeleteOptions{})
			w.OK(err)
		}, `error retrieving node: node "n1" not found`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t, func(s *setup) { s.volume = append([]fake.Option{fake.Block()}, tc.volume...) })
			w.pod("p1", fake.BlockClaims("c1"))
			w.Advance(11 * time.Second)
			w.attach(handle)
			if tc.change != nil {
				tc.change(w)
			}
			w.Mark()
			w.Advance(time.Second)
			events := w.events()
			if len(events) < 9 || events[0] != `FailedMount default/p1: MapVolume.NodeAffinity check failed for volume "pv1" : `+tc.why {
				t.Errorf("%s, MNT-919: %d events in a second, the first %q", tc.rule, len(events), events[0])
			}
			want(t, tc.rule+": calls", w.calls(), nil)
		})
	}
}

// MNT-226, MNT-227, MNT-918: a map that fails after the storage gave out the device is uncertain, though the error is final.
func TestMapFailsAfterPublish(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.volume = []fake.Option{fake.Block()} })
	pod := w.pod("p1", fake.BlockClaims("c1"))
	link := w.node.kubelet.layout.PodDevice(pod.UID, objects.CSIPluginName, "pv1")
	w.node.disk.Break(link, errors.New("read-only file system"))
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Mark()
	w.Advance(200 * time.Millisecond)
	want(t, "MNT-918: state", w.state(pod.UID), "VolumeMountUncertain DeviceGloballyMounted")
	if events := w.events(); len(events) != 1 || !strings.HasPrefix(events[0],
		`FailedMapVolume default/p1: MapVolume.MapBlockVolume failed for volume "pv1"`) {
		t.Errorf("MNT-227, MNT-391: events = %q", events)
	}
	w.node.disk.Break(link, nil)
	w.Advance(2 * time.Second)
	want(t, "MNT-230: phase", w.phase("p1"), corev1.PodRunning)
	w.failing(storage.Unpublish, storage.Internal).Once()
	w.deletePod("p1")
	w.Advance(100 * time.Millisecond)
	want(t, "MNT-270: uncertain first", w.state(pod.UID), "VolumeMountUncertain DeviceGloballyMounted")
	w.Advance(2 * time.Second)
	want(t, "MNT-387: pod", w.phase("p1"), "gone")
}

// Failures of a map operation have their own Event reasons (MNT-222, MNT-223, MNT-225).
func TestMapSteps(t *testing.T) {
	for _, tc := range []struct {
		rule   string
		change func(w *fixture)
		event  string
		state  string
	}{
		{"MNT-222", func(w *fixture) { w.attachment(handle, func(*storagev1.VolumeAttachment) {}) }, "MapVolume.WaitForAttach failed",
			"VolumeNotMounted DeviceNotMounted"},
		{"MNT-223", func(w *fixture) { w.failing(storage.Stage, storage.DeadlineExceeded) }, "MapVolume.SetUpDevice failed",
			"VolumeNotMounted DeviceMountUncertain"},
		{"MNT-225", func(w *fixture) { w.failing(storage.Publish, storage.Internal) }, "MapVolume.MapPodDevice failed",
			"VolumeNotMounted DeviceGloballyMounted"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			w := newFixture(t, func(s *setup) { s.volume = []fake.Option{fake.Block()} })
			pod := w.pod("p1", fake.BlockClaims("c1"))
			w.Advance(11 * time.Second)
			w.attach(handle)
			tc.change(w)
			w.Mark()
			w.Advance(200 * time.Millisecond)
			if events := w.events(); len(events) != 1 || !strings.HasPrefix(events[0], "FailedMapVolume default/p1: "+tc.event) {
				t.Errorf("%s: events = %q, want %q", tc.rule, events, tc.event)
			}
			want(t, tc.rule+": state", w.state(pod.UID), tc.state)
		})
	}
}

// MNT-261, MNT-915: what a subPath still holds keeps the volume mounted, and it stays Mounted.
func TestSubpathCleanup(t *testing.T) {
	w := newFixture(t)
	pod := fake.Pod("p1", fake.OnNode(nodeName))
	addClaim(pod, "data", "c1")
	pod.Spec.Containers[0].VolumeMounts[0].SubPath = "part"
	w.Create(pod)
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(time.Second)
	uid := w.stored("p1").UID
	part := w.node.kubelet.layout.Subpath(uid, "pv1", "main", 0)
	want(t, "MNT-037: mounted", w.node.disk.Mounted(part), true)
	w.node.disk.Break(part, errors.New("device or resource busy"))
	w.Mark()
	w.deletePod("p1")
	w.Advance(2 * time.Second)
	want(t, "MNT-261: calls", w.calls(), nil)
	want(t, "MNT-915: state", w.state(uid), "VolumeMounted DeviceGloballyMounted")
	w.node.disk.Break(part, nil)
	w.Advance(4 * time.Second)
	want(t, "MNT-261: calls", w.calls(), []string{"Unpublish h1", "Unstage h1"})
	want(t, "MNT-261: subPath", w.node.disk.Exists(part), false)
	want(t, "MNT-261: subPaths", w.node.disk.Exists(w.node.kubelet.layout.Subpaths(uid)), false)
}

// MNT-260, MNT-140, MNT-921: an unmount that cannot start is silent and without backoff, and the pod stays.
func TestUnmountCannotStart(t *testing.T) {
	w := newFixture(t)
	pod := w.run("p1")
	data := w.node.kubelet.layout.PodVolume(pod.UID, objects.CSIPluginName, "pv1") + "/" + disk.MetadataFile
	kept, _ := w.node.disk.ReadMetadata(data)
	w.OK(w.node.disk.Remove(data))
	w.deletePod("p1")
	w.Advance(time.Minute)
	want(t, "MNT-921: pod", w.phase("p1"), corev1.PodSucceeded)
	want(t, "MNT-260: state", w.state(pod.UID), "VolumeMounted DeviceGloballyMounted")
	want(t, "MNT-398: events", w.events(), nil)
	want(t, "MNT-140: operations", w.node.kubelet.operations.pending.Len(), 0)
	w.OK(w.node.disk.WriteMetadata(data, kept))
	w.Advance(time.Second)
	want(t, "MNT-260: calls", w.calls(), []string{"Unpublish h1", "Unstage h1"})
}

// MNT-281: another mount of the device keeps the device mounted.
func TestDeviceStillReferenced(t *testing.T) {
	w := newFixture(t)
	pod := w.run("p1")
	other := disk.Mount{Path: "/mnt/backup", Source: w.node.kubelet.layout.CSIGlobalMount(driverName, handle)}
	w.OK(w.node.disk.Mount(other))
	w.OK(w.node.disk.Mount(disk.Mount{Path: w.node.kubelet.layout.Root + "/plugins/kubernetes.io/csi/x", Source: other.Source}))
	want(t, "MNT-281: references", w.node.kubelet.operations.otherRefs(other.Source), []string{
		"/mnt/backup", w.node.kubelet.layout.CSIMount(pod.UID, "pv1")})
	w.deletePod("p1")
	w.Advance(2 * time.Second)
	want(t, "MNT-281: calls", w.calls(), []string{"Unpublish h1"})
	want(t, "MNT-281: state", w.state(pod.UID), "VolumeNotMounted DeviceGloballyMounted")
	w.OK(w.node.disk.Unmount(other.Path))
	w.Advance(10 * time.Second)
	want(t, "MNT-281: calls", w.calls(), []string{"Unpublish h1", "Unstage h1"})
}

// MNT-280, MNT-282, MNT-916: after a failed unmount of the device a new pod stages it again.
func TestUnstageFails(t *testing.T) {
	w := newFixture(t)
	pod := w.run("p1")
	w.failing(storage.Unstage, storage.Internal).Once()
	w.deletePod("p1")
	w.Advance(300 * time.Millisecond)
	want(t, "MNT-282: state", w.state(pod.UID), "VolumeNotMounted DeviceMountUncertain")
	w.pod("p2")
	w.Advance(time.Second)
	want(t, "MNT-916: calls", w.calls(), []string{"Unpublish h1", "Unstage h1 = Internal", "Stage h1", "Publish h1"})
}

// MNT-283, MNT-288: a device that is still open makes its unmount uncertain.
func TestDeviceOpened(t *testing.T) {
	w := newFixture(t)
	k := w.node.kubelet
	w.OK(w.node.disk.Mount(disk.Mount{Path: "/dev/x", Block: true}))
	w.node.disk.Lock("/dev/x", true)
	if err := k.operations.checkOpened("/dev/x"); err == nil {
		t.Errorf("MNT-283: an open device passes")
	}
	w.node.disk.Lock("/dev/x", false)
	if err := k.operations.checkOpened("/dev/x"); err != nil {
		t.Errorf("MNT-284: checkOpened = %v", err)
	}
	w.node.disk.Break("/dev/x", errors.New("bad disk"))
	if err := k.operations.checkOpened("/dev/x"); err == nil {
		t.Errorf("MNT-288: what cannot be found out passes")
	}
}

// MNT-006: a call that takes longer than two minutes ends then, without effect.
func TestCallBudget(t *testing.T) {
	w := newFixture(t)
	w.Faults.Slow(fake.Match{Target: driverName, Verb: "Stage"}, 3*time.Minute).Once()
	w.pod("p1")
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Mark()
	w.Advance(4 * time.Minute)
	want(t, "MNT-006", w.timed()[:2], []string{"2m0.1s Stage h1 = DeadlineExceeded", "2m0.7s Stage h1"})
}

// MNT-006: the requests that a method of the plugin makes before its call take part of the two minutes. The first read of the VolumeAttachment
// comes before the method.
func TestCallBudgetWithRequests(t *testing.T) {
	const unknown = `FailedMount default/p1: MountVolume.MountDevice failed for volume "pv1" : kubernetes.io/csi: attacher.MountDevice failed to ` +
		`determine if the node service has VOLUME_MOUNT_GROUP capability: rpc error: code = DeadlineExceeded desc = context deadline exceeded`
	for _, tt := range []struct {
		rule, name string
		read       time.Duration
		calls      []string
		event      string
	}{
		{"MNT-006", "half a minute", 30 * time.Second, []string{"2m30.1s Stage h1 = DeadlineExceeded", "2m30.7s Stage h1"}, ""},
		{"MNT-006", "all of them", 2 * time.Minute, []string{"4m0.7s Stage h1", "4m0.7s Publish h1"}, unknown},
	} {
		w := newFixture(t)
		w.Faults.Slow(fake.Match{Verb: "get", Kind: "VolumeAttachment"}, tt.read).Times(2)
		if tt.event == "" {
			w.Faults.Slow(fake.Match{Target: driverName, Verb: "Stage"}, 3*time.Minute).Once()
		}
		w.pod("p1")
		w.Advance(11 * time.Second)
		w.attach(handle)
		w.Mark()
		w.Advance(5 * time.Minute)
		want(t, tt.rule+" "+tt.name, w.timed()[:2], tt.calls)
		if tt.event != "" && !slices.Contains(w.events(), tt.event) {
			t.Errorf("%s %s: events %q, want %q", tt.rule, tt.name, w.events(), tt.event)
		}
	}
}

// MNT-301, MNT-306, MNT-920: a driver without staging goes through the states, and its directory stays.
func TestWithoutStaging(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.driver = []fake.MemoryOption{fake.Without(storage.Stage)} })
	pod := w.run("p1")
	want(t, "MNT-920: state", w.state(pod.UID), "VolumeMounted DeviceGloballyMounted")
	w.deletePod("p1")
	w.Advance(2 * time.Second)
	want(t, "MNT-306: calls", w.calls(), []string{"Unpublish h1"})
	want(t, "MNT-920: directory", w.node.disk.Exists(w.node.kubelet.layout.CSIGlobalMount(driverName, handle)), true)
	want(t, "MNT-135: state", w.state(pod.UID), "-")
}

// MNT-302: the request to the driver, and the files beside the mount; MNT-305: what remains afterwards.
func TestPublishFiles(t *testing.T) {
	w := newFixture(t)
	pod := w.run("p1")
	l, fs := w.node.kubelet.layout, w.node.disk
	data, err := fs.ReadMetadata(l.PodVolume(pod.UID, objects.CSIPluginName, "pv1") + "/" + disk.MetadataFile)
	w.OK(err)
	want(t, "MNT-302: metadata", data, disk.Metadata{SpecName: "pv1", Driver: driverName, Handle: handle})
	v, _ := w.driver.Volume(handle)
	want(t, "MNT-030: target", v.Published[0].Path, l.CSIMount(pod.UID, "pv1"))
	want(t, "MNT-301: staging", v.Staged[0].Path, l.CSIGlobalMount(driverName, handle))
	w.deletePod("p1")
	w.Advance(2 * time.Second)
	want(t, "MNT-305: directory", fs.Exists(l.PodVolume(pod.UID, objects.CSIPluginName, "pv1")), false)
	want(t, "MNT-306: directory", fs.Exists(l.CSIGlobalMount(driverName, handle)), false)
}

// MNT-302, MNT-303: volumes in the pod itself need a CSIDriver that says so.
func TestInlineVolume(t *testing.T) {
	for _, tc := range []struct {
		rule  string
		modes []storagev1.VolumeLifecycleMode
		calls int
	}{
		{"MNT-303", []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral}, 1},
		{"MNT-302", nil, 0},
	} {
		w := newFixture(t, func(s *setup) {
			yes := true
			s.object = func(d *storagev1.CSIDriver) { d.Spec.VolumeLifecycleModes, d.Spec.PodInfoOnMount = tc.modes, &yes }
		})
		pod := fake.Pod("p1", fake.OnNode(nodeName))
		pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: driverName}}}}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/x"}}
		w.Create(pod)
		w.Advance(500 * time.Millisecond)
		uid := w.stored("p1").UID
		want(t, tc.rule+": calls", len(w.calls()), tc.calls)
		if tc.calls > 0 {
			want(t, tc.rule+": call", w.calls()[0], "Publish "+objects.InlineHandle(uid, "scratch"))
		}
	}
}

// MNT-035, MNT-036, MNT-481: plugins of the kubelet itself.
func TestTreePlugins(t *testing.T) {
	w := newFixture(t, func(s *setup) { s.backends = []storage.Backend{fake.NFS(), fake.HostPath()} })
	w.setVolume("pv1", func(pv *corev1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/x"}}
	})
	w.bound("pv2", "", "c2", fake.HostPathSource("/tmp/y"))
	w.bound("pv3", "", "c3", fake.LocalSource("/mnt/z", nodeName))
	pod := w.pod("p1", fake.Claims("c1", "c2", "c3"))
	w.Advance(time.Second)
	want(t, "phase", w.phase("p1"), corev1.PodRunning)
	want(t, "MNT-036: calls", w.calls(), []string{"Publish pv2", "Publish pv1"})
	l, fs := w.node.kubelet.layout, w.node.disk
	want(t, "MNT-032: NFS", fs.Mounted(l.PodVolume(pod.UID, "kubernetes.io/nfs", "pv1")), true)
	want(t, "MNT-036: hostPath", fs.Exists(l.PodVolume(pod.UID, "kubernetes.io/host-path", "pv2")), false)
	want(t, "MNT-035: local", fs.Mounted(l.PodVolume(pod.UID, plugin.LocalPluginName, "pv3")), true)
	want(t, "MNT-035: no device", fs.Mounted(l.GlobalMount(plugin.LocalPluginName, "pv3")), false)
	want(t, "MNT-170: in use", len(w.inUse()), 0)
	w.deletePod("p1")
	w.Advance(5 * time.Second)
	want(t, "mounts", fs.Mounts(), nil)
	want(t, "MNT-480: directory", fs.Exists(l.Pod(pod.UID)), false)
}

// MNT-034: a local volume with a file system type is a device.
func TestLocalDevice(t *testing.T) {
	w := newFixture(t)
	fsType := "ext4"
	w.setVolume("pv1", func(pv *corev1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/dev/sdb", FSType: &fsType}}
	})
	group := int64(7)
	for _, name := range []string{"p1", "p2"} {
		pod := fake.Pod(name, fake.OnNode(nodeName))
		addClaim(pod, "data", "c1")
		g := group
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &g}
		group++
		w.Create(pod)
		w.Advance(time.Second)
	}
	global := w.node.kubelet.layout.GlobalMount(plugin.LocalPluginName, "pv1")
	want(t, "MNT-034: device", w.node.disk.Mounted(global), true)
	want(t, "MNT-332, MNT-397: events", len(w.events()), 1)
	if !strings.HasPrefix(w.events()[0], "AlreadyMountedVolume default/p2") {
		t.Errorf("MNT-332: events = %q", w.events())
	}
	w.deletePod("p1")
	w.deletePod("p2")
	w.Advance(time.Second)
	want(t, "MNT-034: gone", w.node.disk.Exists(global), false)
}

// MNT-304, MNT-330, MNT-331: the group of a CSI volume's files.
func TestGroupOfFiles(t *testing.T) {
	w := newFixture(t)
	w.setVolume("pv1", func(pv *corev1.PersistentVolume) { pv.Spec.CSI.FSType = "ext4" })
	pod := fake.Pod("p1", fake.OnNode(nodeName))
	addClaim(pod, "data", "c1")
	group := int64(7)
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group}
	w.Create(pod)
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(time.Second)
	for _, m := range w.node.disk.Mounts() {
		if m.Pod != "" {
			want(t, "MNT-304: group", m.Group, group)
		}
	}
}
