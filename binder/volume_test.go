package binder_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

const (
	mismatchVolume = `EV PV Warning VolumeMismatch: Cannot bind PersistentVolume to requested PersistentVolumeClaim "c" due to incompatible volumeMode.`
	mismatchClaim  = `EV PVC Warning VolumeMismatch: Cannot bind PersistentVolume "pv" to requested PersistentVolumeClaim due to incompatible volumeMode.`
	unknownPolicy  = "EV PV Warning VolumeUnknownReclaimPolicy: Volume has unrecognized PersistentVolumeReclaimPolicy"
)

func TestSyncVolume(t *testing.T) {
	const provisioner = "disk.example.com"
	deleted := fake.Policy(corev1.PersistentVolumeReclaimDelete)
	provisioned := fake.Annotations(objects.AnnProvisionedBy, provisioner)
	policy := fake.Policy("Burn")
	tests := []struct {
		rule, name string
		pv         *corev1.PersistentVolume
		claim      *corev1.PersistentVolumeClaim
		want       []string
		ref        string // the claimRef afterwards
	}{
		{rule: "BIND-061", name: "annotation and finalizer in one write, then the rest",
			pv: ours(deleted, fake.Phase("Available"),
				fake.Annotations(objects.AnnProvisionedBy, "kubernetes.io/disk", objects.AnnMigratedTo, "x")), claim: bound(),
			want: []string{"PV.U", "PV.S Bound"}, ref: "default/c[uc]"},

		{rule: "BIND-062", name: "a new volume", pv: fake.Volume("pv", "10Gi", fake.Phase("Pending")), want: []string{"PV.S Available"},
			ref: "none"},
		{rule: "BIND-062", name: "edge 18: Released", pv: fake.Volume("pv", "10Gi", fake.Phase("Released"), deleted),
			want: []string{"PV.S Available"}, ref: "none"},
		{rule: "BIND-062", name: "edge 18: Failed", pv: fake.Volume("pv", "10Gi", fake.Phase("Failed"), deleted),
			want: []string{"PV.S Available"}, ref: "none"},
		{rule: "BIND-062", name: "nothing to do", pv: fake.Volume("pv", "10Gi", fake.Phase("Available")), ref: "none"},
		{rule: "BIND-063", name: "reserved by name", pv: fake.Volume("pv", "10Gi", fake.Phase("Pending"), fake.ForClaim("c")),
			claim: pending(), want: []string{"PV.S Available"}, ref: "default/c[]"},
		{rule: "BIND-063", name: "edge 18: Released, with only the uid cleared",
			pv: fake.Volume("pv", "10Gi", fake.Phase("Released"), fake.ForClaim("c"), deleted), want: []string{"PV.S Available"},
			ref: "default/c[]"},

		{rule: "BIND-064", name: "the claim is gone", pv: ours(), want: []string{"PV.S Released"}, ref: "default/c[uc]"},
		{rule: "BIND-064", name: "Released already", pv: ours(fake.Phase("Released")), ref: "default/c[uc]"},
		{rule: "BIND-064", name: "Failed is kept", pv: ours(fake.Phase("Failed")), ref: "default/c[uc]"},
		{rule: "BIND-064", name: "edge 15: another claim of that name", pv: ours(), claim: pending(fake.UID("new")),
			want: []string{"PV.S Released"}, ref: "default/c[uc]"},
		{rule: "BIND-064", name: "and then the volume is reclaimed", pv: ours(policy),
			want: []string{"PV.S Released", "PV.S Failed", unknownPolicy}, ref: "default/c[uc]"},
		{rule: "BIND-079", name: "edge 25: a volume that is Failed says nothing when it fails again",
			pv: ours(policy, fake.Phase("Failed")), ref: "default/c[uc]"},

		{rule: "BIND-065a", name: "edge 20: they point at each other and cannot be bound; the phase stays, even Pending",
			pv: ours(fake.Block(), fake.Phase("Pending")), claim: pending(),
			want: []string{mismatchVolume, mismatchClaim}, ref: "default/c[uc]"},
		{rule: "BIND-065b", name: "the claim's own sync does the binding", pv: ours(fake.Phase("Pending")), claim: pending(),
			ref: "default/c[uc]"},
		{rule: "BIND-066", name: "the claim points back", pv: ours(fake.Phase("Available")), claim: bound(), want: []string{"PV.S Bound"},
			ref: "default/c[uc]"},
		{rule: "BIND-066", name: "edge 19: from Released", pv: ours(fake.Phase("Released"), deleted), claim: bound(),
			want: []string{"PV.S Bound"}, ref: "default/c[uc]"},
		{rule: "BIND-066", name: "edge 37: nothing to do for a bound pair", pv: ours(), claim: bound(), ref: "default/c[uc]"},
		{rule: "BIND-066", name: "the claim's phase does not count", pv: ours(fake.Phase("Pending")), claim: bound(fake.Phase("Lost")),
			want: []string{"PV.S Bound"}, ref: "default/c[uc]"},

		{rule: "BIND-067", name: "edge 17: provisioned, to be deleted, and its claim took another", pv: ours(deleted, provisioned),
			claim: bound(fake.VolumeName("other")), want: []string{"PV.S Released"}, ref: "default/c[uc]"},
		{rule: "BIND-067", name: "the value of the annotation does not count",
			pv: ours(deleted, fake.Annotations(objects.AnnProvisionedBy, "")), claim: bound(fake.VolumeName("other")),
			want: []string{"PV.S Released", "PV.S Failed",
				`EV PV Warning VolumeFailedDelete: error getting deleter volume plugin for volume "pv": no volume plugin matched`},
			ref: "default/c[uc]"},
		{rule: "BIND-067", name: "Failed is kept", pv: ours(deleted, provisioned, fake.Phase("Failed")),
			claim: bound(fake.VolumeName("other")), ref: "default/c[uc]"},
		{rule: "BIND-068", name: "edge 17: provisioned, to be kept: reserved for the claim by name",
			pv: fake.Volume("pv", "10Gi", fake.Phase("Bound"), fake.ForClaim("c", "uc"), provisioned), claim: bound(fake.VolumeName("other")),
			want: []string{"PV.U", "PV.S Available"}, ref: "default/c[]"},
		{rule: "BIND-068", name: "edge 16: a controller had bound it: free", pv: ours(deleted), claim: bound(fake.VolumeName("other")),
			want: []string{"PV.U", "PV.S Available"}, ref: "none"},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			objs := []api.Object{test.pv}
			if test.claim != nil {
				objs = append(objs, test.claim)
			}
			tr := trial(t, binder.TrialConfig{AsGiven: true, Config: withReclaimer(binder.Config{Backends: set(t)})}, objs...)
			if err := tr.SyncVolume("pv"); err != nil {
				t.Errorf("SyncVolume() = %v", err)
			}
			diffLog(t, "SyncVolume()", logOf(tr.Trace()), test.want)
			if got := refText(theVolume(t, tr.Store())); got != test.ref {
				t.Errorf("claimRef %s, want %s", got, test.ref)
			}
		})
	}
}

// TestClaimOfAVolume: BIND-061, whose word it takes to release a volume: own, informer, server. own and live are the uids of the
// claim c there, "" for no claim; the informer of a Trial knows what the server does.
func TestClaimOfAVolume(t *testing.T) {
	tests := []struct {
		rule, name string
		phase      string
		own, live  types.UID
		broken     bool // the server cannot be read
		fails      bool
		want       []string
	}{
		{rule: "BIND-061", name: "own says so", phase: "Available", own: "uc", live: "uc", want: []string{"PV.S Bound"}},
		{rule: "BIND-061", name: "own has it, so nothing else is read", phase: "Available", own: "uc", broken: true,
			want: []string{"PV.S Bound"}},
		{rule: "BIND-061", name: "edge 13: own does not have the claim yet, the API server has", phase: "Available", live: "uc",
			want: []string{"PV.S Bound"}},
		{rule: "BIND-061", name: "neither has", phase: "Available", want: []string{"PV.S Released"}},
		{rule: "BIND-061", name: "neither cache has, and the live read fails", phase: "Available", broken: true, fails: true},
		{rule: "BIND-061", name: "edge 13: for a Released volume own is enough", phase: "Released", live: "uc"},
		{rule: "BIND-061", name: "for a Failed one, too", phase: "Failed", live: "uc", broken: true},
		{rule: "BIND-061", name: "edge 14: own remembers another claim, the server has the right one", phase: "Released", own: "old",
			live: "uc", want: []string{"PV.S Bound"}},
		{rule: "BIND-061", name: "own remembers another claim, and so does the server", phase: "Bound", own: "old", live: "old",
			want: []string{"PV.S Released"}},
		{rule: "BIND-061", name: "own remembers another claim, and the server none", phase: "Bound", own: "old", want: []string{"PV.S Released"}},
		{rule: "BIND-061", name: "own remembers another claim, and the server does not answer", phase: "Bound", own: "old", live: "uc",
			broken: true, fails: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := binder.TrialConfig{}
			if test.broken {
				cfg.Injector = failing("PVC.G", 1)
			}
			tr := trial(t, cfg, ours(fake.Phase(test.phase)))
			if test.live != "" {
				if err := tr.Load(bound(fake.UID(test.live))); err != nil {
					t.Fatal(err)
				}
			}
			tr.Forget()
			tr.Remember(ours(fake.Phase(test.phase)))
			if test.own != "" {
				tr.Remember(bound(fake.UID(test.own)))
			}
			err := tr.SyncVolume("pv")
			if (err != nil) != test.fails {
				t.Errorf("SyncVolume() = %v, want an error: %t", err, test.fails)
			}
			diffLog(t, "SyncVolume()", logOf(tr.Trace()), test.want)
		})
	}
	t.Run("the informer is asked before the server", func(t *testing.T) {
		tr := trial(t, binder.TrialConfig{Injector: failing("PVC.G", 1)}, ours(fake.Phase("Available")), bound())
		tr.Forget()
		tr.Remember(ours(fake.Phase("Available")))
		if err := tr.SyncVolume("pv"); err != nil {
			t.Errorf("SyncVolume() = %v: the server was asked", err)
		}
	})
}

// TestVolumeQueuesClaim: BIND-065b, PROV-034, a volume whose claim is not bound yet has that claim synced, and one that cannot be
// bound to it (BIND-065a) does not.
func TestVolumeQueuesClaim(t *testing.T) {
	f := newFixture(t, engine.Config{}, binder.Config{})
	f.Create(fake.Claim("c", "5Gi", fake.InClass("missing")))
	f.Advance(0)
	const missing = `EV PVC Warning ProvisioningFailed: storageclass.storage.k8s.io "missing" not found`
	f.want("a claim whose class is missing", "0s "+missing)
	u := theClaim(t, f.Store()).UID
	f.Create(fake.Volume("pv", "10Gi", fake.ForClaim("c", u), fake.Block()))
	f.Advance(0)
	f.want("BIND-065a", "0s "+mismatchVolume, "0s "+mismatchClaim)
	f.remove(api.PersistentVolume, "pv")
	f.Advance(0)
	f.want("BIND-038", "0s "+missing)
	f.Create(fake.Volume("pv", "10Gi", fake.ForClaim("c", u), fake.InClass("missing")))
	f.Advance(0)
	f.want("BIND-065b", "0s PV.S Bound", "0s PVC.U", "0s PVC.S Bound")
}
