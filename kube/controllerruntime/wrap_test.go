package controllerruntime_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

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

// TestWrapOwners: objects that stay with the fake have UIDs, always the same, so they can own claims.
func TestWrapOwners(t *testing.T) {
	settings := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	}
	c := controllerruntime.Wrap(t, clientfake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(settings("given")).Build())
	created := settings("created")
	require.NoError(t, c.Create(t.Context(), created))
	for _, name := range []string{"given", "created"} {
		owner := &corev1.ConfigMap{}
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, owner))
		claim := fake.Claim(name, "1Gi")
		require.NoError(t, controllerutil.SetControllerReference(owner, claim, scheme.Scheme))
		require.NoError(t, c.Create(t.Context(), claim))

		require.NoError(t, c.Patch(t.Context(), owner, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`))))
		require.True(t, metav1.IsControlledBy(claim, owner))
		require.NoError(t, c.Update(t.Context(), owner))
		require.True(t, metav1.IsControlledBy(claim, owner))
		var list corev1.ConfigMapList
		require.NoError(t, c.List(t.Context(), &list, client.MatchingLabels{"a": "b"}, client.InNamespace("default")))
		require.True(t, slices.ContainsFunc(list.Items, func(item corev1.ConfigMap) bool { return metav1.IsControlledBy(claim, &item) }))
	}
	again := settings("created")
	require.True(t, apierrors.IsAlreadyExists(c.Create(t.Context(), again)))
	require.Empty(t, again.UID)
	require.NoError(t, c.Delete(t.Context(), created))
	require.NoError(t, c.Create(t.Context(), again))
	require.NotEqual(t, created.UID, again.UID)
}

// TestWrapIndexes: lists of simulated kinds use the indexes of the fake client, also below an interceptor; other fields are for the API server.
func TestWrapIndexes(t *testing.T) {
	indexed := func() client.WithWatch {
		return clientfake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(fake.Volume("v", "1Gi"), fake.Node("n1")).
			WithIndex(&corev1.PersistentVolumeClaim{}, "db", func(obj client.Object) []string { return []string{obj.GetLabels()["db"]} }).Build()
	}
	for name, inner := range map[string]client.WithWatch{
		"the fake client": indexed(),
		"below an interceptor": interceptor.NewClient(indexed(), interceptor.Funcs{
			Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
				return nil, nil
			},
		}),
	} {
		t.Run(name, func(t *testing.T) {
			c := controllerruntime.Wrap(t, inner)
			for _, name := range []string{"a", "b", "c"} {
				claim := fake.Claim(name, "1Gi")
				claim.Labels = map[string]string{"db": map[string]string{"a": "pg", "b": "pg"}[name]}
				require.NoError(t, c.Create(t.Context(), claim))
			}
			require.NoError(t, c.Create(t.Context(), fake.Pod("web", fake.OnNode("n1"))))
			var claims corev1.PersistentVolumeClaimList
			count := func(list client.ObjectList, selected client.MatchingFields, opts ...client.ListOption) int {
				t.Helper()
				require.NoError(t, c.List(t.Context(), list, append(opts, selected)...))
				return meta.LenList(list)
			}
			require.Equal(t, 2, count(&claims, client.MatchingFields{"db": "pg"}))
			require.Equal(t, 2, count(&claims, client.MatchingFields{"db": "pg"}, client.InNamespace("default"), client.Limit(1)))
			require.Equal(t, 1, count(&claims, client.MatchingFields{"db": ""}))
			require.Equal(t, 1, count(&claims, client.MatchingFields{"db": "pg", "metadata.name": "b"}))
			require.Equal(t, "b", claims.Items[0].Name)
			require.Zero(t, count(&claims, client.MatchingFields{"db": "my"}))
			var partial metav1.PartialObjectMetadataList
			partial.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaimList"))
			require.Equal(t, 2, count(&partial, client.MatchingFields{"db": "pg"}))
			require.Equal(t, 1, count(&corev1.PodList{}, client.MatchingFields{"spec.nodeName": "n1"}))

			err := c.List(t.Context(), &claims, client.MatchingFields{"spec.volumeName": "v"})
			require.True(t, apierrors.IsBadRequest(err), "%v", err)
			require.ErrorContains(t, err, `"spec.volumeName" is not a known field selector`)
			require.ErrorContains(t, err, "give the fake client an index, with WithIndex")
		})
	}
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
