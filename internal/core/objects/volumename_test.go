package objects_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
)

func TestAttachmentName(t *testing.T) {
	tests := []struct{ rule, handle, driver, node, want string }{
		{"ATT-003", "vol-001", "ebs.csi.example.com", "node-a", "csi-0ce86ccac98be468268972668d5a3713ed54acdbee7c981aeac61dc46d04250e"},
		{"MNT-038", "pvc-handle-1", "csi.example.com", "worker-1", "csi-e23fc43046b8504b128242dfd2c4a439e83db814480f64a4d62dbd1873ca93d1"},
	}
	for _, tt := range tests {
		if got := objects.AttachmentName(tt.handle, tt.driver, tt.node); got != tt.want {
			t.Errorf("%s: AttachmentName(%s, %s, %s) = %s, want %s", tt.rule, tt.handle, tt.driver, tt.node, got, tt.want)
		}
	}
}

// disk is an in-tree plugin that attaches.
type disk struct{ *fake.Memory }

func (disk) Supports(source *corev1.PersistentVolumeSource) bool {
	return source != nil && source.FC != nil
}

func TestPluginOf(t *testing.T) {
	set, err := backends.NewSet(fake.CSI("d"), fake.NFS(), disk{fake.CSI("kubernetes.io/fc")}, fake.HostPath())
	if err != nil {
		t.Fatal(err)
	}
	pv := func(opts ...fake.Option) objects.VolumeSpec {
		return objects.VolumeSpec{PV: fake.Volume("pv", "1Gi", opts...)}
	}
	inline := func(source corev1.VolumeSource) objects.VolumeSpec {
		return objects.SpecOfInline(&corev1.Volume{Name: "vol", VolumeSource: source})
	}
	fc := fake.Volume("pv", "1Gi")
	fc.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{FC: &corev1.FCVolumeSource{}}
	rbd := fake.Volume("pv", "1Gi")
	rbd.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{RBD: &corev1.RBDPersistentVolumeSource{}}
	yes, no := true, false
	tests := []struct {
		rule, name      string
		spec            objects.VolumeSpec
		driver          *storagev1.CSIDriver
		plugin          string // "" is an error
		attachable      bool
		deviceMountable bool
		unique          string // of what pods share, or of the pod alone
	}{
		{"ATT-010", "CSI, no CSIDriver", pv(fake.CSISource("d", "h")), nil, "kubernetes.io/csi", true, true, "kubernetes.io/csi/d^h"},
		{"ATT-010", "CSI, CSIDriver without a word", pv(fake.CSISource("d", "h")), &storagev1.CSIDriver{}, "kubernetes.io/csi", true, true,
			"kubernetes.io/csi/d^h"},
		{"MNT-024", "CSI, attach required", pv(fake.CSISource("d", "h")),
			&storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{AttachRequired: &yes}}, "kubernetes.io/csi", true, true, "kubernetes.io/csi/d^h"},
		{"MNT-024", "CSI, not required", pv(fake.CSISource("d", "h")),
			&storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{AttachRequired: &no}}, "kubernetes.io/csi", false, true, "kubernetes.io/csi/d^h"},
		{"ATT-001", "CSI, a driver that is not there", pv(fake.CSISource("other", "h")), nil, "kubernetes.io/csi", true, true,
			"kubernetes.io/csi/other^h"},
		{"ATT-010", "CSI in the pod", inline(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d"}}), nil, "kubernetes.io/csi",
			false, false, "kubernetes.io/csi/uid-vol"},
		{"ATT-010", "emptyDir", inline(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), nil, "kubernetes.io/empty-dir",
			false, false, "kubernetes.io/empty-dir/uid-vol"},
		{"MNT-022", "configMap", inline(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}), nil, "kubernetes.io/configmap",
			false, false, "kubernetes.io/configmap/uid-vol"},
		{"MNT-022", "secret", inline(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}), nil, "kubernetes.io/secret", false, false,
			"kubernetes.io/secret/uid-vol"},
		{"MNT-022", "projected", inline(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}), nil, "kubernetes.io/projected",
			false, false, "kubernetes.io/projected/uid-vol"},
		{"MNT-022", "downwardAPI", inline(corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{}}), nil,
			"kubernetes.io/downward-api", false, false, "kubernetes.io/downward-api/uid-vol"},
		{"ATT-010", "image", inline(corev1.VolumeSource{Image: &corev1.ImageVolumeSource{}}), nil, "kubernetes.io/image", false, false,
			"kubernetes.io/image/uid-vol"},
		{"MNT-025", "hostPath in the pod", inline(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}), nil,
			"kubernetes.io/host-path", false, false, "kubernetes.io/host-path/uid-vol"},
		{"ATT-010", "NFS", pv(fake.NFSSource("s", "/p")), nil, "kubernetes.io/nfs", false, false, "kubernetes.io/nfs/uid-pv"},
		{"MNT-025", "local", pv(fake.LocalSource("/p", "a")), nil, "kubernetes.io/local-volume", false, true, "kubernetes.io/local-volume/pv"},
		{"ATT-201", "an in-tree plugin that attaches", objects.VolumeSpec{PV: fc}, nil, "kubernetes.io/fc", true, true, "kubernetes.io/fc/pv"},
		{"MNT-020", "no plugin", objects.VolumeSpec{PV: rbd}, nil, "", false, false, ""},
	}
	for _, tt := range tests {
		plugin, err := objects.PluginOf(set, tt.spec)
		if plugin.Name != tt.plugin || (err != nil) != (tt.plugin == "") {
			t.Errorf("%s %s: PluginOf = %q, %v, want %q", tt.rule, tt.name, plugin.Name, err, tt.plugin)
			continue
		}
		if err != nil {
			continue
		}
		if got := plugin.Attachable(tt.spec, tt.driver); got != tt.attachable {
			t.Errorf("%s %s: Attachable = %v, want %v", tt.rule, tt.name, got, tt.attachable)
		}
		if got := plugin.DeviceMountable(tt.spec); got != tt.deviceMountable {
			t.Errorf("%s %s: DeviceMountable = %v, want %v", tt.rule, tt.name, got, tt.deviceMountable)
		}
		// MNT-021, MNT-022
		unique := objects.UniqueVolumeName(plugin, tt.spec)
		if got := objects.AppendVolumeName([]byte("in "), plugin, tt.spec); string(got) != "in "+string(unique) {
			t.Errorf("%s %s: AppendVolumeName = %s, want in %s", tt.rule, tt.name, got, unique)
		}
		if !tt.attachable && !tt.deviceMountable {
			unique = objects.UniquePodVolumeName(plugin, "uid", tt.spec)
		}
		if string(unique) != tt.unique {
			t.Errorf("%s %s: the unique name is %s, want %s", tt.rule, tt.name, unique, tt.unique)
		}
	}
}

func TestSplitNames(t *testing.T) {
	tests := []struct {
		rule, name     string
		unique         string
		plugin, volume string // "" is an error
		driver, handle string // "" is none
	}{
		{"ATT-107", "CSI", "kubernetes.io/csi/d^h", "kubernetes.io/csi", "d^h", "d", "h"},
		{"ATT-107", "a handle with slashes", "kubernetes.io/csi/d^h/1/2", "kubernetes.io/csi", "d^h/1/2", "d", "h/1/2"},
		{"ATT-143", "a handle with the separator", "kubernetes.io/csi/d^h^1", "kubernetes.io/csi", "d^h^1", "", ""},
		{"ATT-107", "another plugin", "kubernetes.io/fc/x", "kubernetes.io/fc", "x", "", ""},
		{"ATT-107", "too short", "kubernetes.io/csi", "", "", "", ""},
	}
	for _, tt := range tests {
		plugin, volume, err := objects.SplitVolumeName(corev1.UniqueVolumeName(tt.unique))
		if plugin != tt.plugin || volume != tt.volume || (err != nil) != (tt.plugin == "") {
			t.Errorf("%s %s: SplitVolumeName = %q, %q, %v, want %q, %q", tt.rule, tt.name, plugin, volume, err, tt.plugin, tt.volume)
		}
		driver, handle, ok := objects.SplitCSIName(volume)
		if driver != tt.driver || handle != tt.handle || ok != (tt.driver != "") {
			t.Errorf("%s %s: SplitCSIName = %q, %q, %v, want %q, %q", tt.rule, tt.name, driver, handle, ok, tt.driver, tt.handle)
		}
	}
}

func TestMultiAttachAllowed(t *testing.T) {
	tests := []struct {
		rule, modes string
		want        bool
	}{
		{"ATT-069", "RWX", true},
		{"ATT-069", "ROX", true},
		{"ATT-069", "RWO ROX", true},
		{"ATT-069", "RWO", false},
		{"ATT-069", "RWOP", false},
		{"ATT-069", "RWO RWOP", false},
		{"ATT-069", "", true},
	}
	for _, tt := range tests {
		spec := objects.VolumeSpec{PV: fake.Volume("pv", "1Gi", fake.Modes(strings.Fields(tt.modes)...))}
		if got := objects.MultiAttachAllowed(spec); got != tt.want {
			t.Errorf("%s: MultiAttachAllowed(%s) = %v, want %v", tt.rule, tt.modes, got, tt.want)
		}
	}
	if !objects.MultiAttachAllowed(objects.VolumeSpec{}) {
		t.Error("ATT-069: MultiAttachAllowed of nothing known = false, want true")
	}
	for _, tt := range []struct {
		name   string
		source corev1.VolumeSource
		want   bool
	}{
		{"Azure disk", corev1.VolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{}}, false},
		{"Cinder", corev1.VolumeSource{Cinder: &corev1.CinderVolumeSource{}}, false},
		{"FC", corev1.VolumeSource{FC: &corev1.FCVolumeSource{}}, true},
	} {
		if got := objects.MultiAttachAllowed(objects.SpecOfInline(&corev1.Volume{VolumeSource: tt.source})); got != tt.want {
			t.Errorf("ATT-069: MultiAttachAllowed of %s in the pod = %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestVolumeSpec holds MNT-023 and MNT-073.
func TestVolumeSpec(t *testing.T) {
	pv := fake.Volume("pv", "1Gi")
	claimed := &corev1.Volume{Name: "vol", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c", ReadOnly: true}}}
	if got := objects.SpecOfVolume(claimed, pv); got.Name() != "pv" || !got.ReadOnly || !got.Known() {
		t.Errorf("MNT-023, MNT-073: the spec of a claim is %+v with the name %q, want pv, read only", got, got.Name())
	}
	own := &corev1.Volume{Name: "vol", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}
	if got := objects.SpecOfVolume(own, pv); got.ReadOnly {
		t.Error("MNT-073: the spec of a generic ephemeral volume is read only, want not")
	}
	if got := objects.SpecOfInline(own).Name(); got != "vol" {
		t.Errorf("MNT-023: the name of a source in the pod is %q, want vol", got)
	}
	if got := (objects.VolumeSpec{}); got.Known() || got.Name() != "nil" {
		t.Errorf("the spec of nothing is known %v, named %q, want false, nil", got.Known(), got.Name())
	}
}
