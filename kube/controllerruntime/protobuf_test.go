package controllerruntime_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/kube"
)

// TestProtobuf: clients and caches of controller-runtime work with nothing but protobuf (API-586).
func TestProtobuf(t *testing.T) {
	cluster, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	config := kube.Config(cluster)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	c, err := client.New(config, client.Options{})
	require.NoError(t, err)
	reads, err := cache.New(config, cache.Options{})
	require.NoError(t, err)
	go func() { _ = reads.Start(t.Context()) }()

	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}, Data: map[string]string{"a": "b"}}
	require.NoError(t, c.Create(t.Context(), settings))
	key := client.ObjectKeyFromObject(settings)
	for _, reader := range []client.Reader{c, reads} {
		var got corev1.ConfigMap
		require.NoError(t, reader.Get(t.Context(), key, &got))
		require.Equal(t, settings.Data, got.Data)
		partial := &metav1.PartialObjectMetadata{}
		partial.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		require.NoError(t, reader.Get(t.Context(), key, partial))
		require.Equal(t, settings.UID, partial.UID)
	}
	before := settings.DeepCopy()
	settings.Data["a"] = "c"
	require.NoError(t, c.Patch(t.Context(), settings, client.MergeFrom(before)))
	require.NoError(t, c.Delete(t.Context(), settings))
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), key, settings)))
}
