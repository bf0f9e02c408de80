package volsimtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/volsimtest"
)

func TestSmallestVolumeWins(t *testing.T) {
	c := volsimtest.New(t)
	c.Create(fake.Volume("huge", "100Gi"), fake.Volume("snug", "12Gi"))
	c.Settle()
	c.Create(fake.Claim("data", "10Gi"))
	c.Settle()
	require.Equal(t, corev1.ClaimBound, c.Claim("data").Status.Phase)
	require.Equal(t, "snug", c.Claim("data").Spec.VolumeName)
	require.Len(t, volsim.List[*corev1.PersistentVolume](c.Cluster), 2)
}

// A claim that is created together with its volumes is synced when the controller has seen only the first of them: volumes and claims
// have a queue each. So Settle says to create them one after the other.
func TestCreatedTogether(t *testing.T) {
	c := volsimtest.New(t)
	c.Create(fake.Volume("huge", "100Gi"), fake.Volume("snug", "12Gi"), fake.Claim("data", "10Gi"))
	c.Settle()
	require.Equal(t, "huge", c.Claim("data").Spec.VolumeName)
}
