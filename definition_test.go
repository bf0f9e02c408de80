package volsim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim"
)

// TestGoneDefinition: controllers that start for the first object of their kind find the objects of a kind whose definition is gone, and objects of
// that kind count once it is defined again.
func TestGoneDefinition(t *testing.T) {
	c, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	object := func(apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec}}
		u.SetName(name)
		return u
	}
	definition := func() *unstructured.Unstructured {
		return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.example.com", map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "kind": "Widget"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
		})
	}
	require.NoError(t, c.Create(definition()))
	require.NoError(t, c.Create(object("example.com/v1", "Widget", "a", nil)))
	require.NoError(t, c.Delete(definition()))
	require.NoError(t, c.Advance(time.Second))
	quota := object("v1", "ResourceQuota", "q", map[string]any{"hard": map[string]any{"count/widgets.example.com": "3"}})
	require.NoError(t, c.Create(quota), "QUO-030")
	require.NoError(t, c.Create(definition()))
	require.NoError(t, c.Create(object("example.com/v1", "Widget", "b", nil)))
	require.NoError(t, c.Advance(10*time.Minute))
	quotas := volsim.List[*corev1.ResourceQuota](c)
	used := quotas[0].Status.Used["count/widgets.example.com"]
	require.Equal(t, "1", used.String(), "QUO-030")
}
