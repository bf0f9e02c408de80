package apiserver_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	inProtobuf = "application/vnd.kubernetes.protobuf"
	asMetadata = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

// fromMessage decodes an answer in protobuf, and returns its kind.
func fromMessage(t *testing.T, data string, into interface{ Unmarshal([]byte) error }) string {
	t.Helper()
	raw, ok := bytes.CutPrefix([]byte(data), []byte("k8s\x00"))
	require.True(t, ok, data)
	var envelope runtime.Unknown
	require.NoError(t, envelope.Unmarshal(raw))
	require.NoError(t, into.Unmarshal(envelope.Raw))
	return envelope.APIVersion + " " + envelope.Kind
}

// TestProtobuf: objects, lists, metadata, errors and discovery in protobuf (API-586). TestProtobuf in internal/proof/apiserver compares the bytes of
// more than a thousand answers with those of kube-apiserver.
func TestProtobuf(t *testing.T) {
	f := newFixture(t)
	get := func(path, accept string, code int, into interface{ Unmarshal([]byte) error }) string {
		t.Helper()
		resp, text := f.request("GET "+path, "", "Accept: "+accept)
		require.Equal(t, code, resp.StatusCode)
		require.Equal(t, inProtobuf, resp.Header.Get("Content-Type"))
		return fromMessage(t, text, into)
	}
	for i := range 200 { // so many that the length of the list needs several bytes
		f.must("POST "+maps, fmt.Sprintf(`{"metadata":{"name":"m%03d","labels":{"n":"%d"}},"data":{"k":"v"}}`, i, i))
	}
	var object corev1.ConfigMap
	require.Equal(t, "v1 ConfigMap", get(maps+"/m001", inProtobuf, 200, &object))
	require.Equal(t, map[string]string{"k": "v"}, object.Data)
	for _, path := range []string{maps, maps, maps + "?fieldSelector=metadata.name%21%3Dx", "/api/v1/namespaces/other/configmaps"} {
		var list corev1.ConfigMapList
		require.Equal(t, "v1 ConfigMapList", get(path, inProtobuf, 200, &list))
		require.NotEmpty(t, list.ResourceVersion)
		if path != "/api/v1/namespaces/other/configmaps" {
			require.Len(t, list.Items, 200)
			require.Equal(t, "m199", list.Items[199].Name)
		}
	}
	var partial metav1.PartialObjectMetadata
	require.Equal(t, "meta.k8s.io/v1 PartialObjectMetadata", get(maps+"/m001", inProtobuf+asMetadata, 200, &partial))
	require.Equal(t, "m001", partial.Name)
	var older metav1beta1.PartialObjectMetadataList
	require.Equal(t, "meta.k8s.io/v1beta1 PartialObjectMetadataList", get(maps+"?limit=1", inProtobuf+";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1", 200, &older))
	require.Len(t, older.Items, 1)
	var status metav1.Status
	require.Equal(t, "v1 Status", get(maps+"/absent", inProtobuf, 404, &status))
	require.Equal(t, metav1.StatusReasonNotFound, status.Reason)
	var groups metav1.APIGroupList
	require.Equal(t, "v1 APIGroupList", get("/apis", inProtobuf, 200, &groups))
	require.NotEmpty(t, groups.Groups)

	f.must("POST "+definitions, definitionOf(version("v1", true, anything)))
	var definition apiextensions.CustomResourceDefinition
	require.Equal(t, "apiextensions.k8s.io/v1 CustomResourceDefinition", get(definitions+"/widgets.example.com", inProtobuf, 200, &definition))
	require.Equal(t, "widgets", definition.Spec.Names.Plural)
	require.Equal(t, "object", definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Type)
	// Custom objects have no messages, their metadata do.
	f.must("POST "+widgetList, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}}`)
	require.Equal(t, "v1 Status", get(widgetList+"/w", inProtobuf, 406, &status))
	require.Equal(t, "meta.k8s.io/v1 PartialObjectMetadata", get(widgetList+"/w", inProtobuf+asMetadata, 200, &partial))
	require.Equal(t, "w", partial.Name)
}

// TestWatchInProtobuf: an event is its length and a WatchEvent (API-586).
func TestWatchInProtobuf(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+maps, `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	for _, accept := range []string{inProtobuf, inProtobuf + ";stream=watch", inProtobuf + asMetadata} {
		resp, text := f.request("GET "+maps+"?watch=1&timeoutSeconds=1&allowWatchBookmarks=true", "", "Accept: "+accept)
		require.Equal(t, inProtobuf+";stream=watch", resp.Header.Get("Content-Type"))
		var types []string
		for data := []byte(text); len(data) > 0; {
			size := 4 + binary.BigEndian.Uint32(data)
			var event metav1.WatchEvent
			require.NoError(t, event.Unmarshal(data[4:size]))
			types = append(types, event.Type)
			var object corev1.ConfigMap
			kind := fromMessage(t, string(event.Object.Raw), &object)
			require.Contains(t, []string{"v1 ConfigMap", "meta.k8s.io/v1 PartialObjectMetadata"}, kind)
			if event.Type == "ADDED" {
				require.Equal(t, "a", object.Name)
			}
			data = data[size:]
		}
		require.Equal(t, []string{"ADDED", "BOOKMARK", "BOOKMARK"}, types)
	}
}

// TestNegotiation: which media type of an Accept header counts (API-587, API-588).
func TestNegotiation(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+maps, `{"metadata":{"name":"a"}}`)
	const route = "406: Not Acceptable"
	for _, test := range []struct {
		path, accept string
		code         int
		want         string // media type, or a part of the answer
	}{
		{maps + "/a", inProtobuf + ", */*", 200, inProtobuf},
		{maps + "/a", "*/*, " + inProtobuf, 200, inProtobuf},
		{maps + "/a", "application/*, " + inProtobuf, 200, inProtobuf},
		{maps + "/a", inProtobuf + ";q=0.5, application/json;q=0.9", 200, "application/json"},
		{maps + "/a", inProtobuf + ";q=0.9, application/yaml;q=0.8", 200, inProtobuf},
		{maps + "/a", inProtobuf + ";as=Table;g=meta.k8s.io;v=v1, application/json;as=Table;g=meta.k8s.io;v=v1", 200, `"kind":"Table"`},
		{maps + "/a", inProtobuf + ";as=Table;g=meta.k8s.io;v=v1", 406, "only the following media types are accepted"},
		{maps + "/a", inProtobuf + ";stream=other, application/json", 200, "application/json"},
		{maps + "/a", "application/*", 406, route},
		{maps + "/a", "text/html", 406, route},
		{maps + "?watch=1", "application/yaml", 406, "accepted: application/json;stream=watch"},
		{"/version", inProtobuf, 406, route},
		{"/version", "application/json;as=Table;g=meta.k8s.io;v=v1", 200, "gitVersion"},
		{"/", inProtobuf, 200, "application/json"},
		{"/apis", "text/html", 406, "only the following media types are accepted"},
	} {
		resp, text := f.request("GET "+test.path, "", "Accept: "+test.accept)
		require.Equal(t, test.code, resp.StatusCode, test)
		require.Contains(t, resp.Header.Get("Content-Type")+" "+text, test.want, test)
	}
}
