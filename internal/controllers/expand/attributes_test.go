package expand_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/storage"
)

func attributes(name string, pairs ...string) *storagev1.VolumeAttributesClass {
	class := &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: name}, DriverName: driver, Parameters: map[string]string{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		class.Parameters[pairs[i]] = pairs[i+1]
	}
	return class
}

// attributesWorld has two classes, gold and silver.
func attributesWorld(t *testing.T, opts ...fake.MemoryOption) *fixture {
	t.Helper()
	w := newFixture(t, opts...)
	w.must(w.Create(attributes("gold", "iops", "900"), attributes("silver", "iops", "100")))
	w.settle()
	w.mark()
	return w
}

// be has the claim name another class; "" is none.
func (w *fixture) be(class string) {
	w.t.Helper()
	value := `"` + class + `"`
	if class == "" {
		value = "null"
	}
	w.must(w.Patch(fake.Claim("data", "1Gi"), `{"spec":{"volumeAttributesClassName":`+value+`}}`))
}

func (w *fixture) condition(condition corev1.PersistentVolumeClaimConditionType) corev1.PersistentVolumeClaimCondition {
	w.t.Helper()
	for _, c := range w.claim().Status.Conditions {
		if c.Type == condition {
			return c
		}
	}
	w.t.Fatalf("the claim has no condition %s: %s", condition, w.state())
	return corev1.PersistentVolumeClaimCondition{}
}

func (w *fixture) iops() string {
	v, _ := w.disk.Volume(w.pv)
	return v.Modified["iops"]
}

func TestModify(t *testing.T) {
	w := attributesWorld(t)
	w.be("gold")
	w.settle()
	w.want("VAC-001, VAC-007, VAC-010, VAC-011",
		"0s claim 1Gi, InProgress gold, [ModifyingVolume]",
		"0s Normal VolumeModify: external resizer is modifying volume data with vac gold",
		"0s Modify OK",
		"0s volume 1Gi is gold",
		"0s claim 1Gi, is gold",
		"0s Normal VolumeModifySuccessful: external resizer modified volume data with vac gold successfully")
	require.Equal(t, "900", w.iops(), "VAC-010")
	w.be("silver")
	w.settle()
	w.wantState("VAC-011", "1Gi, is silver | 1Gi is silver")
	w.mark()
	w.advance(30 * minute)
	w.want("VAC-003: it has what it wants")
}

func TestModifyWithMetadata(t *testing.T) {
	w := newFixtureWith(t, resizing(options.Resizer{ExtraMetadata: true}))
	w.must(w.Create(attributes("gold", "iops", "900")))
	w.settle()
	w.be("gold")
	w.settle()
	v, _ := w.disk.Volume(w.pv)
	require.Equal(t, map[string]string{"iops": "900", "csi.storage.k8s.io/pvc/name": "data", "csi.storage.k8s.io/pvc/namespace": "default",
		"csi.storage.k8s.io/pv/name": w.pv}, v.Modified, "VAC-010")
}

// A class that does not exist is waited for, but not looked for.
func TestModifyToMissingClass(t *testing.T) {
	w := attributesWorld(t)
	w.be("bronze")
	w.settle()
	w.want("VAC-006", `0s Warning VolumeModifyFailed: VAC "bronze" does not exist.`, "0s claim 1Gi, Pending ")
	w.must(w.Create(attributes("bronze", "iops", "1")))
	w.advance(30 * minute)
	w.want("VAC-001, VAC-006: nothing is synced")
	w.must(w.Crash(actors.Resizer(driver)))
	w.must(w.Restart(actors.Resizer(driver)))
	w.settle()
	w.wantState("VAC-001: every claim is looked at after a restart", "1Gi, is bronze | 1Gi is bronze")
}

func TestModifyInfeasible(t *testing.T) {
	w := attributesWorld(t, fake.Mutable("iops"))
	w.must(w.Create(attributes("odd", "color", "blue")))
	w.settle()
	w.mark()
	w.be("odd")
	w.advance(0)
	w.want("VAC-013",
		"0s claim 1Gi, InProgress odd, [ModifyingVolume]",
		"0s Normal VolumeModify: external resizer is modifying volume data with vac odd",
		"0s Modify InvalidArgument",
		"0s claim 1Gi, Infeasible odd, [ModifyingVolume ModifyVolumeError]",
		"0s Warning VolumeModifyFailed: rpc error: code = InvalidArgument desc = the parameter color of volume pv cannot be changed, only [iops]")
	require.Equal(t, `Modifying volume to "odd" failed. Waiting for retry.`, w.condition("ModifyingVolume").Message, "VAC-013")
	failure := w.condition("ModifyVolumeError")
	require.Equal(t, "InvalidArgument", failure.Reason, "VAC-013")
	require.Equal(t, "the parameter color of volume "+w.pv+" cannot be changed, only [iops]", failure.Message, "VAC-013")
	w.advance(4 * minute)
	w.want("VAC-014: the driver is left alone")
	// VAC-014: the retries go on; the first after five minutes reaches the driver.
	w.advance(5 * minute)
	require.Contains(t, w.log(), "8m31s Modify InvalidArgument", "VAC-014")
	later := w.condition("ModifyVolumeError")
	require.Equal(t, failure.LastTransitionTime, later.LastTransitionTime, "VAC-008: of the same reason")
	require.True(t, later.LastProbeTime.After(failure.LastProbeTime.Time), "VAC-008: probed")
	w.be("gold")
	w.settle()
	w.wantState("VAC-014: another class has its chance at once", "1Gi, is gold | 1Gi is gold")
}

func TestModifyUncertain(t *testing.T) {
	w := attributesWorld(t)
	w.Faults.Fail(fake.Match{Verb: "Modify"}, storage.Errorf(storage.Unavailable, "gone")).Once()
	w.be("gold")
	w.advance(0)
	w.want("VAC-012",
		"0s claim 1Gi, InProgress gold, [ModifyingVolume]",
		"0s Normal VolumeModify: external resizer is modifying volume data with vac gold",
		"0s Modify Unavailable",
		"0s claim 1Gi, InProgress gold, [ModifyingVolume ModifyVolumeError]",
		"0s Warning VolumeModifyFailed: rpc error: code = Unavailable desc = gone. Still modifying to VAC gold")
	require.Equal(t, `Modifying volume to "gold" is still in progress.`, w.condition("ModifyingVolume").Message, "VAC-012")
	w.be("silver")
	w.settle()
	w.want("VAC-005: the old target first",
		"0s Modify OK",
		"0s volume 1Gi is gold",
		"0s claim 1Gi, is gold",
		"0s Normal VolumeModifySuccessful: external resizer modified volume data with vac gold successfully",
		"0s claim 1Gi, InProgress silver, is gold, [ModifyingVolume]",
		"0s Normal VolumeModify: external resizer is modifying volume data with vac silver",
		"0s Modify OK",
		"0s volume 1Gi is silver",
		"0s claim 1Gi, is silver",
		"0s Normal VolumeModifySuccessful: external resizer modified volume data with vac silver successfully")
}

// What is in progress at a restart counts as uncertain, and its class has to be there.
func TestModifyRestart(t *testing.T) {
	w := attributesWorld(t)
	w.Faults.Add(fake.Match{Verb: "Modify"}, api.Fault{Crash: true, Effect: true, Restart: minute}).Once()
	w.be("gold")
	w.advance(sec)
	w.wantState("VAC-007", "1Gi, InProgress gold, [ModifyingVolume] | 1Gi")
	w.be("silver")
	gold := attributes("gold")
	w.must(w.Crash(actors.VACProtection))
	w.must(w.Patch(gold, `{"metadata":{"finalizers":null}}`))
	w.must(w.Delete(gold))
	w.advance(minute + sec)
	require.Contains(t, w.log(), `1m0s Warning VolumeModifyFailed: VAC "gold" does not exist.`, "VAC-005")
	w.must(w.Create(attributes("gold", "iops", "900")))
	w.settle()
	w.wantState("VAC-005", "1Gi, is silver | 1Gi is silver")
}

func TestModifyFailed(t *testing.T) {
	w := attributesWorld(t)
	w.Faults.Fail(fake.Match{Verb: "Modify"}, storage.Errorf(storage.Internal, "on fire")).Once()
	w.be("gold")
	w.advance(0)
	w.wantState("VAC-013: final, but not infeasible", "1Gi, InProgress gold, [ModifyingVolume ModifyVolumeError] | 1Gi")
	w.be("silver")
	w.mark()
	w.settle()
	w.want("VAC-005: the new target at once",
		"0s claim 1Gi, InProgress silver, [ModifyingVolume ModifyVolumeError]",
		"0s Normal VolumeModify: external resizer is modifying volume data with vac silver",
		"0s Modify OK",
		"0s volume 1Gi is silver",
		"0s claim 1Gi, is silver",
		"0s Normal VolumeModifySuccessful: external resizer modified volume data with vac silver successfully")

	w = attributesWorld(t)
	w.Faults.Fail(fake.Match{Verb: "Modify"}, errSome).Once()
	w.be("gold")
	w.advance(0)
	w.want("VAC-013: no status, nothing recorded",
		"0s claim 1Gi, InProgress gold, [ModifyingVolume]",
		"0s Normal VolumeModify: external resizer is modifying volume data with vac gold",
		"0s Modify Unknown")
	w.settle()
	w.wantState("VAC-001: tried again", "1Gi, is gold | 1Gi is gold")
}

func TestModifyCannotWrite(t *testing.T) {
	resizer := actors.Resizer(driver)
	for _, tt := range []struct {
		rule, name string
		match      fake.Match
		skip       int
		calls      int
	}{
		{"VAC-007", "the begin", fake.Match{Actor: resizer, Verb: "patch-status"}, 0, 1},
		{"VAC-011", "the volume", fake.Match{Actor: resizer, Verb: "patch"}, 0, 2},
		{"VAC-011", "the end", fake.Match{Actor: resizer, Verb: "patch-status"}, 1, 2},
	} {
		w := attributesWorld(t)
		w.Faults.Fail(tt.match, apierrors.NewInternalError(errSome)).Skip(tt.skip).Once()
		w.be("gold")
		w.settle()
		w.wantState(tt.rule+" "+tt.name, "1Gi, is gold | 1Gi is gold")
		calls := 0
		for _, line := range w.log() {
			require.NotContains(t, line, "Warning", "%s %s: no Event", tt.rule, tt.name)
			if line == "0s Modify OK" || line == "1s Modify OK" {
				calls++
			}
		}
		require.Equal(t, tt.calls, calls, "%s %s: calls", tt.rule, tt.name)
	}
}

func TestModifyCanceled(t *testing.T) {
	w := attributesWorld(t, fake.Mutable("none"))
	w.be("gold")
	w.advance(0)
	w.wantState("VAC-013", "1Gi, Infeasible gold, [ModifyingVolume ModifyVolumeError] | 1Gi")
	w.mark()
	w.be("")
	w.settle()
	w.want("VAC-004",
		"0s Normal VolumeModifyCanceled: Cancelled modify.",
		"0s claim 1Gi, Infeasible gold, [ModifyVolumeError]")
}

// Volumes of others are left alone, and so are claims whose volume is not known.
func TestModifyOthers(t *testing.T) {
	w := attributesWorld(t)
	foreign := fake.Volume("foreign", "1Gi", fake.CSISource("other.example.com", "h"), fake.ForClaim("other"), fake.InClass("fast"))
	w.must(w.Create(foreign, fake.Claim("other", "1Gi", fake.InClass("fast"), fake.VolumeName("foreign")),
		fake.Claim("waits", "1Gi", fake.InClass("fast"), fake.VolumeName("missing"))))
	w.settle()
	w.must(w.Patch(fake.Claim("other", "1Gi"), `{"spec":{"volumeAttributesClassName":"gold"}}`))
	w.settle()
	w.advance(minute)
	for _, line := range w.log() {
		require.NotContains(t, line, "Modify", "VAC-002")
	}
}

func TestAttributesProtection(t *testing.T) {
	w := attributesWorld(t)
	exists := func(class string) bool { _, err := w.AttributesClasses.Get(class); return err == nil }
	w.be("gold")
	w.settle()
	w.must(w.Delete(attributes("gold")))
	w.must(w.Delete(attributes("silver")))
	w.settle()
	require.True(t, exists("gold"), "VAC-022: a claim and its volume have it")
	require.False(t, exists("silver"), "VAC-021: no claim or volume has it")
	w.must(w.Create(attributes("silver", "iops", "100")))
	w.settle()
	w.be("silver")
	w.settle()
	require.False(t, exists("gold"), "VAC-020: it is not named any more")
	require.True(t, exists("silver"), "VAC-022")

	// VAC-021: who takes the finalizer away from a class that stays gives it back.
	w.must(w.Patch(attributes("silver"), `{"metadata":{"finalizers":null}}`))
	w.settle()
	class, err := w.AttributesClasses.Get("silver")
	w.must(err)
	require.Equal(t, []string{objects.VACProtectionFinalizer}, class.Finalizers, "VAC-021")

	w.must(w.Delete(attributes("silver")))
	w.must(w.Delete(fake.Claim("data", "1Gi")))
	w.settle()
	require.False(t, exists("silver"), "VAC-020: claim and volume are gone")

	// VAC-022: the target of a change counts although the claim names another class by now.
	w = attributesWorld(t)
	w.Faults.Fail(fake.Match{Verb: "Modify"}, storage.Errorf(storage.Unavailable, "gone"))
	w.be("gold")
	w.advance(0)
	w.be("silver")
	w.must(w.Delete(attributes("gold")))
	w.advance(minute)
	_, err = w.AttributesClasses.Get("gold")
	require.NoError(t, err, "VAC-022")
}
