package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/store"
)

// TestAsGiven stores what no API server would, without adding anything but what identifies a version.
func TestAsGiven(t *testing.T) {
	impossible := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "Not_A_Name"},
		Status:     corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
	s := store.New(store.Config{AsGiven: true})
	created, err := s.Volumes.Create(impossible)
	require.NoError(t, err)
	require.NotEmpty(t, created.UID)
	require.Empty(t, created.Finalizers)
	require.Equal(t, impossible.Spec, created.Spec)
	require.Equal(t, impossible.Status, created.Status)

	edited := created.DeepCopy()
	edited.Spec.PersistentVolumeReclaimPolicy = "Shred"
	updated, err := s.Volumes.Update(edited)
	require.NoError(t, err)
	require.NotEqual(t, created.ResourceVersion, updated.ResourceVersion)
	_, err = s.Volumes.Update(edited)
	require.Error(t, err, "a stale version is a conflict here too")

	_, err = store.New(store.Config{}).Volumes.Create(impossible)
	require.Error(t, err)
}
