package plugin

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

func TestGeneratedNames(t *testing.T) {
	// MNT-038, with the vectors of ATT-003.
	want(t, "MNT-038: attachment", objects.AttachmentName("vol-001", "ebs.csi.example.com", "node-a"),
		"csi-0ce86ccac98be468268972668d5a3713ed54acdbee7c981aeac61dc46d04250e")
	want(t, "MNT-038: inline", len(objects.InlineHandle("u", "scratch")), len("csi-")+64)
	if objects.InlineHandle("u", "a") == objects.InlineHandle("u", "b") {
		t.Errorf("MNT-038: two volumes of a pod have one handle")
	}
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

func TestHostPath(t *testing.T) {
	if err := checkHostPath("/tmp/../etc"); err == nil {
		t.Errorf("MNT-036: a path with .. passes")
	}
}

// driverObject is an API with one CSIDriver object.
type driverObject struct{ object *storagev1.CSIDriver }

func (d driverObject) CSIDriver(string) *storagev1.CSIDriver { return d.object }

func (d driverObject) GetAttachment(*engine.Process, string) (*storagev1.VolumeAttachment, error) {
	return nil, nil
}

func (d driverObject) Secret(*engine.Process, *corev1.SecretReference) (map[string]string, error) {
	return nil, nil
}

func (d driverObject) Files(api.Kind, string, string, ...string) (func(string) (string, bool), bool) {
	return nil, false
}

func (d driverObject) Token(*engine.Process, *corev1.Pod, storagev1.TokenRequest) (string, time.Time, error) {
	return "", time.Time{}, nil
}

func (d driverObject) Event(*engine.Process, api.Object, string, string, string, ...any) {}

func TestPodInfo(t *testing.T) {
	podInfo := true
	object := &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{PodInfoOnMount: &podInfo}}
	c := csiPlugin{&Host{API: driverObject{object}}}
	source := csiSource{driver: "d", mode: storagev1.VolumeLifecycleEphemeral, attributes: map[string]string{"a": "b"}}
	attributes := c.attributes(source, fake.Pod("p1"))
	want(t, "MNT-302: pod info", []string{attributes["csi.storage.k8s.io/pod.name"], attributes["csi.storage.k8s.io/ephemeral"],
		attributes["a"]}, []string{"p1", "true", "b"})
}
