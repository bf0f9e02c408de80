package apiserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	widgetList  = "/apis/example.com/v1/namespaces/default/widgets"
	mergePatch  = "Content-Type: application/merge-patch+json"
	applyPatch  = "Content-Type: application/apply-patch+yaml"
	anything    = `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`
)

// version returns a version of a definition. more are further fields of it.
func version(name string, storage bool, schema string, more ...string) string {
	return fmt.Sprintf(`{"name":%q,"served":true,"storage":%t,"schema":{"openAPIV3Schema":%s}%s}`, name, storage, schema,
		strings.Join(append([]string{""}, more...), ","))
}

// definitionOf returns the definition of widgets.example.com.
func definitionOf(versions ...string) string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
		"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},"versions":[` + strings.Join(versions, ",") + `]}}`
}

// widget returns a custom object with that metadata besides its name.
func widget(name, meta, fields string) string {
	text := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"` + name + `"`
	if meta != "" {
		text += "," + meta
	}
	text += "}"
	if fields != "" {
		text += "," + fields
	}
	return text + "}"
}

// fails sends a request that must fail with that code and message.
func (f *fixture) fails(line, body string, code int, message string, headers ...string) {
	f.t.Helper()
	resp, got := f.request(line, body, headers...)
	var status metav1.Status
	require.NoError(f.t, json.Unmarshal([]byte(got), &status), "%s: %s", line, got)
	require.Equal(f.t, message, status.Message, "%s %s", line, body)
	require.Equal(f.t, code, resp.StatusCode, "%s %s", line, body)
}

// TestGroupVersions: discovery lists a group once, with its versions in their order of priority (API-304).
func TestGroupVersions(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+definitions, definitionOf(version("v1alpha1", false, anything), version("v1", true, anything), version("v1beta1", false, anything)))
	check := func(want ...string) {
		t.Helper()
		var groups metav1.APIGroupList
		require.NoError(t, json.Unmarshal([]byte(f.must("GET /apis", "")), &groups))
		var found []metav1.APIGroup
		for _, g := range groups.Groups {
			if g.Name == "example.com" {
				found = append(found, g)
			}
		}
		require.Len(t, found, 1, "API-304")
		var one metav1.APIGroup
		require.NoError(t, json.Unmarshal([]byte(f.must("GET /apis/example.com", "")), &one))
		require.Equal(t, found[0].Versions, one.Versions, "API-304")
		require.Equal(t, one.Versions[0], one.PreferredVersion, "API-304")
		require.Equal(t, found[0].PreferredVersion, one.PreferredVersion, "API-304")
		var names []string
		for _, v := range one.Versions {
			names = append(names, v.Version)
			require.Contains(t, f.must("GET /apis/"+v.GroupVersion, ""), `"name":"widgets"`)
		}
		require.Equal(t, want, names, "API-304")

		var list apidiscoveryv2.APIGroupDiscoveryList
		require.NoError(t, json.Unmarshal([]byte(f.must("GET /apis", "", "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")), &list))
		names = nil
		for _, g := range list.Items {
			for _, v := range g.Versions {
				if g.Name == "example.com" {
					names = append(names, v.Version)
					require.Len(t, v.Resources, 1)
				}
			}
		}
		require.Equal(t, want, names, "API-304")
	}
	check("v1", "v1beta1", "v1alpha1")
	// A version that is added later precedes the others if it is newer.
	f.must("PATCH "+definitions+"/widgets.example.com", `[{"op":"add","path":"/spec/versions/-","value":`+version("v2", false, anything)+`}]`,
		"Content-Type: application/json-patch+json")
	check("v2", "v1", "v1beta1", "v1alpha1")
}
