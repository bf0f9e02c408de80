package kubectl

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
)

// TestAbout compares Events with objects of core and of other groups.
func TestAbout(t *testing.T) {
	about := func(version, kind string) *corev1.Event {
		return &corev1.Event{InvolvedObject: corev1.ObjectReference{APIVersion: version, Kind: kind, Namespace: "default", Name: "db"}}
	}
	for _, tt := range []struct {
		name  string
		event *corev1.Event
		kind  api.Kind
		want  bool
	}{
		{"a claim", about("v1", "PersistentVolumeClaim"), api.PersistentVolumeClaim, true},
		{"another kind", about("v1", "Pod"), api.PersistentVolumeClaim, false},
		{"a StatefulSet", about("apps/v1", "StatefulSet"), "StatefulSet.apps", true},
		{"another group", about("example.com/v1", "StatefulSet"), "StatefulSet.apps", false},
		{"a class, whose kind is written without its group", about("storage.k8s.io/v1", "StorageClass"), api.StorageClass, true},
	} {
		require.Equal(t, tt.want, About(tt.event, api.Ref{Kind: tt.kind, Key: "default/db"}), tt.name)
	}
	require.False(t, About(about("v1", "Pod"), api.Ref{Kind: api.Pod, Key: "default/web"}), "another name")
}
