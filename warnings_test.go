package volsim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
)

// API-320: warnings reach the caller, of writes that succeed and of those that fail after validation.
func TestWarnings(t *testing.T) {
	var warned []string
	c, err := volsim.New(volsim.Config{Warn: func(text string) { warned = append(warned, text) }})
	require.NoError(t, err)
	take := func() []string {
		defer func() { warned = nil }()
		return warned
	}
	const recycle = "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use " +
		"dynamic provisioning."

	pv := fake.Volume("v", "1Gi")
	require.NoError(t, c.Create(pv))
	require.Empty(t, take(), "API-320: nothing is deprecated")
	require.NoError(t, c.Patch(pv, `{"spec": {"persistentVolumeReclaimPolicy": "Recycle"}}`))
	require.Equal(t, []string{recycle}, take(), "API-320: a patch")
	require.NoError(t, c.Settle())
	require.Empty(t, take(), "API-320: writes of controllers are not the caller's")
	pv, err = c.Volumes.Get("v")
	require.NoError(t, err)
	require.NoError(t, c.Update(pv))
	require.Equal(t, []string{recycle}, take(), "API-320: an update that changes nothing")
	require.NoError(t, c.UpdateStatus(pv))
	require.Empty(t, take(), "API-322: a status")

	again := fake.Volume("v", "1Gi")
	again.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRecycle
	require.True(t, apierrors.IsAlreadyExists(c.Create(again)))
	require.Empty(t, take(), "Create checks first whether the server would accept all objects")
	invalid := fake.Volume("w", "1Gi")
	invalid.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRecycle
	invalid.Spec.Capacity = nil
	require.True(t, apierrors.IsInvalid(c.Create(invalid)))
	require.Empty(t, take(), "API-320: invalid objects have errors only")
}
