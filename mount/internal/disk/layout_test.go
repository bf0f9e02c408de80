package disk

import (
	"path"
	"testing"

	"github.com/volsim/volsim/internal/core/objects"
)

func TestParent(t *testing.T) {
	for _, name := range []string{"/", "/a", "/a/b", "/a/b/c.json", "/a/b/", "/a//b", "/a/./b", "/a/../b", "/a/b..c/d", "/a/.b/c", "a", "", "a/b", "//a"} {
		want(t, "MNT-030: parent of "+name, Parent(name), path.Dir(name))
	}
}

func TestPaths(t *testing.T) {
	l := Layout{Root: "/var/lib/kubelet"}
	for _, tc := range []struct{ rule, what, got, want string }{
		{"MNT-026", "escaped", EscapePlugin("kubernetes.io/csi"), "kubernetes.io~csi"},
		{"MNT-026", "unescaped", UnescapePlugin("kubernetes.io~csi"), "kubernetes.io/csi"},
		{"MNT-030", "global", l.CSIGlobalMount("d", "h1"),
			"/var/lib/kubelet/plugins/kubernetes.io/csi/d/33112ee14ee469c3eb52fe90322ec81dd404a0093d565a6d71ce77cbc8124e3b/globalmount"},
		{"MNT-030", "pod", l.CSIMount("u", "pv1"), "/var/lib/kubelet/pods/u/volumes/kubernetes.io~csi/pv1/mount"},
		{"MNT-031", "map", l.CSIMap("pv1"), "/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/pv1/dev"},
		{"MNT-031", "data", l.CSIDeviceData("pv1"), "/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/pv1/data"},
		{"MNT-031", "staging", l.CSIStaging("pv1"), "/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/staging/pv1"},
		{"MNT-031", "publish", l.CSIPublish("pv1", "u"), "/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/publish/pv1/u"},
		{"MNT-031", "link", l.PodDevice("u", objects.CSIPluginName, "pv1"), "/var/lib/kubelet/pods/u/volumeDevices/kubernetes.io~csi/pv1"},
		{"MNT-032", "device", l.GlobalMount("kubernetes.io/disk", "x"), "/var/lib/kubelet/plugins/kubernetes.io/disk/mounts/x"},
		{"MNT-032", "pod", l.PodVolume("u", "kubernetes.io/disk", "pv1"), "/var/lib/kubelet/pods/u/volumes/kubernetes.io~disk/pv1"},
		{"MNT-033", "map", l.GlobalMap("kubernetes.io/disk", "x"), "/var/lib/kubelet/plugins/kubernetes.io/disk/volumeDevices/x"},
		{"MNT-033", "link", l.PodDevice("u", "kubernetes.io/disk", "pv1"), "/var/lib/kubelet/pods/u/volumeDevices/kubernetes.io~disk/pv1"},
		{"MNT-034", "device", l.GlobalMount("kubernetes.io/local-volume", "pv1"),
			"/var/lib/kubelet/plugins/kubernetes.io/local-volume/mounts/pv1"},
		{"MNT-037", "subpath", l.Subpath("u", "pv1", "main", 2), "/var/lib/kubelet/pods/u/volume-subpaths/pv1/main/2"},
	} {
		want(t, tc.rule+": "+tc.what, tc.got, tc.want)
	}
}
