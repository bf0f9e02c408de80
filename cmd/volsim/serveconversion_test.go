package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestServeConversions: objects go through the conversion webhook of their definition, and the script of the run has its answers (API-486).
func TestServeConversions(t *testing.T) {
	address, authority := hookServer(t, func(w http.ResponseWriter, req *http.Request) {
		var review apiextensions.ConversionReview
		_ = json.NewDecoder(req.Body).Decode(&review) // the client is the server under test
		review.Response = &apiextensions.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
		for _, obj := range review.Request.Objects {
			text := strings.NewReplacer(`"size"`, `"capacity"`, "/v1", "/v2").Replace(string(obj.Raw))
			if strings.HasSuffix(review.Request.DesiredAPIVersion, "/v1") {
				text = strings.NewReplacer(`"capacity"`, `"size"`, "/v2", "/v1").Replace(string(obj.Raw))
			}
			review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Raw: []byte(text)})
		}
		_ = json.NewEncoder(w).Encode(review)
	})
	r := serving(t, serveFlags{time: "manual", services: map[string]string{"hooks/labels": address}})
	version := func(name, field string, storage bool) string {
		return fmt.Sprintf(`{"name":%q,"served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{%q:{"type":"integer"}}}}}}}`,
			name, storage, field)
	}
	must := func(line, body string, want ...string) string {
		t.Helper()
		code, text := r.send(line, body)
		require.Less(t, code, http.StatusBadRequest, text)
		for _, part := range want {
			require.Contains(t, text, part)
		}
		return text
	}
	must("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"boxes.example.com"},
		"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"boxes","kind":"Box"},"versions":[%s,%s],"conversion":{"strategy":"Webhook","webhook":{
		"conversionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"hooks","name":"labels","path":"/convert"},"caBundle":%q}}}}}`,
		version("v1", "size", true), version("v2", "capacity", false), authority))
	const v1, v2 = "/apis/example.com/v1/namespaces/default/boxes", "/apis/example.com/v2/namespaces/default/boxes"
	must("POST "+v2, `{"apiVersion":"example.com/v2","kind":"Box","metadata":{"generateName":"b-"},"spec":{"capacity":1}}`, `"spec":{"capacity":1}`)
	var stored metav1.PartialObjectMetadata
	require.NoError(t, json.Unmarshal([]byte(must("POST "+v1, `{"apiVersion":"example.com/v1","kind":"Box","metadata":{"name":"a"},"spec":{"size":2}}`, `"spec":{"size":2}`)), &stored))
	// The same object again is not a write: neither here, nor when volsim run executes the script.
	must("PUT "+v2+"/a", fmt.Sprintf(`{"apiVersion":"example.com/v2","kind":"Box","metadata":{"name":"a","resourceVersion":%q},"spec":{"capacity":2}}`, stored.ResourceVersion),
		`"generation":1`)
	must("PUT "+v2+"/a", fmt.Sprintf(`{"apiVersion":"example.com/v2","kind":"Box","metadata":{"name":"a","resourceVersion":%q},"spec":{"capacity":3}}`, stored.ResourceVersion),
		`"spec":{"capacity":3}`)
	must("GET "+v1, "", `"spec":{"size":1}`, `"spec":{"size":3}`)
	_, want := r.send("GET /volsim/trace", "")
	r.stop()
	got := command(t, "run", "-q", "--trace", "-", r.record)
	_, got, _ = strings.Cut(got, "\n") // the result of the script
	require.Equal(t, want, got)
	require.Contains(t, got, "update Box.example.com/default/a: metadata.generation 1 -> 2, spec.size 2 -> 3")
}
