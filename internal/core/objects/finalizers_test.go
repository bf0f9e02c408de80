package objects_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

func TestFinalizers(t *testing.T) {
	given := []string{"a", "b"}
	got, changed := objects.WithFinalizer(given, "c")
	require.True(t, changed)
	require.Equal(t, []string{"a", "b", "c"}, got)
	_, changed = objects.WithFinalizer(given, "a")
	require.False(t, changed)
	got, changed = objects.WithoutFinalizer(given, "a")
	require.True(t, changed)
	require.Equal(t, []string{"b"}, got)
	got, _ = objects.WithoutFinalizer(got, "b")
	require.Nil(t, got)
	_, changed = objects.WithoutFinalizer(given, "c")
	require.False(t, changed)
	require.Equal(t, []string{"a", "b"}, given)
}

func TestFinalizerMisplaced(t *testing.T) {
	now := metav1.Now()
	for _, tt := range []struct {
		rule       string
		finalizers []string
		deleted    *metav1.Time
		want       bool
	}{
		{"PROT-010", nil, nil, true},
		{"PROT-010", []string{"a", "protect"}, nil, false},
		{"PROT-020", []string{"protect"}, &now, true},
		{"PROT-020", []string{"a"}, &now, false},
	} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Finalizers: tt.finalizers, DeletionTimestamp: tt.deleted}}
		require.Equal(t, tt.want, objects.FinalizerMisplaced(claim, "protect"), "%s: %v", tt.rule, tt)
	}
}
