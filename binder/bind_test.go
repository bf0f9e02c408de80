package binder_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/store"
)

// TestBindAnnotations: BIND-070 and the table below it, who set which pointer.
func TestBindAnnotations(t *testing.T) {
	const yes, no = true, false
	tests := []struct {
		rule, name string
		pv         *corev1.PersistentVolume
		claim      *corev1.PersistentVolumeClaim
		pvBy       bool // bound-by-controller on the volume afterwards
		claimBy    bool // and on the claim
		want       []string
	}{
		{"BIND-070", "neither is pre-bound", available("pv", "10Gi"), pending(), yes, yes, bindLog},
		{"BIND-070", "the volume is, by name", available("pv", "10Gi", fake.ForClaim("c")), pending(), no, yes, bindLog},
		{"BIND-070", "the volume is, by uid", available("pv", "10Gi", fake.ForClaim("c", "uc")), pending(), no, yes,
			[]string{"PV.S Bound", "PVC.U", "PVC.S Bound"}},
		{"BIND-070", "the claim is", available("pv", "10Gi"), pending(fake.VolumeName("pv")), yes, no, bindLog},
		{"BIND-070", "both are", available("pv", "10Gi", fake.ForClaim("c")), pending(fake.VolumeName("pv")), no, no, bindLog},
		{"BIND-070", "the claim was bound by a controller before, elsewhere", available("pv", "10Gi"), pending(ann(byController)), yes, yes,
			bindLog},
		{"BIND-060c", "the volume lost its pointer: a controller sets it again", available("pv", "10Gi"), bound(), yes, yes,
			[]string{"PV.U", "PV.S Bound"}},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			tr := trial(t, binder.TrialConfig{}, test.pv, test.claim)
			if err := tr.SyncClaim(claimKey); err != nil {
				t.Fatal(err)
			}
			diffLog(t, "bind", logOf(tr.Trace()), test.want)
			pv, claim := theVolume(t, tr.Store()), theClaim(t, tr.Store())
			if got := pv.Annotations[byController] == "yes"; got != test.pvBy {
				t.Errorf("%s on the volume: %t, want %t", byController, got, test.pvBy)
			}
			if got := claim.Annotations[byController] == "yes"; got != test.claimBy {
				t.Errorf("%s on the claim: %t, want %t", byController, got, test.claimBy)
			}
			if claim.Annotations[completed] != "yes" || claim.Spec.VolumeName != "pv" || refText(pv) != "default/c[uc]" {
				t.Errorf("annotations %v, volumeName %q, claimRef %s after bind", claim.Annotations, claim.Spec.VolumeName, refText(pv))
			}
		})
	}
}

// TestClaimRef: BIND-071, what the pointer of a volume holds.
func TestClaimRef(t *testing.T) {
	pv := available("pv", "10Gi", fake.ForClaim("c"))
	pv.Spec.ClaimRef.FieldPath, pv.Spec.ClaimRef.ResourceVersion = "somewhere", "1"
	tr := trial(t, binder.TrialConfig{}, pv, pending())
	version := theClaim(t, tr.Store()).ResourceVersion
	if err := tr.SyncClaim(claimKey); err != nil {
		t.Fatal(err)
	}
	want := corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: "c", UID: "uc",
		ResourceVersion: version}
	if got := *theVolume(t, tr.Store()).Spec.ClaimRef; got != want {
		t.Errorf("claimRef %+v, want %+v", got, want)
	}
	// A later version of the claim is no difference.
	if now := theClaim(t, tr.Store()).ResourceVersion; now == version {
		t.Fatal("the bind did not change the claim")
	}
	seq := tr.Trace().Seq()
	if err := tr.SyncClaim(claimKey); err != nil {
		t.Fatal(err)
	}
	diffLog(t, "BIND-073: SyncClaim() of a bound pair", logSince(tr.Trace(), seq), nil)
}

// TestUnbind: BIND-072, the claimRef after an unbind.
func TestUnbind(t *testing.T) {
	tests := []struct {
		rule, name string
		pv         *corev1.PersistentVolume
		ref        string
		keys       []string
		want       []string
	}{
		{"BIND-072", "set by a controller: all of it goes, and the annotation, and the empty map", ours(), "none", nil,
			[]string{"PV.U", "PV.S Available"}},
		{"BIND-072", "other annotations stay", ours(fake.Annotations(objects.AnnProvisionedBy, "d")), "none",
			[]string{objects.AnnProvisionedBy}, []string{"PV.U", "PV.S Available"}},
		{"BIND-072", "set by its author: reserved for the name", fake.Volume("pv", "10Gi", fake.ForClaim("c", "uc"), fake.Phase("Bound")),
			"default/c[]", nil, []string{"PV.U", "PV.S Available"}},
		{"BIND-072", "Available already", ours(fake.Phase("Available")), "none", nil, []string{"PV.U"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if ref := test.pv.Spec.ClaimRef; ref != nil {
				ref.ResourceVersion = "17"
			}
			tr := trial(t, binder.TrialConfig{}, test.pv, bound(fake.VolumeName("other")))
			if err := tr.SyncVolume("pv"); err != nil {
				t.Fatal(err)
			}
			diffLog(t, "SyncVolume()", logOf(tr.Trace()), test.want)
			pv := theVolume(t, tr.Store())
			if refText(pv) != test.ref || !slices.Equal(keys(pv.Annotations), test.keys) || (test.keys == nil) != (pv.Annotations == nil) {
				t.Errorf("claimRef %s, annotations %#v, want %s and %v", refText(pv), pv.Annotations, test.ref, test.keys)
			}
			if ref := pv.Spec.ClaimRef; ref != nil && ref.ResourceVersion != "17" {
				t.Errorf("the reference's resourceVersion is %q now", ref.ResourceVersion)
			}
		})
	}
}

// TestClaimStatus: BIND-074, BIND-075, what a claim shows of its volume.
func TestClaimStatus(t *testing.T) {
	type (
		PV  = corev1.PersistentVolume
		PVC = corev1.PersistentVolumeClaim
	)
	shows := func(size string) func(*PVC) {
		return func(c *PVC) { c.Status.Capacity = quantities(size) }
	}
	silver := func(pv *PV) { pv.Spec.VolumeAttributesClassName = new("silver") }
	preResize := func(size string) fake.Option { return fake.Annotations(objects.AnnPreResizeCapacity, size) }
	twoKeys := func(pv *PV) {
		pv.Spec.Capacity = corev1.ResourceList{"storage": resource.MustParse("10Gi"), "iops": resource.MustParse("7")}
	}
	tests := []struct {
		rule, name string
		pv         *PV
		claim      *PVC
		fails      bool
		want       string
	}{
		{rule: "BIND-074", name: "Pending becomes Bound: everything", pv: edit(ours(fake.Modes("RWO", "ROX")), silver),
			claim: bound(fake.Phase("Pending")), want: "Bound ReadWriteOnce ReadOnlyMany storage=10Gi vac=silver"},
		{rule: "BIND-074", name: "edge 12: Lost becomes Bound: the status does not show the attributes class", pv: edit(ours(), silver),
			claim: bound(fake.Phase("Lost")), want: "Bound ReadWriteOnce storage=10Gi"},
		{rule: "BIND-074", name: "nor if the claim stays Bound", pv: edit(ours(), silver), claim: bound(),
			want: "Bound ReadWriteOnce storage=10Gi"},
		{rule: "BIND-074", name: "edge 23: the modes follow the volume's at every sync, the capacity does not", pv: ours(fake.Modes("RWX")),
			claim: edit(bound(), shows("1Gi")), want: "Bound ReadWriteMany storage=1Gi"},
		{rule: "BIND-075", name: "the whole capacity of the volume", pv: edit(ours(), twoKeys), claim: bound(fake.Phase("Pending")),
			want: "Bound ReadWriteOnce iops=7 storage=10Gi"},
		{rule: "BIND-075", name: "unless the storage is shown as it is", pv: edit(ours(), twoKeys),
			claim: edit(bound(fake.Phase("Pending")), shows("10240Mi")), want: "Bound ReadWriteOnce storage=10Gi"},
		{rule: "BIND-075", name: "edge 24: before an unfinished expansion", pv: ours(preResize("3Gi")), claim: bound(fake.Phase("Pending")),
			want: "Bound ReadWriteOnce storage=3Gi"},
		{rule: "BIND-075", name: "of it storage only: other keys of the claim are kept", pv: edit(ours(preResize("3Gi")), twoKeys),
			claim: edit(bound(fake.Phase("Pending")),
				func(c *PVC) { c.Status.Capacity = corev1.ResourceList{"x": resource.MustParse("1")} }), want: "Bound ReadWriteOnce storage=3Gi x=1"},
		{rule: "BIND-075", name: "an annotation that is no size", pv: ours(preResize("big")), claim: bound(fake.Phase("Pending")),
			want: "Bound ReadWriteOnce storage=10Gi"},
		{rule: "BIND-075", name: "a volume without storage capacity", pv: edit(ours(), func(pv *PV) { pv.Spec.Capacity = nil }),
			claim: bound(fake.Phase("Pending")), fails: true, want: "Pending"},
		{rule: "BIND-075", name: "which does not matter to a claim that is Bound",
			pv: edit(ours(), func(pv *PV) { pv.Spec.Capacity = nil }), claim: bound(), want: "Bound ReadWriteOnce storage=10Gi"},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			conditions := []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimResizing, Status: "True"}}
			test.claim.Status.Conditions = conditions
			tr := trial(t, binder.TrialConfig{AsGiven: true}, test.pv, test.claim)
			if err := tr.SyncClaim(claimKey); (err != nil) != test.fails {
				t.Errorf("SyncClaim() = %v, want an error: %t", err, test.fails)
			}
			claim := theClaim(t, tr.Store())
			if got := claimStatus(claim); got != test.want {
				t.Errorf("status %q, want %q", got, test.want)
			}
			if !slices.Equal(claim.Status.Conditions, conditions) {
				t.Errorf("the conditions became %v", claim.Status.Conditions)
			}
		})
	}
}

// TestVolumePhase: BIND-078, phase and message of a volume.
func TestVolumePhase(t *testing.T) {
	failed := func(phase string) *corev1.PersistentVolume {
		return edit(fake.Volume("pv", "10Gi", fake.Phase(phase)), func(pv *corev1.PersistentVolume) {
			pv.Status.Message, pv.Status.Reason = "it burns", "Fire"
		})
	}
	tests := []struct {
		rule, name, phase, want string
	}{
		{"BIND-078", "edge 25: a change of phase wipes the message, not the reason", "Failed", "Available  Fire"},
		{"BIND-078", "without one the message stays", "Available", "Available it burns Fire"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tr := trial(t, binder.TrialConfig{}, failed(test.phase))
			if err := tr.SyncVolume("pv"); err != nil {
				t.Fatal(err)
			}
			status := theVolume(t, tr.Store()).Status
			if got := strings.Join([]string{string(status.Phase), status.Message, status.Reason}, " "); got != test.want {
				t.Errorf("status %q, want %q", got, test.want)
			}
		})
	}
}

// TestFailedWrites: BIND-100 to BIND-110, a write that fails, what it leaves behind, and who comes back for it. The nth write of its
// sort fails once; left is the log until then, and later what comes after it, the retry 5 ms later first.
func TestFailedWrites(t *testing.T) {
	const again = "5ms "
	tests := []struct {
		rule, name string
		fail       string
		nth        int
		objs       []api.Object
		left       []string
		state      string // of volume and claim before the retry
		later      []string
	}{
		{"BIND-100", "bind, step 1", "PV.U", 1, []api.Object{available("pv", "10Gi"), pending()},
			[]string{"PV.U refused"}, "Available none, Pending", []string{"PV.U", "PV.S Bound", "PVC.U", "PVC.S Bound"}},
		{"BIND-101", "bind, step 2: the volume points at the claim, and queues the claim", "PV.S", 1,
			[]api.Object{available("pv", "10Gi"), pending()},
			[]string{"PV.U", "PV.S refused", "PV.S Bound", "PVC.U", "PVC.S Bound"}, "Bound default/c[uc], Bound ReadWriteOnce storage=10Gi", nil},
		{"BIND-102", "bind, step 3: the volume is Bound, the claim unbound; found by its pointer", "PVC.U", 1,
			[]api.Object{available("pv", "10Gi"), pending()},
			[]string{"PV.U", "PV.S Bound", "PVC.U refused", "PVC.U", "PVC.S Bound"}, "Bound default/c[uc], Bound ReadWriteOnce storage=10Gi", nil},
		{"BIND-103", "bind, step 4: the claim is bound, and Pending", "PVC.S", 1, []api.Object{available("pv", "10Gi"), pending()},
			[]string{"PV.U", "PV.S Bound", "PVC.U", "PVC.S refused", "PVC.S Bound"}, "Bound default/c[uc], Bound ReadWriteOnce storage=10Gi", nil},
		{"BIND-104", "to Lost: no event without the status", "PVC.S", 1, []api.Object{bound()}, []string{"PVC.S refused"},
			"Bound ReadWriteOnce storage=10Gi",
			[]string{"PVC.S Lost", lostVolume}},
		{"BIND-104", "to Pending", "PVC.S", 1, []api.Object{pending(fake.Phase("Lost"))}, []string{noVolume, "PVC.S refused"}, "Lost",
			[]string{noVolume, "PVC.S Pending", noVolume}},
		{"BIND-105", "to Released: nothing is reclaimed before", "PV.S", 1, []api.Object{ours(fake.Policy("Burn"))},
			[]string{"PV.S refused"}, "Bound default/c[uc]",
			[]string{"PV.S Released", "PV.S Failed", unknownPolicy}},
		{"BIND-106", "unbind, the pointer", "PV.U", 1, []api.Object{ours(), bound(fake.VolumeName("other"), fake.Phase("Lost"))},
			[]string{"PV.U refused"}, "Bound default/c[uc], Lost",
			[]string{"PV.U", "PV.S Available"}},
		{"BIND-107", "unbind, the phase: free by its pointer", "PV.S", 1,
			[]api.Object{ours(), bound(fake.VolumeName("other"), fake.Phase("Lost"))}, []string{"PV.U", "PV.S refused", "PV.S Available"},
			"Available none, Lost", nil},
		{"BIND-108", "migrated-to of a volume: the rest of the sync is skipped", "PV.U", 1,
			[]api.Object{fake.Volume("pv", "10Gi", fake.Phase("Pending"),
				fake.Annotations(objects.AnnProvisionedBy, "d", objects.AnnMigratedTo, "x"))},
			[]string{"PV.U refused"}, "Pending none", []string{"PV.U", "PV.S Available"}},
		{"BIND-108", "migrated-to of a claim", "PVC.U", 1,
			[]api.Object{bound(fake.Annotations(objects.AnnStorageProvisioner, "d", objects.AnnMigratedTo, "x"))},
			[]string{"PVC.U refused"}, "Bound ReadWriteOnce storage=10Gi", []string{"PVC.U", "PVC.S Lost", lostVolume}},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			f := newFixture(t, engine.Config{Injector: failing(test.fail, test.nth)}, binder.Config{})
			f.Load(test.objs...)
			f.Advance(4 * time.Millisecond)
			f.want("until the failure is retried", times("0s ", test.left)...)
			if got := stateOf(f.Store()); got != test.state {
				t.Errorf("%s, want %s", got, test.state)
			}
			f.Advance(time.Second)
			f.want("the retry", times(again, test.later)...)
		})
	}
}

func times(at string, log []string) []string {
	var timed []string
	for _, line := range log {
		timed = append(timed, at+line)
	}
	return timed
}

// stateOf is the state of the tables' volume and claim, as far as they are there.
func stateOf(s *store.Store) string {
	var parts []string
	if pv, err := s.Volumes.Get("pv"); err == nil {
		parts = append(parts, string(pv.Status.Phase)+" "+refText(pv))
	}
	if claim, err := s.Claims.Get(claimKey); err == nil {
		parts = append(parts, claimStatus(claim))
	}
	return strings.Join(parts, ", ")
}
