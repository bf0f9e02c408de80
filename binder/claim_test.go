package binder_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

const (
	noVolume   = "EV PVC Normal FailedBinding: no persistent volumes available for this claim and no storage class is set"
	firstUser  = "EV PVC Normal WaitForFirstConsumer: waiting for first consumer to be created before binding"
	otherClaim = `EV PVC Warning FailedBinding: volume "pv" already bound to a different claim.`
	lostRef    = "EV PVC Warning ClaimLost: Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
	lostVolume = "EV PVC Warning ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!"
	misbound   = "EV PVC Warning ClaimMisbound: Two claims are bound to the same volume, this one is bound incorrectly"
)

func mismatch(why string) string {
	return `EV PVC Warning VolumeMismatch: Cannot bind to requested volume "pv": ` + why
}

// bindLog is the log of a whole bind.
var bindLog = []string{"PV.U", "PV.S Bound", "PVC.U", "PVC.S Bound"}

func TestSyncClaim(t *testing.T) {
	late := fake.Class("late", "disk.example.com", fake.WaitForFirstConsumer())
	deflt := fake.Class("gold", "disk.example.com", fake.Default())
	modeless := edit(fake.Class("odd", "disk.example.com"), func(c *storagev1.StorageClass) { c.VolumeBindingMode = nil })
	badSelector := func(claim *corev1.PersistentVolumeClaim) {
		claim.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Near"}}}
	}
	withLeftovers := func(claim *corev1.PersistentVolumeClaim) {
		claim.Status.AccessModes = claim.Spec.AccessModes
		claim.Status.Capacity = quantities("10Gi")
		claim.Status.CurrentVolumeAttributesClassName = new("silver")
	}
	terminating := func(claim *corev1.PersistentVolumeClaim) {
		claim.DeletionTimestamp = &metav1.Time{Time: engine.DefaultStart}
		claim.Finalizers = []string{"kubernetes.io/pvc-protection"}
	}
	tests := []struct {
		rule, name string
		objs       []api.Object
		claim      *corev1.PersistentVolumeClaim
		fails      bool
		want       []string
		status     string // of the claim afterwards
	}{
		{rule: "BIND-050", name: "migrated-to is put right before anything else",
			claim: bound(fake.Annotations(objects.AnnStorageProvisioner, "kubernetes.io/aws-ebs")),
			objs:  []api.Object{ours()}, want: []string{"PVC.U"}, status: "Bound ReadWriteOnce storage=10Gi"},
		{rule: "BIND-050", name: "and the sync goes on with the answer",
			claim: pending(fake.Annotations(objects.AnnMigratedTo, "ebs.csi.aws.com", objects.AnnStorageProvisioner, "disk.example.com")),
			want:  []string{"PVC.U", noVolume}, status: "Pending"},
		{rule: "BIND-051", name: "the annotation, not the phase, says whether the claim was bound: Bound without it is an unbound claim",
			claim: pending(fake.Phase("Bound")),
			want:  []string{noVolume, "PVC.S Pending"}, status: "Pending"},
		{rule: "BIND-051", name: "Pending with it is a bound claim", claim: bound(fake.Phase("Pending")),
			want: []string{"PVC.S Lost", lostVolume}, status: "Lost"},
		{rule: "BIND-051", name: "edge 38: a terminating claim is bound like any other", claim: edit(pending(), terminating),
			objs: []api.Object{available("pv", "10Gi")}, want: bindLog, status: "Bound ReadWriteOnce storage=10Gi"},

		{rule: "BIND-052", name: "a class without binding mode", claim: pending(fake.InClass("odd")),
			objs:  []api.Object{modeless, available("pv", "10Gi", fake.InClass("odd"))},
			fails: true, status: "Pending"},
		{rule: "BIND-053", name: "a selector that cannot be read", claim: edit(pending(), badSelector),
			objs:  []api.Object{available("pv", "10Gi")},
			fails: true, status: "Pending"},
		{rule: "BIND-054", name: "a volume is found", claim: pending(), objs: []api.Object{available("pv", "10Gi")},
			want: bindLog, status: "Bound ReadWriteOnce storage=10Gi"},
		{rule: "BIND-055", name: "no volume, no class, and there is a default class: the status is not touched",
			claim: edit(pending(fake.NoClass()), withLeftovers),
			objs:  []api.Object{deflt}, want: []string{"PVC.U"}, status: "Pending ReadWriteOnce storage=10Gi vac=silver"},
		{rule: "PROV-001", name: "a classless volume comes before the default class", claim: pending(fake.NoClass()),
			objs: []api.Object{deflt, available("pv", "10Gi")},
			want: bindLog, status: "Bound ReadWriteOnce storage=10Gi"},
		{rule: "PROV-001", name: "edge 28: an explicit \"\" is a class", claim: pending(), objs: []api.Object{deflt},
			want: []string{noVolume}, status: "Pending"},
		{rule: "PROV-001", name: "edge 28: so is the legacy annotation, whatever it says",
			claim: pending(fake.NoClass(), fake.Annotations(objects.AnnStorageClass, "")),
			objs:  []api.Object{deflt}, want: []string{noVolume}, status: "Pending"},
		{rule: "PROV-003", name: "the default class goes into the field", claim: pending(fake.NoClass()), objs: []api.Object{deflt},
			want: []string{"PVC.U"}, status: "Pending"},
		{rule: "BIND-056", name: "a delayed claim waits for a pod",
			claim: edit(pending(fake.InClass("late"), fake.Phase("Bound")), withLeftovers),
			objs:  []api.Object{late, available("pv", "10Gi", fake.InClass("late"))},
			want:  []string{firstUser, "PVC.S Pending"}, status: "Pending"},
		{rule: "BIND-057", name: "edge 8: a claim with a class that cannot be provisioned keeps whatever its status says",
			claim:  edit(pending(fake.InClass("missing")), withLeftovers),
			want:   []string{`EV PVC Warning ProvisioningFailed: storageclass.storage.k8s.io "missing" not found`},
			status: "Pending ReadWriteOnce storage=10Gi vac=silver"},
		{rule: "BIND-058", name: "no volume and no class", claim: pending(), want: []string{noVolume}, status: "Pending"},
		{rule: "BIND-058", name: "edge 9: a Lost claim whose annotation was removed is Pending again, and shows nothing",
			claim: edit(pending(fake.Phase("Lost")), withLeftovers),
			want:  []string{noVolume, "PVC.S Pending"}, status: "Pending"},

		{rule: "BIND-059a", name: "the volume it names is not there: no event", claim: pending(fake.VolumeName("pv")), status: "Pending"},
		{rule: "BIND-059a", name: "edge 9: Bound by its looks only",
			claim: edit(pending(fake.VolumeName("pv"), fake.Phase("Bound")), withLeftovers), want: []string{"PVC.S Pending"}, status: "Pending"},
		{rule: "BIND-059b", name: "the volume it names is too small", claim: pending(fake.VolumeName("pv"), fake.Phase("Bound")),
			objs: []api.Object{available("pv", "1Gi")},
			want: []string{mismatch("requested PV is too small"), "PVC.S Pending"}, status: "Pending"},
		{rule: "BIND-059c", name: "the volume it names fits", claim: pending(fake.VolumeName("pv")),
			objs: []api.Object{available("pv", "10Gi")},
			want: bindLog, status: "Bound ReadWriteOnce storage=10Gi"},
		{rule: "BIND-059c", name: "edge 5: neither selector nor binding mode count for a volume that is named",
			claim: pending(fake.VolumeName("pv"), fake.Selector("tier", "gold"), fake.InClass("late")),
			objs:  []api.Object{late, available("pv", "10Gi", fake.InClass("late"))}, want: bindLog, status: "Bound ReadWriteOnce storage=10Gi"},
		{rule: "BIND-059c", name: "edge 6: nor does its phase", claim: pending(fake.VolumeName("pv")),
			objs: []api.Object{fake.Volume("pv", "10Gi", fake.Phase("Failed"))},
			want: bindLog, status: "Bound ReadWriteOnce storage=10Gi"},
		{rule: "BIND-059d", name: "edge 4: they name each other, and nothing else counts",
			claim: pending(fake.VolumeName("pv"), fake.Block(), fake.InClass("late"), fake.Modes("RWX")),
			objs:  []api.Object{fake.Volume("pv", "1Gi", fake.ForClaim("c"), fake.Phase("Released"), fake.Modes("RWO", "ROX"))},
			want:  bindLog, status: "Bound ReadWriteOnce ReadOnlyMany storage=1Gi"},
		{rule: "BIND-059e", name: "the volume it names belongs to another claim", claim: pending(fake.VolumeName("pv"), fake.Phase("Lost")),
			objs: []api.Object{available("pv", "10Gi", fake.ForClaim("other"))},
			want: []string{otherClaim, "PVC.S Pending"}, status: "Pending"},
		{rule: "BIND-059e", name: "to another claim, by the uid", claim: pending(fake.VolumeName("pv")),
			objs: []api.Object{available("pv", "10Gi", fake.ForClaim("c", "old"))},
			want: []string{otherClaim}, status: "Pending"},
		{rule: "BIND-059f", name: "edge 10: a controller chose a volume of another claim: an error, and no status",
			claim: pending(fake.VolumeName("pv"), fake.Phase("Lost"), ann(byController)),
			objs:  []api.Object{available("pv", "10Gi", fake.ForClaim("other"))}, fails: true, want: []string{otherClaim}, status: "Lost"},

		{rule: "BIND-060a", name: "it forgot its volume", claim: edit(bound(fake.VolumeName("")), withLeftovers),
			want: []string{"PVC.S Lost", lostRef}, status: "Lost"},
		{rule: "BIND-060b", name: "its volume is gone", claim: bound(), want: []string{"PVC.S Lost", lostVolume}, status: "Lost"},
		{rule: "BIND-060c", name: "edge 11: its volume has no claimRef: bound again, without a check",
			claim: bound(fake.Phase("Lost"), fake.Block()), objs: []api.Object{fake.Volume("pv", "1Gi", fake.Phase("Failed"), fake.InClass("x"))},
			want: []string{"PV.U", "PV.S Bound", "PVC.S Bound"}, status: "Bound ReadWriteOnce storage=1Gi"},
		{rule: "BIND-060d", name: "edge 37: nothing to do for a bound pair", claim: bound(), objs: []api.Object{ours()},
			status: "Bound ReadWriteOnce storage=10Gi"},
		{rule: "BIND-060d", name: "edge 12: Lost is not for ever", claim: bound(fake.Phase("Lost")),
			objs: []api.Object{ours(fake.Phase("Released"))},
			want: []string{"PV.S Bound", "PVC.S Bound"}, status: "Bound ReadWriteOnce storage=10Gi"},
		{rule: "BIND-060d", name: "the uid decides, not the name", claim: bound(fake.Phase("Lost")),
			objs: []api.Object{fake.Volume("pv", "10Gi", fake.ForClaim("renamed", "uc"), fake.Phase("Bound"))},
			want: []string{"PV.U", "PVC.S Bound"}, status: "Bound ReadWriteOnce storage=10Gi"},
		{rule: "BIND-060e", name: "its volume points at another claim of its name", claim: bound(),
			objs: []api.Object{fake.Volume("pv", "10Gi", fake.ForClaim("c", "other"), fake.Phase("Bound"))},
			want: []string{"PVC.S Lost", misbound}, status: "Lost"},
		{rule: "BIND-060e", name: "edge 11: an empty uid is another one", claim: bound(),
			objs: []api.Object{fake.Volume("pv", "10Gi", fake.ForClaim("c"), fake.Phase("Available"))},
			want: []string{"PVC.S Lost", misbound}, status: "Lost"},
		{rule: "BIND-077", name: "Lost already: nothing is written, said or cleared", claim: edit(bound(fake.Phase("Lost")), withLeftovers),
			status: "Lost ReadWriteOnce storage=10Gi vac=silver"},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			tr := trial(t, binder.TrialConfig{AsGiven: true}, append(test.objs, test.claim)...)
			err := tr.SyncClaim(claimKey)
			if (err != nil) != test.fails {
				t.Errorf("SyncClaim() = %v, want an error: %t", err, test.fails)
			}
			diffLog(t, "SyncClaim()", logOf(tr.Trace()), test.want)
			if got := claimStatus(theClaim(t, tr.Store())); got != test.status {
				t.Errorf("status %q, want %q", got, test.status)
			}
		})
	}
}

// TestEventsRepeat: notes of section 5.1, events about claims that wait come with every sync, and one about a loss only once.
func TestEventsRepeat(t *testing.T) {
	tests := []struct {
		rule  string
		objs  []api.Object
		claim *corev1.PersistentVolumeClaim
		want  []string // of the second sync
	}{
		{rule: "BIND-058", claim: pending(), want: []string{noVolume}},
		{rule: "BIND-056", claim: pending(fake.InClass("late")), objs: []api.Object{fake.Class("late", "d", fake.WaitForFirstConsumer())},
			want: []string{firstUser}},
		{rule: "BIND-059b", claim: pending(fake.VolumeName("pv")), objs: []api.Object{available("pv", "1Gi")},
			want: []string{mismatch("requested PV is too small")}},
		{rule: "BIND-059e", claim: pending(fake.VolumeName("pv")), objs: []api.Object{available("pv", "10Gi", fake.ForClaim("x"))},
			want: []string{otherClaim}},
		{rule: "BIND-077", claim: bound()},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			tr := trial(t, binder.TrialConfig{}, append(test.objs, test.claim)...)
			if err := tr.SyncClaim(claimKey); err != nil {
				t.Fatal(err)
			}
			seq := tr.Trace().Seq()
			if err := tr.SyncClaim(claimKey); err != nil {
				t.Fatal(err)
			}
			diffLog(t, "second SyncClaim()", logSince(tr.Trace(), seq), test.want)
		})
	}
}

// TestWaitingForConsumers: PROV-012, whom a delayed claim waits for.
func TestWaitingForConsumers(t *testing.T) {
	pod := func(name string, opts ...fake.Option) *corev1.Pod {
		return fake.Pod(name, append([]fake.Option{fake.Claims("c")}, opts...)...)
	}
	scheduling := func(pods string) string {
		return fmt.Sprintf("EV PVC Normal WaitForPodScheduled: waiting for %s to be scheduled", pods)
	}
	tests := []struct {
		rule, name string
		pods       []api.Object
		want       string
	}{
		{rule: "PROV-012", name: "no pod", want: firstUser},
		{rule: "PROV-012", name: "one pod", pods: []api.Object{pod("a")}, want: scheduling("pod a")},
		{rule: "PROV-012", name: "several, by name", pods: []api.Object{pod("b"), pod("a"), pod("d")}, want: scheduling("pods a,b,d")},
		{rule: "PROV-012", name: "a pod that has a node does not count", pods: []api.Object{pod("a", fake.OnNode("n1")), pod("b")},
			want: scheduling("pod b")},
		{rule: "PROV-012", name: "edge 31: so the first text comes although a pod uses the claim",
			pods: []api.Object{pod("a", fake.OnNode("n1"))}, want: firstUser},
		{rule: "PROV-012", name: "a pod that is done does not count", pods: []api.Object{pod("a", fake.Phase("Succeeded"))}, want: firstUser},
		{rule: "PROV-012", name: "a pod of another namespace", pods: []api.Object{pod("elsewhere/a")}, want: firstUser},
		{rule: "PROV-012", name: "a pod with another claim", pods: []api.Object{fake.Pod("a", fake.Claims("d"))}, want: firstUser},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			class := fake.Class("late", "disk.example.com", fake.WaitForFirstConsumer())
			tr := trial(t, binder.TrialConfig{}, append(test.pods, class, pending(fake.InClass("late")))...)
			if err := tr.SyncClaim(claimKey); err != nil {
				t.Fatal(err)
			}
			diffLog(t, "SyncClaim()", logOf(tr.Trace()), []string{test.want})
		})
	}
	t.Run("PROV-012 a generic ephemeral volume uses the claim by its generated name", func(t *testing.T) {
		class := fake.Class("late", "disk.example.com", fake.WaitForFirstConsumer())
		claim := edit(pending(fake.InClass("late")), func(claim *corev1.PersistentVolumeClaim) { claim.Name = "web-scratch" })
		tr := trial(t, binder.TrialConfig{}, class, claim, fake.Pod("web", fake.Ephemeral("scratch", "5Gi", "late")))
		if err := tr.SyncClaim("default/web-scratch"); err != nil {
			t.Fatal(err)
		}
		diffLog(t, "SyncClaim()", logOf(tr.Trace()), []string{scheduling("pod web")})
	})
}

// TestDelayedClaims: PROV-010 and PROV-011, which volumes a delayed claim may take.
func TestDelayedClaims(t *testing.T) {
	late := fake.Class("late", "kubernetes.io/none", fake.WaitForFirstConsumer())
	selected := fake.Annotations(objects.AnnSelectedNode, "n1")
	free := available("pv", "10Gi", fake.InClass("late"))
	tests := []struct {
		rule, name string
		objs       []api.Object
		claim      *corev1.PersistentVolumeClaim
		want       []string
	}{
		{rule: "PROV-011", name: "a free volume is not taken", objs: []api.Object{late, free}, claim: pending(fake.InClass("late")),
			want: []string{firstUser}},
		{rule: "PROV-011", name: "edge 30: not even once a node is chosen: the claim is provisioned for", objs: []api.Object{late, free},
			claim: pending(fake.InClass("late"), selected),
			want:  []string{"EV PVC Warning ProvisioningFailed: no volume plugin matched name: kubernetes.io/none"}},
		{rule: "PROV-011", name: "edge 30: a volume that points at the claim wins over provisioning",
			objs:  []api.Object{late, available("pv", "10Gi", fake.InClass("late"), fake.ForClaim("c"))},
			claim: pending(fake.InClass("late"), selected), want: bindLog},
		{rule: "PROV-010", name: "edge 29: a class that does not exist delays nothing", objs: []api.Object{free},
			claim: pending(fake.InClass("late")), want: bindLog},
		{rule: "PROV-010", name: "class \"\" delays nothing", objs: []api.Object{late, available("pv", "10Gi")}, claim: pending(), want: bindLog},
		{rule: "PROV-010", name: "the class of the annotation counts", objs: []api.Object{late, free},
			claim: pending(fake.Annotations(objects.AnnStorageClass, "late")), want: []string{firstUser}},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			tr := trial(t, binder.TrialConfig{}, append(test.objs, test.claim)...)
			if err := tr.SyncClaim(claimKey); err != nil {
				t.Fatal(err)
			}
			diffLog(t, "SyncClaim()", logOf(tr.Trace()), test.want)
		})
	}
}
