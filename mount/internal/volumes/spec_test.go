package volumes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
)

func specOf(t *testing.T, set *backends.Set, s objects.VolumeSpec) *Spec {
	t.Helper()
	plugin, err := objects.PluginOf(set, s)
	if err != nil {
		t.Fatal(err)
	}
	return &Spec{VolumeSpec: s, Plugin: plugin}
}

func inline(name string, source corev1.VolumeSource) objects.VolumeSpec {
	return objects.SpecOfInline(&corev1.Volume{Name: name, VolumeSource: source})
}

func TestIdentity(t *testing.T) {
	set, err := backends.NewSet(fake.CSI("d"), fake.NFS(), fake.HostPath())
	if err != nil {
		t.Fatal(err)
	}
	no, yes := false, true
	notRequired := &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{AttachRequired: &no}}
	required := &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{AttachRequired: &yes}}
	csi := objects.VolumeSpec{PV: fake.Volume("pv1", "1Gi", fake.CSISource("d", "h1"))}
	local := objects.VolumeSpec{PV: fake.Volume("pv1", "1Gi", fake.LocalSource("/mnt/x", "n1"))}
	nfs := objects.VolumeSpec{PV: fake.Volume("pv1", "1Gi", fake.NFSSource("s", "/x"))}
	host := objects.VolumeSpec{PV: fake.Volume("pv1", "1Gi")}
	for _, tc := range []struct {
		rule, name string
		spec       objects.VolumeSpec
		driver     *storagev1.CSIDriver
		want       Identity
	}{
		{"MNT-024", "a CSI volume without a CSIDriver", csi, nil, Identity{"kubernetes.io/csi/d^h1", true, true}},
		{"MNT-024", "a CSI volume that is attached", csi, required, Identity{"kubernetes.io/csi/d^h1", true, true}},
		{"MNT-021", "a CSI volume that is not attached keeps the shared name", csi, notRequired, Identity{"kubernetes.io/csi/d^h1", false, true}},
		{"MNT-024", "an inline CSI volume", inline("scratch", corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d"}}), nil,
			Identity{"kubernetes.io/csi/u-scratch", false, false}},
		{"MNT-025", "a local volume", local, nil, Identity{"kubernetes.io/local-volume/pv1", false, true}},
		{"MNT-025", "a hostPath volume", host, nil, Identity{"kubernetes.io/host-path/u-pv1", false, false}},
		{"MNT-022", "an NFS volume", nfs, nil, Identity{"kubernetes.io/nfs/u-pv1", false, false}},
		{"MNT-022", "an emptyDir", inline("tmp", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), nil,
			Identity{"kubernetes.io/empty-dir/u-tmp", false, false}},
	} {
		if got := Identify(specOf(t, set, tc.spec), "u", tc.driver); got != tc.want {
			t.Errorf("%s: identify(%s) = %+v, want %+v", tc.rule, tc.name, got, tc.want)
		}
	}
	want(t, "MNT-023: of a claim", csi.Name(), "pv1")
	want(t, "MNT-023: of a source in the pod", inline("tmp", corev1.VolumeSource{}).Name(), "tmp")
}

func TestRequiresRemount(t *testing.T) {
	set, _ := backends.NewSet(fake.CSI("d"))
	yes := true
	republish := &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{RequiresRepublish: &yes}}
	csi := objects.VolumeSpec{PV: fake.Volume("pv1", "1Gi", fake.CSISource("d", "h1"))}
	for _, tc := range []struct {
		rule   string
		spec   objects.VolumeSpec
		driver *storagev1.CSIDriver
		want   bool
	}{
		{"MNT-070", inline("s", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}), nil, true},
		{"MNT-070", inline("s", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}), nil, true},
		{"MNT-070", inline("s", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}), nil, true},
		{"MNT-070", inline("s", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{}}), nil, true},
		{"MNT-070", inline("s", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), nil, false},
		{"MNT-070", csi, republish, true},
		{"MNT-070", csi, nil, false},
	} {
		if got := RequiresRemount(specOf(t, set, tc.spec), tc.driver); got != tc.want {
			t.Errorf("%s: requiresRemount(%+v) = %v, want %v", tc.rule, tc.spec, got, tc.want)
		}
	}
}

func TestUsedVolumes(t *testing.T) {
	pod := fake.Pod("p", fake.Claims("a", "unused"), fake.BlockClaims("b"))
	pod.Spec.Containers[0].VolumeMounts = pod.Spec.Containers[0].VolumeMounts[:1]
	pod.Spec.InitContainers = []corev1.Container{{Name: "init", VolumeMounts: []corev1.VolumeMount{{Name: "i"}}}}
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		VolumeMounts: []corev1.VolumeMount{{Name: "e"}}}}}
	pod.Spec.InitContainers[0].VolumeDevices = []corev1.VolumeDevice{{Name: "a"}}
	want(t, "MNT-065, MNT-931: used", UsedBy(pod), []string{"a", "b", "e", "i"})
	for name, of := range map[string]Use{"a": {Mounted: true, Device: true}, "b": {Device: true}, "e": {Mounted: true}, "i": {Mounted: true}, "unused": {}} {
		want(t, "MNT-065, MNT-931: use of "+name, UseOf(pod, name), of)
	}
}

func TestAccessMode(t *testing.T) {
	for _, tc := range []struct {
		rule   string
		modes  []string
		mode   corev1.PersistentVolumeAccessMode
		onePod bool
	}{
		{"MNT-301", nil, corev1.ReadWriteOnce, false},
		{"MNT-309", []string{"RWX", "RWO"}, corev1.ReadWriteMany, false},
		{"MNT-194", []string{"RWOP"}, corev1.ReadWriteOncePod, true},
		{"MNT-922", []string{"RWOP", "RWO"}, corev1.ReadWriteOncePod, false},
	} {
		spec := &Spec{VolumeSpec: objects.VolumeSpec{PV: fake.Volume("pv", "1Gi", fake.Modes(tc.modes...))}}
		if spec.AccessMode() != tc.mode || spec.SinglePod() != tc.onePod {
			t.Errorf("%s: modes %v: accessMode() = %s, forOnePod() = %v, want %s, %v", tc.rule, tc.modes, spec.AccessMode(), spec.SinglePod(),
				tc.mode, tc.onePod)
		}
	}
	// MNT-303: a source in the pod belongs to one node.
	want(t, "MNT-303", (&Spec{VolumeSpec: inline("s", corev1.VolumeSource{})}).AccessMode(), corev1.ReadWriteOnce)
}

func TestReadOnlyAndGroup(t *testing.T) {
	claim := &corev1.Volume{Name: "data",
		VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c", ReadOnly: true}}}
	pv := fake.Volume("pv", "1Gi", fake.Annotations(GIDAnnotation, "1234"))
	spec := &Spec{VolumeSpec: objects.SpecOfVolume(claim, pv)}
	want(t, "MNT-073: read only", spec.MountsReadOnly(), true)
	want(t, "MNT-073: group", spec.GID(), "1234")
	yes := true
	want(t, "MNT-334: inline", (&Spec{VolumeSpec: inline("s",
		corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d", ReadOnly: &yes}})}).MountsReadOnly(), true)
}
