package volumes

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
)

func podNamed(uid types.UID) *corev1.Pod { return fake.Pod(string(uid), fake.UID(uid)) }

func specNamed(outer string) *Spec {
	return &Spec{VolumeSpec: objects.VolumeSpec{PV: fake.Volume("pv1", "1Gi", fake.Annotations(GIDAnnotation, "9"))}, PodName: outer}
}

func TestDesiredState(t *testing.T) {
	d := NewDesired()
	id := Identity{"v", true, true}
	// MNT-045: labels are all empty, so only Desired counts.
	want(t, "MNT-040: new", d.AddPodVolume(id, podNamed("a"), specNamed("data")), true)
	v, _ := d.Volume("v")
	want(t, "MNT-040: record", []any{v.Attachable, v.DeviceMountable, v.GID, v.ReportedInUse, v.Size},
		[]any{true, true, "9", false, int64(1 << 30)})
	newest := podNamed("a")
	want(t, "MNT-041: again", d.AddPodVolume(Identity{"v", false, false}, newest, specNamed("again")), false)
	dp, _ := v.Pods.Get("a")
	want(t, "MNT-041: fixed", v.Attachable, true)
	if dp.Pod != newest {
		t.Errorf("MNT-041: the pod of the record is not the newest")
	}
	d.AddPodVolume(id, newest, specNamed("data"))
	want(t, "MNT-042: names", dp.PodNames, []string{"data", "again"})
	d.AddPodVolume(id, podNamed("b"), specNamed("data"))
	want(t, "MNT-046: both", v.Pods.Len(), 2)

	want(t, "MNT-044: reported", d.MarkReportedInUse([]corev1.UniqueVolumeName{"v", "unknown"}), true)
	want(t, "MNT-044: flag", v.ReportedInUse, true)
	want(t, "MNT-910: no longer", d.MarkReportedInUse(nil), true)
	want(t, "MNT-910: flag", v.ReportedInUse, false)

	d.AddPodError("a", "x")
	d.RemovePodVolume("other", "a")
	want(t, "MNT-043: errors", d.TakePodErrors("a"), nil)
	d.RemovePodVolume("v", "a")
	want(t, "MNT-043: others stay", d.HasPodVolume("v", "b"), true)
	d.RemovePodVolume("v", "b")
	_, ok := d.Volume("v")
	want(t, "MNT-043: the last one", ok, false)
}

func TestPodErrors(t *testing.T) {
	d := NewDesired()
	for i := range 20 {
		d.AddPodError("a", fmt.Sprintf("error %02d", i))
		d.AddPodError("a", fmt.Sprintf("error %02d", i))
	}
	errs := d.TakePodErrors("a")
	want(t, "MNT-007: how many", len(errs), 11)
	want(t, "MNT-350: sorted", errs[0], "error 00")
	want(t, "MNT-350: taken", d.TakePodErrors("a"), nil)
}

func TestActualState(t *testing.T) {
	a, spec := NewActual(), specNamed("data")
	a.SetPodState("v", "p", spec, Mounted)
	want(t, "MNT-105: without a volume", a.MayBeMounted("v", "p"), false)
	v := a.MarkAttached("v", spec, Attachable, "/dev/x")
	want(t, "MNT-100: record", []any{v.Attachable, v.Device, v.DevicePath}, []any{Attachable, DeviceNotMounted, "/dev/x"})
	a.MarkAttached("v", specNamed("other"), NotAttachable, "/dev/y")
	want(t, "MNT-103: only the path", []any{v.Attachable, v.DevicePath, v.Spec == spec}, []any{Attachable, "/dev/y", true})
	v.SetDevice(DeviceMounted, "", "/global")
	want(t, "MNT-101: device", v.Device, DeviceMounted)
	v.SetDevice(DeviceNotMounted, "", "")
	want(t, "MNT-104: the device path is kept", []string{v.DevicePath, v.DeviceMountPath}, []string{"/dev/y", ""})

	a.Reconstructed["v"] = map[types.UID]bool{"p": true}
	a.SetPodState("v", "p", spec, MountUncertain)
	want(t, "MNT-102: uncertain", []bool{a.IsMounted("v", "p"), a.MayBeMounted("v", "p")}, []bool{false, true})
	want(t, "MNT-109: of the pod", []int{len(a.PodMounts("p", false)), len(a.PodMounts("p", true))}, []int{0, 1})
	want(t, "MNT-106: reconstructed", []bool{a.PodReconstructed("v", "p"), a.DeviceReconstructed("v")}, []bool{true, true})
	fresh := specNamed("fresh")
	a.SetPodState("v", "p", fresh, Mounted)
	ap, _ := a.PodVolume("v", "p")
	want(t, "MNT-105: replaced", ap.Spec == fresh, true)
	want(t, "MNT-929: the mark of the device stays", []bool{a.PodReconstructed("v", "p"), a.DeviceReconstructed("v")}, []bool{false, true})
	ap.NeedsRemount = true
	a.SetPodState("v", "p", spec, Mounted)
	want(t, "MNT-105: kept, and not to be remounted", []bool{ap.Spec == fresh, ap.NeedsRemount}, []bool{true, false})
	want(t, "MNT-107: refused", a.Forget("v"), false)
	a.RemovePodVolume("v", "p")
	want(t, "MNT-107: gone", a.Forget("v"), true)
	want(t, "MNT-107: again", a.Forget("v"), true)
	want(t, "MNT-106: forgotten", a.DeviceReconstructed("v"), false)
}

func TestQuery(t *testing.T) {
	for _, tc := range []struct {
		rule    string
		volume  bool
		state   PodState
		remount bool
		want    Gap
	}{
		{"MNT-108", false, NotMounted, false, GapNotAttached},
		{"MNT-108", true, MountUncertain, true, GapNotMounted},
		{"MNT-108", true, Mounted, true, GapRemount},
		{"MNT-108", true, Mounted, false, NoGap},
		{"MNT-108", true, NotMounted, false, GapNotMounted},
	} {
		a := NewActual()
		if tc.volume {
			a.MarkAttached("v", specNamed("data"), Attachable, "")
		}
		if tc.state != NotMounted {
			a.SetPodState("v", "p", specNamed("data"), tc.state)
			ap, _ := a.PodVolume("v", "p")
			ap.NeedsRemount = tc.remount
		}
		if got := a.Missing("v", "p"); got != tc.want {
			t.Errorf("%s: query(%+v) = %v, want %v", tc.rule, tc, got, tc.want)
		}
	}
}
