package explain_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/proof/reasons"
)

// MATCH-030: each check of a volume that a claim names reports what the volume has, and what is needed.
func TestVolumesThatWereNamed(t *testing.T) {
	class := "gold"
	for _, test := range []struct {
		name   string
		claim  *corev1.PersistentVolumeClaim
		pv     *corev1.PersistentVolume
		got    string
		needed string
	}{
		{name: "terminating", pv: reasons.Deleting(reasons.Available("pv", "12Gi")), got: "being deleted since 2026-03-01T12:01:00Z"},
		{name: "too small", pv: reasons.Available("pv", "9Gi"), got: "capacity 9Gi", needed: "at least 10Gi"},
		{name: "another class", pv: reasons.Available("pv", "12Gi", fake.InClass("slow")), got: `storageClassName "slow"`, needed: "none"},
		{name: "another attributes class",
			pv:  reasons.With(reasons.Available("pv", "12Gi"), func(pv *corev1.PersistentVolume) { pv.Spec.VolumeAttributesClassName = &class }),
			got: `volumeAttributesClassName "gold"`, needed: "none"},
		{name: "another volume mode", pv: reasons.Available("pv", "12Gi", fake.Block()), got: "volumeMode Block", needed: "Filesystem"},
		{name: "an access mode less", claim: fake.Claim("data", "10Gi", fake.VolumeName("pv"), fake.Modes("RWX")),
			pv:  reasons.Available("pv", "12Gi"),
			got: "access modes ReadWriteOnce", needed: "ReadWriteMany"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.claim == nil {
				test.claim = fake.Claim("data", "10Gi", fake.VolumeName("pv"))
			}
			x, err := explain.New(reasons.SnapshotOf(t, test.claim, test.pv)).Object(api.RefTo(test.claim))
			require.NoError(t, err)
			require.Equal(t, []explain.Candidate{{Name: "pv", Rule: "MATCH-030", Got: test.got, Needed: test.needed}}, x.Candidates)
		})
	}
}

func TestObjectsThatAreNotExplained(t *testing.T) {
	for _, name := range []string{"pvc/data", "pod/p", "pv/pv", "va/a", "shop/data", "sts/db"} {
		ref, err := objname.Parse(name)
		require.NoError(t, err)
		_, err = explain.New(reasons.SnapshotOf(t)).Object(ref)
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		require.ErrorContains(t, err, "explain ")
	}
	_, err := explain.New(reasons.SnapshotOf(t, fake.Node("n1"))).Object(api.Ref{Kind: api.Node, Key: "n1"})
	require.EqualError(t, err, "explain node/n1: cannot explain this kind; want a claim (pvc), pod, volume (pv), attachment (va) or a workload such as deployment")
}
