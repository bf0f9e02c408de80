package binder_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/snapshot"
)

// available is a volume that the controller has already looked at.
func available(name, size string, opts ...fake.Option) *corev1.PersistentVolume {
	return fake.Volume(name, size, append(opts, fake.Phase("Available"))...)
}

func TestExplainSaysWhichRuleDecides(t *testing.T) {
	bound := fake.Annotations(binder.AnnBindCompleted, "yes")
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
		{rule: "BIND-056", name: "nobody uses it yet", claim: fake.Claim("data", "10Gi", fake.InClass("late")),
			snapshot: snapshot.Snapshot{Classes: []*storagev1.StorageClass{fake.Class("late", "disk.example.com", fake.WaitForFirstConsumer())}}},
		{rule: "BIND-057", name: "a provisioner is to act", claim: fake.Claim("data", "10Gi", fake.InClass("fast")),
			snapshot: snapshot.Snapshot{Classes: []*storagev1.StorageClass{fake.Class("fast", "disk.example.com")}}},
		{rule: "PROV-020", name: "provisioning is off", claim: fake.Claim("data", "10Gi", fake.InClass("fast")),
			snapshot: snapshot.Snapshot{DisableProvisioning: true, Classes: []*storagev1.StorageClass{fake.Class("fast", "disk.example.com")}}},
		{rule: "PROV-021", name: "its class is missing", claim: fake.Claim("data", "10Gi", fake.InClass("gone"))},
		{rule: "PROV-024", name: "its class makes no volumes", claim: fake.Claim("data", "10Gi", fake.InClass("local")),
			snapshot: snapshot.Snapshot{Classes: []*storagev1.StorageClass{fake.Class("local", "kubernetes.io/no-provisioner")}}},
		{rule: "BIND-058", name: "nothing fits and nobody makes one", claim: fake.Claim("data", "10Gi")},
		{rule: "BIND-059a", name: "the volume it names is missing", claim: fake.Claim("data", "10Gi", fake.VolumeName("gone")), volume: "gone"},
		{rule: "BIND-059b", name: "the volume it names is too small", claim: fake.Claim("data", "10Gi", fake.VolumeName("tiny")),
			snapshot: *volumesOnly(available("tiny", "1Gi")), volume: "tiny"},
		{rule: "BIND-059c", name: "the volume it names is free", claim: fake.Claim("data", "10Gi", fake.VolumeName("snug")),
			snapshot: *volumesOnly(available("snug", "12Gi")), volume: "snug"},
		{rule: "BIND-059d", name: "the volume it names is reserved for it", claim: fake.Claim("data", "10Gi", fake.VolumeName("mine")),
			snapshot: *volumesOnly(available("mine", "1Gi", fake.ForClaim("data"))), volume: "mine"},
		{rule: "BIND-059e", name: "the volume it names is another's", claim: fake.Claim("data", "10Gi", fake.VolumeName("taken")),
			snapshot: *volumesOnly(available("taken", "12Gi", fake.ForClaim("other"))), volume: "taken"},
		{rule: "BIND-059f", name: "a controller chose another's volume", claim: fake.Claim("data", "10Gi", fake.VolumeName("taken"), fake.Annotations(binder.AnnBoundByController, "yes")),
			snapshot: *volumesOnly(available("taken", "12Gi", fake.ForClaim("other"))), volume: "taken"},
		{rule: "BIND-060a", name: "it was bound and names no volume", claim: fake.Claim("data", "10Gi", bound)},
		{rule: "BIND-060b", name: "it was bound and its volume is gone", claim: fake.Claim("data", "10Gi", bound, fake.VolumeName("gone")), volume: "gone"},
		{rule: "BIND-060c", name: "its volume forgot it", claim: fake.Claim("data", "10Gi", bound, fake.VolumeName("snug")),
			snapshot: *volumesOnly(available("snug", "12Gi")), volume: "snug"},
		{rule: "BIND-060d", name: "all is well", claim: fake.Claim("data", "10Gi", bound, fake.UID("u1"), fake.VolumeName("snug")),
			snapshot: *volumesOnly(available("snug", "12Gi", fake.ForClaim("data", "u1"))), volume: "snug"},
		{rule: "BIND-060e", name: "its volume belongs to a claim of another uid", claim: fake.Claim("data", "10Gi", bound, fake.UID("u1"), fake.VolumeName("snug")),
			snapshot: *volumesOnly(available("snug", "12Gi", fake.ForClaim("data", "u2"))), volume: "snug"},
	} {
		t.Run(row.rule+" "+row.name, func(t *testing.T) {
			x := binder.Explain(row.claim, &row.snapshot)
			require.Equal(t, row.rule, x.Rule, x.String())
			require.Equal(t, row.volume, x.Volume)
			require.NotEmpty(t, x.Text)
		})
	}
}

func volumesOnly(volumes ...*corev1.PersistentVolume) *snapshot.Snapshot {
	return &snapshot.Snapshot{Volumes: volumes}
}

func TestExplainSaysWhyEachVolumeIsRefused(t *testing.T) {
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
		{rule: "MATCH-002", name: "it lacks an access mode", claim: fake.Claim("data", "10Gi", fake.Modes("RWX")), volume: available("pv", "12Gi")},
		{rule: "MATCH-010", name: "it is reserved for another", volume: available("pv", "12Gi", fake.ForClaim("other"))},
		{rule: "MATCH-011", name: "it is too small", volume: available("pv", "9Gi")},
		{rule: "MATCH-012", name: "it is a block device", volume: available("pv", "12Gi", fake.Block())},
		{rule: "MATCH-013", name: "it has another attributes class", volume: gold},
		{rule: "MATCH-014", name: "it is being deleted", volume: deleting},
		{rule: "MATCH-016", name: "the claim waits for the scheduler", claim: fake.Claim("data", "10Gi", fake.InClass("late")), volume: available("pv", "12Gi", fake.InClass("late")), classes: late},
		{rule: "MATCH-017", name: "it is Released", volume: fake.Volume("pv", "12Gi", fake.Phase("Released"))},
		{rule: "MATCH-018", name: "its labels are not selected", claim: fake.Claim("data", "10Gi", fake.Selector("tier", "gold")), volume: available("pv", "12Gi")},
		{rule: "MATCH-019", name: "it has another class", volume: available("pv", "12Gi", fake.InClass("slow"))},
	} {
		t.Run(row.rule+" "+row.name, func(t *testing.T) {
			if row.claim == nil {
				row.claim = fake.Claim("data", "10Gi")
			}
			x := binder.Explain(row.claim, &snapshot.Snapshot{Volumes: []*corev1.PersistentVolume{row.volume}, Classes: row.classes})
			require.Len(t, x.Refusals, 1, x.String())
			require.Equal(t, row.rule, x.Refusals[0].Rule, x.String())
			require.NotEmpty(t, x.Refusals[0].Want)
			require.NotEmpty(t, x.Refusals[0].Got)
			require.Contains(t, x.String(), row.rule)
		})
	}
}

// A smaller volume that fits wins, and the explanation says so of the larger one (MATCH-020).
func TestExplainNamesTheSmallerVolume(t *testing.T) {
	x := binder.Explain(fake.Claim("data", "10Gi"), volumesOnly(available("huge", "100Gi"), available("snug", "12Gi")))
	require.Equal(t, "snug", x.Volume)
	require.Len(t, x.Refusals, 1)
	require.Equal(t, "huge", x.Refusals[0].Volume)
	require.Equal(t, "MATCH-020", x.Refusals[0].Rule)
}
