package apiserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/kube-openapi/pkg/spec3"
)

func TestOpenAPI(t *testing.T) {
	f := newFixture(t)
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	require.NoError(t, json.Unmarshal([]byte(f.must("GET /openapi/v3", "")), &index))
	for path, at := range index.Paths {
		require.True(t, strings.HasPrefix(at.ServerRelativeURL, "/openapi/v3/"+path+"?hash="))
		var doc spec3.OpenAPI
		data := f.must("GET "+at.ServerRelativeURL, "")
		require.NoError(t, json.Unmarshal([]byte(data), &doc), path)
		// Every reference leads to a schema.
		for _, rest := range strings.Split(data, `"$ref":"#/components/schemas/`)[1:] {
			name, _, _ := strings.Cut(rest, `"`)
			require.Contains(t, doc.Components.Schemas, name, path)
		}
	}
	var doc spec3.OpenAPI
	require.NoError(t, json.Unmarshal([]byte(f.must("GET /openapi/v3/api/v1", "")), &doc))
	spec := doc.Components.Schemas["io.k8s.api.core.v1.PodSpec"]
	require.Equal(t, "name", spec.Properties["containers"].Extensions["x-kubernetes-patch-merge-key"])
	require.Equal(t, "map", spec.Properties["volumes"].Extensions["x-kubernetes-list-type"])
	require.Equal(t, []string{"containers"}, spec.Required)
	require.Contains(t, doc.Components.Schemas["io.k8s.api.core.v1.PersistentVolumeClaim"].Description, "PersistentVolumeClaim is a user's request")
	resp, _ := f.request("GET /openapi/v3/api/v1?hash=old", "")
	require.Equal(t, 301, resp.StatusCode)
}
