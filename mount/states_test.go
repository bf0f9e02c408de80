package mount

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
)

func podNamed(uid types.UID) *corev1.Pod { return fake.Pod(string(uid), fake.UID(uid)) }

func specNamed(outer string) *volumeSpec {
	return &volumeSpec{VolumeSpec: objects.VolumeSpec{PV: fake.Volume("pv1", "1Gi", fake.Annotations(gidAnnotation, "9"))}, outer: outer}
}

func TestDesiredState(t *testing.T) {
	d := newDesiredState()
	id := identity{"v", true, true}
	// MNT-045: labels are all empty, so that to be desired is all that counts.
	want(t, "MNT-040: new", d.add(id, podNamed("a"), specNamed("data")), true)
	v, _ := d.get("v")
	want(t, "MNT-040: record", []any{v.attachable, v.deviceMountable, v.gid, v.reported, v.size}, []any{true, true, "9", false, int64(1 << 30)})
	newest := podNamed("a")
	want(t, "MNT-041: again", d.add(identity{"v", false, false}, newest, specNamed("again")), false)
	dp, _ := v.pods.Get("a")
	want(t, "MNT-041: fixed", v.attachable, true)
	if dp.pod != newest {
		t.Errorf("MNT-041: the pod of the record is not the newest")
	}
	d.add(id, newest, specNamed("data"))
	want(t, "MNT-042: names", dp.outers, []string{"data", "again"})
	d.add(id, podNamed("b"), specNamed("data"))
	want(t, "MNT-046: both", v.pods.Len(), 2)

	want(t, "MNT-044: reported", d.markReported([]corev1.UniqueVolumeName{"v", "unknown"}), true)
	want(t, "MNT-044: flag", v.reported, true)
	want(t, "MNT-910: no longer", d.markReported(nil), true)
	want(t, "MNT-910: flag", v.reported, false)

	d.addError("a", "x")
	d.remove("other", "a")
	want(t, "MNT-043: errors", d.takeErrors("a"), nil)
	d.remove("v", "a")
	want(t, "MNT-043: others stay", d.has("v", "b"), true)
	d.remove("v", "b")
	_, ok := d.get("v")
	want(t, "MNT-043: the last one", ok, false)
}

func TestPodErrors(t *testing.T) {
	d := newDesiredState()
	for i := range 20 {
		d.addError("a", fmt.Sprintf("error %02d", i))
		d.addError("a", fmt.Sprintf("error %02d", i))
	}
	errs := d.takeErrors("a")
	want(t, "MNT-007: how many", len(errs), 11)
	want(t, "MNT-350: sorted", errs[0], "error 00")
	want(t, "MNT-350: taken", d.takeErrors("a"), nil)
}

func TestActualState(t *testing.T) {
	a, spec := newActualState(), specNamed("data")
	a.setPod("v", "p", spec, volumeMounted)
	want(t, "MNT-105: without a volume", a.possibly("v", "p"), false)
	v := a.markAttached("v", spec, attachableYes, "/dev/x")
	want(t, "MNT-100: record", []any{v.attachable, v.device, v.devicePath}, []any{attachableYes, deviceNotMounted, "/dev/x"})
	a.markAttached("v", specNamed("other"), attachableNo, "/dev/y")
	want(t, "MNT-103: only the path", []any{v.attachable, v.devicePath, v.spec == spec}, []any{attachableYes, "/dev/y", true})
	v.setDevice(deviceMounted, "", "/global")
	want(t, "MNT-101: device", v.device, deviceMounted)
	v.setDevice(deviceNotMounted, "", "")
	want(t, "MNT-104: the device path is kept", []string{v.devicePath, v.mountPath}, []string{"/dev/y", ""})

	a.reconstructed["v"] = map[types.UID]bool{"p": true}
	a.setPod("v", "p", spec, volumeUncertain)
	want(t, "MNT-102: uncertain", []bool{a.mounted("v", "p"), a.possibly("v", "p")}, []bool{false, true})
	want(t, "MNT-109: of the pod", []int{len(a.mountedOf("p", false)), len(a.mountedOf("p", true))}, []int{0, 1})
	want(t, "MNT-106: reconstructed", []bool{a.podReconstructed("v", "p"), a.deviceReconstructed("v")}, []bool{true, true})
	fresh := specNamed("fresh")
	a.setPod("v", "p", fresh, volumeMounted)
	ap, _ := a.pod("v", "p")
	want(t, "MNT-105: replaced", ap.spec == fresh, true)
	want(t, "MNT-929: the mark of the device stays", []bool{a.podReconstructed("v", "p"), a.deviceReconstructed("v")}, []bool{false, true})
	ap.remount = true
	a.setPod("v", "p", spec, volumeMounted)
	want(t, "MNT-105: kept, and not to be remounted", []bool{ap.spec == fresh, ap.remount}, []bool{true, false})
	want(t, "MNT-107: refused", a.remove("v"), false)
	a.removePod("v", "p")
	want(t, "MNT-107: gone", a.remove("v"), true)
	want(t, "MNT-107: again", a.remove("v"), true)
	want(t, "MNT-106: forgotten", a.deviceReconstructed("v"), false)
}

func TestQuery(t *testing.T) {
	for _, tc := range []struct {
		rule    string
		volume  bool
		state   podState
		remount bool
		want    answer
	}{
		{"MNT-108", false, volumeNotMounted, false, notAttached},
		{"MNT-108", true, volumeUncertain, true, notMounted},
		{"MNT-108", true, volumeMounted, true, remountRequired},
		{"MNT-108", true, volumeMounted, false, allDone},
		{"MNT-108", true, volumeNotMounted, false, notMounted},
	} {
		a := newActualState()
		if tc.volume {
			a.markAttached("v", specNamed("data"), attachableYes, "")
		}
		if tc.state != volumeNotMounted {
			a.setPod("v", "p", specNamed("data"), tc.state)
			ap, _ := a.pod("v", "p")
			ap.remount = tc.remount
		}
		if got := a.query("v", "p"); got != tc.want {
			t.Errorf("%s: query(%+v) = %v, want %v", tc.rule, tc, got, tc.want)
		}
	}
}
