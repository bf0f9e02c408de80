package binder_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/snapshot"
)

// A volume that a claim names says by which test it failed (MATCH-030).
func TestExplainSaysWhatTheNamedVolumeLacks(t *testing.T) {
	x := binder.Explain(fake.Claim("data", "10Gi", fake.VolumeName("pv")), volumesOnly(available("pv", "12Gi", fake.InClass("slow"))))
	require.Equal(t, []binder.Refusal{{Volume: "pv", Rule: "MATCH-030", Want: `storageClassName ""`, Got: `storageClassName "slow"`}}, x.Refusals)
}

// PROV-024: an in-tree name without a plugin that provisions makes nothing; PROV-022: one that was migrated is its driver's.
func TestExplainKnowsThePlugins(t *testing.T) {
	backends, err := backends.NewSet(fake.NFS(), fake.InTree("kubernetes.io/mock"))
	require.NoError(t, err)
	for provisioner, want := range map[string]string{
		"kubernetes.io/nfs":     "PROV-024",
		"kubernetes.io/gone":    "PROV-024",
		"kubernetes.io/mock":    "BIND-057",
		"kubernetes.io/aws-ebs": "BIND-057",
		"disk.example.com":      "BIND-057",
	} {
		x := binder.Explain(fake.Claim("data", "10Gi", fake.InClass("c")),
			&snapshot.Snapshot{Classes: []*storagev1.StorageClass{fake.Class("c", provisioner)}, Backends: backends})
		require.Equal(t, want, x.Rule, provisioner)
	}
}
