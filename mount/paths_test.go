package mount

import (
	"testing"

	"github.com/volsim/volsim/internal/core/objects"
)

func TestPaths(t *testing.T) {
	l := layout{"/var/lib/kubelet"}
	for _, tc := range []struct{ rule, what, got, want string }{
		{"MNT-026", "escaped", escaped("kubernetes.io/csi"), "kubernetes.io~csi"},
		{"MNT-026", "unescaped", unescaped("kubernetes.io~csi"), "kubernetes.io/csi"},
		{"MNT-030", "global", l.csiGlobal("d", "h1"), "/var/lib/kubelet/plugins/kubernetes.io/csi/d/33112ee14ee469c3eb52fe90322ec81dd404a0093d565a6d71ce77cbc8124e3b/globalmount"},
		{"MNT-030", "pod", l.csiMount("u", "pv1"), "/var/lib/kubelet/pods/u/volumes/kubernetes.io~csi/pv1/mount"},
		{"MNT-031", "map", l.csiMap("pv1"), "/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/pv1/dev"},
		{"MNT-031", "data", l.csiDeviceData("pv1"), "/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/pv1/data"},
		{"MNT-031", "staging", l.csiStaging("pv1"), "/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/staging/pv1"},
		{"MNT-031", "publish", l.csiPublish("pv1", "u"), "/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/publish/pv1/u"},
		{"MNT-031", "link", l.podDevice("u", objects.CSIPluginName, "pv1"), "/var/lib/kubelet/pods/u/volumeDevices/kubernetes.io~csi/pv1"},
		{"MNT-032", "device", l.global("kubernetes.io/disk", "x"), "/var/lib/kubelet/plugins/kubernetes.io/disk/mounts/x"},
		{"MNT-032", "pod", l.podVolume("u", "kubernetes.io/disk", "pv1"), "/var/lib/kubelet/pods/u/volumes/kubernetes.io~disk/pv1"},
		{"MNT-033", "map", l.globalMap("kubernetes.io/disk", "x"), "/var/lib/kubelet/plugins/kubernetes.io/disk/volumeDevices/x"},
		{"MNT-033", "link", l.podDevice("u", "kubernetes.io/disk", "pv1"), "/var/lib/kubelet/pods/u/volumeDevices/kubernetes.io~disk/pv1"},
		{"MNT-034", "device", l.global("kubernetes.io/local-volume", "pv1"), "/var/lib/kubelet/plugins/kubernetes.io/local-volume/mounts/pv1"},
		{"MNT-037", "subpath", l.subpath("u", "pv1", "main", 2), "/var/lib/kubelet/pods/u/volume-subpaths/pv1/main/2"},
	} {
		want(t, tc.rule+": "+tc.what, tc.got, tc.want)
	}
}

func TestGeneratedNames(t *testing.T) {
	// MNT-038, with the vectors of ATT-003.
	want(t, "MNT-038: attachment", objects.AttachmentName("vol-001", "ebs.csi.example.com", "node-a"),
		"csi-0ce86ccac98be468268972668d5a3713ed54acdbee7c981aeac61dc46d04250e")
	want(t, "MNT-038: inline", len(inlineHandle("u", "scratch")), len("csi-")+64)
	if inlineHandle("u", "a") == inlineHandle("u", "b") {
		t.Errorf("MNT-038: two volumes of a pod have one handle")
	}
}
