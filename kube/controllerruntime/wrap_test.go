package controllerruntime_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/kube/controllerruntime"
	"github.com/volsim/volsim/volsimtest"
)

// TestWrap: claims live in the cluster and are bound, ConfigMaps stay with the fake.
func TestWrap(t *testing.T) {
	inner := clientfake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(fake.Volume("v", "1Gi")).Build()
	c := controllerruntime.Wrap(t, inner)
	claim := fake.Claim("data", "1Gi")
	require.NoError(t, c.Create(t.Context(), claim))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(claim), claim))
	require.Equal(t, corev1.ClaimBound, claim.Status.Phase)
	require.Equal(t, "v", claim.Spec.VolumeName)

	claim.Annotations = map[string]string{"team": "blue"}
	require.NoError(t, c.Update(t.Context(), claim))
	require.NoError(t, c.Patch(t.Context(), claim, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`))))
	var claims corev1.PersistentVolumeClaimList
	require.NoError(t, c.List(t.Context(), &claims, client.InNamespace("default"), client.MatchingLabels{"a": "b"}))
	require.Len(t, claims.Items, 1)

	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}}
	require.NoError(t, c.Create(t.Context(), settings))
	require.NoError(t, inner.Get(t.Context(), client.ObjectKeyFromObject(settings), settings))
	require.Error(t, inner.Get(t.Context(), client.ObjectKeyFromObject(claim), claim))

	// The claim is protected as long as a pod uses it.
	require.NoError(t, c.Create(t.Context(), fake.Pod("app", fake.OnNode("n1"), fake.Claims("data"))))
	require.NoError(t, c.Delete(t.Context(), claim))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(claim), claim))
	require.NotNil(t, claim.DeletionTimestamp)
	require.NoError(t, c.Delete(t.Context(), c.Cluster.Pod("app"), client.GracePeriodSeconds(0)))
	require.Error(t, c.Get(t.Context(), client.ObjectKeyFromObject(claim), claim))
}

// TestClient: a client sees what the test does, and the reverse.
func TestClient(t *testing.T) {
	c := volsimtest.New(t)
	cl, err := controllerruntime.NewClient(c.Cluster, client.Options{})
	require.NoError(t, err)
	var volumes corev1.PersistentVolumeList
	w, err := cl.Watch(t.Context(), &volumes)
	require.NoError(t, err)
	defer w.Stop()
	c.Create(fake.Volume("v", "1Gi"))
	require.Equal(t, "v", (<-w.ResultChan()).Object.(*corev1.PersistentVolume).Name)
	require.NoError(t, cl.Create(t.Context(), fake.Claim("data", "1Gi")))
	c.Settle()
	require.Equal(t, "v", c.Claim("data").Spec.VolumeName)
}
