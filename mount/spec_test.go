package mount

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

func specOf(t *testing.T, set *storage.Set, s objects.VolumeSpec) *volumeSpec {
	t.Helper()
	plugin, err := objects.PluginOf(set, s)
	if err != nil {
		t.Fatal(err)
	}
	return &volumeSpec{VolumeSpec: s, plugin: plugin}
}

func inline(name string, source corev1.VolumeSource) objects.VolumeSpec {
	return objects.SpecOfInline(&corev1.Volume{Name: name, VolumeSource: source})
}

func TestIdentity(t *testing.T) {
	set, err := storage.NewSet(fake.CSI("d"), fake.NFS(), fake.HostPath())
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
		want       identity
	}{
		{"MNT-024", "a CSI volume without a CSIDriver", csi, nil, identity{"kubernetes.io/csi/d^h1", true, true}},
		{"MNT-024", "a CSI volume that is attached", csi, required, identity{"kubernetes.io/csi/d^h1", true, true}},
		{"MNT-021", "a CSI volume that is not attached keeps the shared name", csi, notRequired, identity{"kubernetes.io/csi/d^h1", false, true}},
		{"MNT-024", "an inline CSI volume", inline("scratch", corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d"}}), nil,
			identity{"kubernetes.io/csi/u-scratch", false, false}},
		{"MNT-025", "a local volume", local, nil, identity{"kubernetes.io/local-volume/pv1", false, true}},
		{"MNT-025", "a hostPath volume", host, nil, identity{"kubernetes.io/host-path/u-pv1", false, false}},
		{"MNT-022", "an NFS volume", nfs, nil, identity{"kubernetes.io/nfs/u-pv1", false, false}},
		{"MNT-022", "an emptyDir", inline("tmp", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), nil,
			identity{"kubernetes.io/empty-dir/u-tmp", false, false}},
	} {
		if got := identify(specOf(t, set, tc.spec), "u", tc.driver); got != tc.want {
			t.Errorf("%s: identify(%s) = %+v, want %+v", tc.rule, tc.name, got, tc.want)
		}
	}
	want(t, "MNT-023: of a claim", csi.Name(), "pv1")
	want(t, "MNT-023: of a source in the pod", inline("tmp", corev1.VolumeSource{}).Name(), "tmp")
}

func TestRequiresRemount(t *testing.T) {
	set, _ := storage.NewSet(fake.CSI("d"))
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
		if got := requiresRemount(specOf(t, set, tc.spec), tc.driver); got != tc.want {
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
	mounts, devices := usedVolumes(pod)
	want(t, "MNT-065: mounts", mounts, map[string]bool{"a": true, "i": true, "e": true})
	want(t, "MNT-931: devices", devices, map[string]bool{"b": true})
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
		spec := &volumeSpec{VolumeSpec: objects.VolumeSpec{PV: fake.Volume("pv", "1Gi", fake.Modes(tc.modes...))}}
		if spec.accessMode() != tc.mode || spec.forOnePod() != tc.onePod {
			t.Errorf("%s: modes %v: accessMode() = %s, forOnePod() = %v, want %s, %v", tc.rule, tc.modes, spec.accessMode(), spec.forOnePod(), tc.mode, tc.onePod)
		}
	}
	// MNT-303: a source in the pod is for one node.
	want(t, "MNT-303", (&volumeSpec{VolumeSpec: inline("s", corev1.VolumeSource{})}).accessMode(), corev1.ReadWriteOnce)
}

func TestReadOnlyAndGroup(t *testing.T) {
	claim := &corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c", ReadOnly: true}}}
	pv := fake.Volume("pv", "1Gi", fake.Annotations(gidAnnotation, "1234"))
	spec := &volumeSpec{VolumeSpec: objects.SpecOfVolume(claim, pv)}
	want(t, "MNT-073: read only", spec.readOnly(), true)
	want(t, "MNT-073: group", spec.gid(), "1234")
	yes := true
	want(t, "MNT-334: inline", (&volumeSpec{VolumeSpec: inline("s", corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d", ReadOnly: &yes}})}).readOnly(), true)
}

func TestChangesGroup(t *testing.T) {
	rwo, rwx := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	for _, tc := range []struct {
		rule             string
		policy           storagev1.FSGroupPolicy
		fsType           string
		modes            []corev1.PersistentVolumeAccessMode
		inline, readOnly bool
		want             bool
	}{
		{"MNT-331", storagev1.NoneFSGroupPolicy, "ext4", rwo, false, false, false},
		{"MNT-331", storagev1.FileFSGroupPolicy, "", rwx, false, false, true},
		{"MNT-331", storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy, "ext4", rwo, false, false, true},
		{"MNT-331", storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy, "", rwo, false, false, false},
		{"MNT-331", storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy, "ext4", rwx, false, false, false},
		{"MNT-331", storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy, "ext4", nil, true, false, true},
		{"MNT-334", storagev1.FileFSGroupPolicy, "ext4", rwo, false, true, false},
	} {
		if got := changesGroup(tc.policy, tc.fsType, tc.modes, tc.inline, tc.readOnly); got != tc.want {
			t.Errorf("%s: changesGroup(%+v) = %v", tc.rule, tc, got)
		}
	}
	group := int64(7)
	pod := fake.Pod("p")
	want(t, "MNT-330: none", fsGroup(pod), nil)
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group}
	want(t, "MNT-330: some", *fsGroup(pod), 7)
}

func TestSupplementalGroups(t *testing.T) {
	pod := fake.Pod("p")
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{SupplementalGroups: []int64{5}}
	var specs []*volumeSpec
	for _, gid := range []string{"5", "6", "wheel", "6", ""} {
		specs = append(specs, &volumeSpec{VolumeSpec: objects.VolumeSpec{PV: fake.Volume("pv", "1Gi", fake.Annotations(gidAnnotation, gid))}})
	}
	want(t, "MNT-386", supplementalGroups(pod, specs), []int64{6})
}
