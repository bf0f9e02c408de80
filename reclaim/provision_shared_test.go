package reclaim

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// TestSharedByVolumes: volumes share the maps of the one before only if theirs would be equal (XPROV-030).
func TestSharedByVolumes(t *testing.T) {
	c := &provisioner{}
	secret := &corev1.SecretReference{Namespace: "ns", Name: "s"}
	for range 2 {
		for _, size := range []int64{1 << 30, 1 << 30, 1500000000} {
			require.Equal(t, corev1.ResourceList{corev1.ResourceStorage: objects.Bytes(size)}, c.capacityOf(size))
		}
		for _, provisioner := range []string{"a", "a", "b"} {
			require.Equal(t, map[string]string{objects.AnnProvisionedBy: provisioner}, c.provisionedBy(nil, provisioner))
			none := secretsOf{}
			require.Equal(t, map[string]string{annDeletionSecretName: "", annDeletionSecretSpace: "", objects.AnnProvisionedBy: provisioner},
				c.provisionedBy(none.annotations(), provisioner))
			both := secretsOf{provisioner: secret, controllerModify: secret}
			require.Equal(t, map[string]string{annDeletionSecretName: "s", annDeletionSecretSpace: "ns", objects.AnnModifySecretName: "s",
				objects.AnnModifySecretNamespace: "ns", objects.AnnProvisionedBy: provisioner}, c.provisionedBy(both.annotations(), provisioner))
		}
	}
	require.Zero(t, testing.AllocsPerRun(10, func() {
		c.capacityOf(1500000000)
		c.provisionedBy(noSecrets, "b")
	}), "one map for all")
}
