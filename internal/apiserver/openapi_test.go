package apiserver_test

import (
	"encoding/json"
	"reflect"
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

// TestSwagger: the OpenAPI v2 document has all schemas in JSON, and is a valid message in protobuf.
func TestSwagger(t *testing.T) {
	f := newFixture(t)
	var document struct {
		Swagger     string
		Definitions map[string]json.RawMessage
	}
	text := f.must("GET /openapi/v2", "")
	require.NoError(t, json.Unmarshal([]byte(text), &document))
	require.Equal(t, "2.0", document.Swagger)
	require.Contains(t, document.Definitions, "io.k8s.api.core.v1.PersistentVolumeClaim")
	require.NotContains(t, text, "#/components/")
	require.NotContains(t, text, `"oneOf":[{`)
	f.must("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"anys.example.com"},"spec":{"group":"example.com","scope":"Namespaced",`+
		`"names":{"plural":"anys","kind":"Any"},"versions":[{"name":"v1","served":true,"storage":true,`+
		`"schema":{"openAPIV3Schema":{"type":"object","description":"d","x-kubernetes-preserve-unknown-fields":true}}}]}}`)
	require.NoError(t, json.Unmarshal([]byte(f.must("GET /openapi/v2", "")), &document))
	require.JSONEq(t, `{"type":"object","x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"Any"}]}`,
		string(document.Definitions["com.example.v1.Any"]), "API-445")
	resp, got := f.request("GET /openapi/v2", "", "Accept: application/com.github.proto-openapi.spec.v2.v1.0+protobuf")
	require.Equal(t, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", resp.Header.Get("Content-Type"))
	require.Equal(t, "\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.36.3\x42\x00", got)
}

// TestRoundTrip: a client that reads a document and writes it gets the same document (API-519).
func TestRoundTrip(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+definitions, widgets)
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	require.NoError(t, json.Unmarshal([]byte(f.must("GET /openapi/v3", "")), &index))
	require.Contains(t, index.Paths, "apis/example.com/v1")
	for name, path := range index.Paths {
		var first, second spec3.OpenAPI
		require.NoError(t, json.Unmarshal([]byte(f.must("GET "+path.ServerRelativeURL, "")), &first))
		data, err := json.Marshal(&first)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &second))
		require.True(t, reflect.DeepEqual(first, second), "API-519: %s", name)
	}
}
