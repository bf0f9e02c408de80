package apiserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/internal/apiserver"
)

const (
	widgetsV1 = "/apis/example.com/v1/namespaces/default/widgets"
	widgetsV2 = "/apis/example.com/v2/namespaces/default/widgets"
)

// converted is a server whose widgets a webhook converts: spec.size of v1, which is stored, is spec.capacity of v2.
type converted struct {
	*hooked
	calls atomic.Int64
	// change may change an answer.
	change func(review *apiextensions.ConversionReview, objs []map[string]any)
}

func newConverted(t *testing.T) *converted {
	t.Helper()
	c := &converted{hooked: newHooked(t), change: func(*apiextensions.ConversionReview, []map[string]any) {}}
	hook := httptest.NewTLSServer(http.HandlerFunc(c.serve))
	t.Cleanup(hook.Close)
	c.hooks = hook // its certificate is that of the admission webhooks
	schema := func(field string) string {
		return `{"type":"object","properties":{"spec":{"type":"object","properties":{"` + field + `":{"type":"integer","maximum":9},"mode":{"type":"string","default":"auto"}}}}}`
	}
	definition := strings.TrimSuffix(definitionOf(version("v1", true, schema("size"), `"subresources":{"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size"}}`),
		version("v2", false, schema("capacity"), `"subresources":{"scale":{"specReplicasPath":".spec.capacity","statusReplicasPath":".status.size"}}`)), "}}")
	c.must("POST "+definitions, fmt.Sprintf(`%s,"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":%q,"caBundle":%q}}}}}`,
		definition, hook.URL, c.authority()))
	return c
}

func (c *converted) serve(w http.ResponseWriter, req *http.Request) {
	c.calls.Add(1)
	review := &apiextensions.ConversionReview{}
	if err := json.NewDecoder(req.Body).Decode(review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &apiextensions.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	from, to := "size", "capacity"
	if strings.HasSuffix(review.Request.DesiredAPIVersion, "/v1") {
		from, to = to, from
	}
	var objs []map[string]any
	for _, raw := range review.Request.Objects {
		var obj map[string]any
		_ = json.Unmarshal(raw.Raw, &obj) // the server encoded it
		obj["apiVersion"] = review.Request.DesiredAPIVersion
		if spec, ok := obj["spec"].(map[string]any); ok && spec[from] != nil {
			spec[to] = spec[from]
			delete(spec, from)
		}
		objs = append(objs, obj)
	}
	c.change(review, objs)
	for _, obj := range objs {
		data, _ := json.Marshal(obj) // it was decoded
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Raw: data})
	}
	_ = json.NewEncoder(w).Encode(review) // the client is the server under test
}

func widgetIn(version, name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/%s","kind":"Widget","metadata":{"name":%q},"spec":{%s}}`, version, name, spec)
}

// TestConversions: requests see objects in their version, and objects are stored in the storage version. The real server is compared in
// internal/proof/apiserver.
func TestConversions(t *testing.T) {
	c := newConverted(t)
	c.must("POST "+widgetsV1, widgetIn("v1", "a", `"size":1`))
	require.Zero(t, c.calls.Load(), "API-480: the storage version is not converted")
	c.must("POST "+widgetsV2, widgetIn("v2", "b", `"capacity":2`))
	for _, test := range []struct{ id, line, body, want string }{
		{"API-480", "GET " + widgetsV2 + "/a", "", `"spec":{"capacity":1,"mode":"auto"}`},
		{"API-480", "GET " + widgetsV1 + "/b", "", `"spec":{"mode":"auto","size":2}`},
		{"API-480", "GET " + widgetsV2, "", `"spec":{"capacity":2,"mode":"auto"}`},
		{"API-480", "merge PATCH " + widgetsV2 + "/a", `{"spec":{"capacity":3}}`, `"spec":{"capacity":3,"mode":"auto"}`},
		{"API-480", "GET " + widgetsV1 + "/a", "", `"generation":2`},
		{"API-480", "merge PATCH " + widgetsV2 + "/a/scale", `{"spec":{"replicas":4}}`, `"replicas":4`},
		{"API-480", "GET " + widgetsV1 + "/a", "", `"spec":{"mode":"auto","size":4}`},
		{"API-480", "merge PATCH " + widgetsV2 + "/a", `{"spec":{"capacity":4}}`, `"generation":3`}, // nothing changes
		{"API-481", "DELETE " + widgetsV2 + "/b", "", `"status":"Success"`},
	} {
		line, merge := strings.CutPrefix(test.line, "merge ")
		var header []string
		if merge {
			header = []string{mergePatch}
		}
		require.Contains(t, c.must(line, test.body, header...), test.want, "%s: %s", test.id, test.line)
	}
	_, text := c.request("POST "+widgetsV2, widgetIn("v2", "c", `"capacity":10`))
	require.Contains(t, text, "spec.capacity: Invalid value: 10", "API-480: it is validated in the version of the request")
	resp, text := c.request("POST "+widgetsV2, widgetIn("v1", "c", `"capacity":1`))
	require.Contains(t, text, "does not match the expected API version", "API-487")
	require.Equal(t, []string{`299 - "unknown field \"spec.capacity\""`}, resp.Header.Values("Warning"), "API-487")
}

// TestConversionAnswers: what the answers of conversion webhooks mean.
func TestConversionAnswers(t *testing.T) {
	c := newConverted(t)
	c.must("POST "+widgetsV1, widgetIn("v1", "a", `"size":1`))
	meta := func(objs []map[string]any) map[string]any { return objs[0]["metadata"].(map[string]any) }
	for _, test := range []struct {
		id, name string
		change   func(review *apiextensions.ConversionReview, objs []map[string]any)
		want     string // part of the error
	}{
		{"API-482", "failure", func(r *apiextensions.ConversionReview, _ []map[string]any) {
			r.Response.Result = metav1.Status{Status: metav1.StatusFailure, Message: "cannot"}
		}, "conversion webhook for example.com/v1, Kind=Widget failed: cannot"},
		{"API-482", "another uid", func(r *apiextensions.ConversionReview, _ []map[string]any) { r.Response.UID = "x" }, "expected response.uid="},
		{"API-482", "no response", func(r *apiextensions.ConversionReview, _ []map[string]any) {
			r.Response = &apiextensions.ConversionResponse{}
		}, "expected response.uid="},
		{"API-483", "another version", func(_ *apiextensions.ConversionReview, objs []map[string]any) {
			objs[0]["apiVersion"] = "example.com/v3"
		},
			"invalid groupVersion (expected example.com/v2, received example.com/v3)"},
		{"API-483", "another name", func(_ *apiextensions.ConversionReview, objs []map[string]any) { meta(objs)["name"] = "x" }, "must have the same name: a != x"},
		{"API-483", "labels that are wrong", func(_ *apiextensions.ConversionReview, objs []map[string]any) {
			meta(objs)["labels"] = map[string]any{"a": 1}
		}, "metadata.labels[a] must be a string, but is int64"},
	} {
		c.change = test.change
		resp, text := c.request("GET "+widgetsV2+"/a", "")
		require.Equal(t, http.StatusInternalServerError, resp.StatusCode, "%s: %s", test.id, test.name)
		require.Contains(t, strings.ReplaceAll(text, `\"`, `"`), test.want, "%s: %s", test.id, test.name)
	}
	c.change = func(_ *apiextensions.ConversionReview, objs []map[string]any) {
		meta(objs)["labels"], meta(objs)["generation"], objs[0]["unknown"] = map[string]any{"l": "m"}, 7, "x"
	}
	got := c.must("GET "+widgetsV2+"/a", "")
	require.Contains(t, got, `"labels":{"l":"m"}`, "API-483: labels may change")
	require.Contains(t, got, `"generation":1`, "API-483: other metadata may not")
	require.NotContains(t, got, "unknown", "API-484")
	calls := c.calls.Load()
	c.must("GET "+widgetsV2+"/a", "")
	require.Equal(t, calls, c.calls.Load(), "API-485: what was converted is known")
}

// TestConversionWatch: a watch shows objects in its version.
func TestConversionWatch(t *testing.T) {
	c := newConverted(t)
	c.must("POST "+widgetsV1, widgetIn("v1", "a", `"size":1`))
	w := c.watch(widgetsV2+"?watch=true", "")
	next := func() string {
		require.True(t, w.lines.Scan(), "the watch ended")
		return w.lines.Text()
	}
	require.Contains(t, next(), `"capacity":1`, "API-480")
	c.must("POST "+widgetsV1, widgetIn("v1", "b", `"size":2`))
	require.Contains(t, next(), `"capacity":2`, "API-480")
	c.must("DELETE "+widgetsV1+"/a", "")
	require.Contains(t, next(), `"capacity":1`, "API-480")
}

// TestConversionsWithoutNetwork: a server that can ask no webhook changes the version only.
func TestConversionsWithoutNetwork(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	definition := strings.TrimSuffix(definitionOf(version("v1", true, anything), version("v2", false, anything)), "}}")
	f.must("POST "+definitions, definition+`,"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1"}}}}}`)
	f.must("POST "+widgetsV2, widgetIn("v2", "a", `"size":1`))
	got := f.must("GET "+widgetsV1+"/a", "")
	require.Contains(t, got, `"apiVersion":"example.com/v1"`, "API-486")
	require.Contains(t, got, `"size":1`, "API-486")
}
