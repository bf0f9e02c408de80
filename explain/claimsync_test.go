package explain

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/snapshot"
)

// available returns a volume that the controller has synced.
func available(name, size string, opts ...fake.Option) *corev1.PersistentVolume {
	return fake.Volume(name, size, append(opts, fake.Phase("Available"))...)
}

func TestClaimSync(t *testing.T) {
	bound := fake.Annotations(objects.AnnBindCompleted, "yes")
	modeless := fake.Class("odd", "disk.example.com")
	modeless.VolumeBindingMode = nil
	badSelector := fake.Claim("data", "10Gi")
	badSelector.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	for _, row := range []struct {
		rule, name string
		claim      *corev1.PersistentVolumeClaim
		snapshot   snapshot.Snapshot
		volume     string
	}{
		{rule: "BIND-052", name: "its class has no binding mode", claim: fake.Claim("data", "10Gi", fake.InClass("odd")),
			snapshot: snapshot.Snapshot{Classes: []*storagev1.StorageClass{modeless}}},
		{rule: "BIND-053", name: "its selector is malformed", claim: badSelector,
			snapshot: *volumesOnly(available("snug", "12Gi"))},
		{rule: "BIND-054", name: "a volume fits", claim: fake.Claim("data", "10Gi"),
			snapshot: *volumesOnly(available("snug", "12Gi")), volume: "snug"},
		{rule: "BIND-055", name: "it gets the default class", claim: fake.Claim("data", "10Gi", fake.NoClass()),
			snapshot: snapshot.Snapshot{Classes: []*storagev1.StorageClass{fake.Class("std", "disk.example.com", fake.Default())}}},
		{rule: "BIND-056", name: "no pod uses it yet", claim: fake.Claim("data", "10Gi", fake.InClass("late")),
			snapshot: snapshot.Snapshot{Classes: []*storagev1.StorageClass{fake.Class("late", "disk.example.com", fake.WaitForFirstConsumer())}}},
		{rule: "BIND-057", name: "a provisioner creates one", claim: fake.Claim("data", "10Gi", fake.InClass("fast")),
			snapshot: snapshot.Snapshot{Classes: []*storagev1.StorageClass{fake.Class("fast", "disk.example.com")}}},
		{rule: "PROV-020", name: "provisioning is off", claim: fake.Claim("data", "10Gi", fake.InClass("fast")),
			snapshot: snapshot.Snapshot{DisableProvisioning: true, Classes: []*storagev1.StorageClass{fake.Class("fast", "disk.example.com")}}},
		{rule: "PROV-021", name: "its class is missing", claim: fake.Claim("data", "10Gi", fake.InClass("gone"))},
		{rule: "PROV-024", name: "its class creates no volumes", claim: fake.Claim("data", "10Gi", fake.InClass("local")),
			snapshot: snapshot.Snapshot{Classes: []*storagev1.StorageClass{fake.Class("local", "kubernetes.io/no-provisioner")}}},
		{rule: "BIND-058", name: "nothing fits and no component creates one", claim: fake.Claim("data", "10Gi")},
		{rule: "BIND-059a", name: "the volume it names is missing", claim: fake.Claim("data", "10Gi", fake.VolumeName("gone")), volume: "gone"},
		{rule: "BIND-059b", name: "the volume it names is too small", claim: fake.Claim("data", "10Gi", fake.VolumeName("tiny")),
			snapshot: *volumesOnly(available("tiny", "1Gi")), volume: "tiny"},
		{rule: "BIND-059c", name: "the volume it names is free", claim: fake.Claim("data", "10Gi", fake.VolumeName("snug")),
			snapshot: *volumesOnly(available("snug", "12Gi")), volume: "snug"},
		{rule: "BIND-059d", name: "the volume it names is reserved for it", claim: fake.Claim("data", "10Gi", fake.VolumeName("mine")),
			snapshot: *volumesOnly(available("mine", "1Gi", fake.ForClaim("data"))), volume: "mine"},
		{rule: "BIND-059e", name: "the volume it names is another's", claim: fake.Claim("data", "10Gi", fake.VolumeName("taken")),
			snapshot: *volumesOnly(available("taken", "12Gi", fake.ForClaim("other"))), volume: "taken"},
		{rule: "BIND-059f", name: "a controller chose another's volume",
			claim:    fake.Claim("data", "10Gi", fake.VolumeName("taken"), fake.Annotations(objects.AnnBoundByController, "yes")),
			snapshot: *volumesOnly(available("taken", "12Gi", fake.ForClaim("other"))), volume: "taken"},
		{rule: "BIND-060a", name: "it was bound and names no volume", claim: fake.Claim("data", "10Gi", bound)},
		{rule: "BIND-060b", name: "it was bound and its volume is gone", claim: fake.Claim("data", "10Gi", bound, fake.VolumeName("gone")),
			volume: "gone"},
		{rule: "BIND-060c", name: "its volume lost the claimRef", claim: fake.Claim("data", "10Gi", bound, fake.VolumeName("snug")),
			snapshot: *volumesOnly(available("snug", "12Gi")), volume: "snug"},
		{rule: "BIND-060d", name: "it is bound", claim: fake.Claim("data", "10Gi", bound, fake.UID("u1"), fake.VolumeName("snug")),
			snapshot: *volumesOnly(available("snug", "12Gi", fake.ForClaim("data", "u1"))), volume: "snug"},
		{rule: "BIND-060e", name: "its volume belongs to a claim of another uid",
			claim:    fake.Claim("data", "10Gi", bound, fake.UID("u1"), fake.VolumeName("snug")),
			snapshot: *volumesOnly(available("snug", "12Gi", fake.ForClaim("data", "u2"))), volume: "snug"},
	} {
		t.Run(row.rule+" "+row.name, func(t *testing.T) {
			s := syncIn(&row.snapshot, row.claim)
			require.Equal(t, row.rule, s.rule, s.text)
			require.Equal(t, row.volume, s.volume)
			require.NotEmpty(t, s.text)
		})
	}
}

func syncIn(s *snapshot.Snapshot, claim *corev1.PersistentVolumeClaim) claimSync {
	x := &explainer{Snapshot: s, index: newIndex(s), seen: map[api.Ref]bool{}}
	return x.syncOf(claim)
}

func volumesOnly(volumes ...*corev1.PersistentVolume) *snapshot.Snapshot {
	return &snapshot.Snapshot{Volumes: volumes}
}

func TestRejectedVolumes(t *testing.T) {
	deleting := available("pv", "12Gi")
	deleting.DeletionTimestamp = &metav1.Time{}
	late := []*storagev1.StorageClass{fake.Class("late", "disk.example.com", fake.WaitForFirstConsumer())}
	gold := available("pv", "12Gi")
	attributes := "gold"
	gold.Spec.VolumeAttributesClassName = &attributes
	for _, row := range []struct {
		rule, name string
		claim      *corev1.PersistentVolumeClaim
		volume     *corev1.PersistentVolume
		classes    []*storagev1.StorageClass
	}{
		{rule: "MATCH-002", name: "it lacks an access mode", claim: fake.Claim("data", "10Gi", fake.Modes("RWX")),
			volume: available("pv", "12Gi")},
		{rule: "MATCH-010", name: "it is reserved for another", volume: available("pv", "12Gi", fake.ForClaim("other"))},
		{rule: "MATCH-011", name: "it is too small", volume: available("pv", "9Gi")},
		{rule: "MATCH-012", name: "it is a block device", volume: available("pv", "12Gi", fake.Block())},
		{rule: "MATCH-013", name: "it has another attributes class", volume: gold},
		{rule: "MATCH-014", name: "it is being deleted", volume: deleting},
		{rule: "MATCH-016", name: "the claim waits for the scheduler", claim: fake.Claim("data", "10Gi", fake.InClass("late")),
			volume: available("pv", "12Gi", fake.InClass("late")), classes: late},
		{rule: "MATCH-017", name: "it is Released", volume: fake.Volume("pv", "12Gi", fake.Phase("Released"))},
		{rule: "MATCH-018", name: "its labels are not selected", claim: fake.Claim("data", "10Gi", fake.Selector("tier", "gold")),
			volume: available("pv", "12Gi")},
		{rule: "MATCH-019", name: "it has another class", volume: available("pv", "12Gi", fake.InClass("slow"))},
	} {
		t.Run(row.rule+" "+row.name, func(t *testing.T) {
			if row.claim == nil {
				row.claim = fake.Claim("data", "10Gi")
			}
			s := syncIn(&snapshot.Snapshot{Volumes: []*corev1.PersistentVolume{row.volume}, Classes: row.classes}, row.claim)
			require.Len(t, s.rejections, 1, s.text)
			require.Equal(t, row.rule, s.rejections[0].Rule)
			require.NotEmpty(t, s.rejections[0].Got)
		})
	}
}

// A smaller volume that fits wins, and the explanation of the larger one says so (MATCH-020).
func TestRejectedForASmallerVolume(t *testing.T) {
	s := syncIn(volumesOnly(available("huge", "100Gi"), available("snug", "12Gi")), fake.Claim("data", "10Gi"))
	require.Equal(t, "snug", s.volume)
	require.Equal(t, []match.Rejection{{Volume: "huge", Rule: "MATCH-020", Got: "capacity 100Gi; volume snug fits with 12Gi"}}, s.rejections)
}

// A volume that a claim names is explained by the test that it failed (MATCH-030).
func TestRejectedNamedVolume(t *testing.T) {
	s := syncIn(volumesOnly(available("pv", "12Gi", fake.InClass("slow"))), fake.Claim("data", "10Gi", fake.VolumeName("pv")))
	require.Equal(t, []match.Rejection{{Volume: "pv", Rule: "MATCH-030", Got: `storageClassName "slow"`, Needed: "none"}}, s.rejections)
}

// PROV-024: an in-tree name without a plugin that provisions creates nothing; PROV-022: a migrated one is handled by its driver.
func TestClaimSyncKnowsThePlugins(t *testing.T) {
	known, err := backends.NewSet(fake.NFS(), fake.InTree("kubernetes.io/mock"))
	require.NoError(t, err)
	for provisioner, want := range map[string]string{
		"kubernetes.io/nfs":     "PROV-024",
		"kubernetes.io/gone":    "PROV-024",
		"kubernetes.io/mock":    "BIND-057",
		"kubernetes.io/aws-ebs": "BIND-057",
		"disk.example.com":      "BIND-057",
	} {
		s := syncIn(&snapshot.Snapshot{Classes: []*storagev1.StorageClass{fake.Class("c", provisioner)}, Backends: known},
			fake.Claim("data", "10Gi", fake.InClass("c")))
		require.Equal(t, want, s.rule, provisioner)
	}
}
