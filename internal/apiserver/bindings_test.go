package apiserver_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBindings: clients of objects create bindings as objects of a namespace, which are not stored.
func TestBindings(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+pods, pod)
	const bindings = "/api/v1/namespaces/default/bindings"
	require.Contains(t, f.must("GET /api/v1", ""), `{"name":"bindings","singularName":"binding","namespaced":true,"kind":"Binding","verbs":["create"]}`)
	for _, tt := range []struct {
		name, line, body, want string
		code                   int
	}{
		{"no name", "POST " + bindings, `{"target":{"name":"n1"}}`, "Name parameter required.", http.StatusBadRequest},
		{"unknown pod", "POST " + bindings, `{"metadata":{"name":"db"},"target":{"name":"n1"}}`, `pods \"db\" not found`, http.StatusNotFound},
		{"bound", "POST " + bindings, `{"metadata":{"name":"web"},"target":{"name":"n1"}}`, `"status":"Success"`, http.StatusCreated},
		{"again", "POST " + bindings, `{"metadata":{"name":"web"},"target":{"name":"n1"}}`, `pod web is already assigned to node`, http.StatusConflict},
		{"lists do not exist", "GET " + bindings, "", "does not allow this method", http.StatusMethodNotAllowed},
		{"objects do not exist", "GET " + bindings + "/web", "", "could not find the requested resource", http.StatusNotFound},
	} {
		resp, got := f.request(tt.line, tt.body)
		require.Equal(t, tt.code, resp.StatusCode, tt.name)
		require.Contains(t, got, tt.want, tt.name)
	}
	require.Contains(t, f.must("GET "+pods+"/web", ""), `"nodeName":"n1"`)
}

// TestRetryAfter: clients learn when to ask again from the header.
func TestRetryAfter(t *testing.T) {
	f := newFixture(t)
	resp, _ := f.request("GET "+pods+"?resourceVersion=99", "")
	require.Equal(t, http.StatusGatewayTimeout, resp.StatusCode)
	require.Equal(t, "1", resp.Header.Get("Retry-After"))
	resp, _ = f.request("GET "+pods+"/absent", "")
	require.Empty(t, resp.Header.Get("Retry-After"))
}
