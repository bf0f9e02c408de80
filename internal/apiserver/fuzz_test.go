package apiserver_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/apiserver/clock"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/storage"
)

// fuzzed is the server that the requests of a fuzz target are sent to. It is replaced from time to time, so that it stays small.
type fuzzed struct {
	cluster  *volsim.Cluster
	server   *apiserver.Server
	requests int
}

// lifetime is how many requests one server gets.
const lifetime = 2000

const widgets = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},"spec":{
	"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,
	"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
	"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","required":["size"],"properties":{
	"size":{"type":"integer","minimum":1},"replicas":{"type":"integer","default":1},"parts":{"type":"array","items":{"type":"string"}}}}}}}}]}}`

func (f *fuzzed) renew(t *testing.T) {
	if f.requests++; f.cluster != nil && f.requests%lifetime != 0 {
		return
	}
	if f.cluster != nil {
		f.cluster.Close()
	}
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{fake.CSI("disk.example.com")}, TraceLimit: 1000})
	require.NoError(t, err)
	e := internals.Engine(c)
	f.cluster = c
	f.server, _ = apiserver.NewWithClock(apiserver.Config{Backend: apiserver.ForEngine(e), TaintNodes: true, PodPriority: true}, e, clock.Pace{})
	for _, line := range [][2]string{
		{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgets}, {claims, claim}, {pods, pod}, {classes, class},
		{maps, `{"metadata":{"name":"m"},"data":{"k":"v"}}`}, {"/apis/example.com/v1/namespaces/default/widgets", `{"apiVersion":"example.com/v1",
			"kind":"Widget","metadata":{"name":"w"},"spec":{"size":2}}`},
	} {
		f.send(t, "POST", line[0], "application/json", "", line[1])
	}
}

// send sends a request and reads the answer, of a watch only what is there.
func (f *fuzzed) send(t *testing.T, method, target, contentType, accept, body string) (int, string) {
	u, err := url.Parse(target)
	if err != nil {
		u = &url.URL{Path: target}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := (&http.Request{Method: method, URL: u, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), RequestURI: target}).WithContext(ctx)
	req.Header.Set("User-Agent", "fuzz/v1")
	for name, value := range map[string]string{"Content-Type": contentType, "Accept": accept} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	began := time.Now()
	resp, err := f.server.RoundTrip(req)
	require.NoError(t, err)
	require.Less(t, time.Since(began), 20*time.Second, "%s %s takes too long", method, target)
	if resp.ContentLength < 0 {
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode, ""
	}
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, int64(len(data)), resp.ContentLength)
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		require.True(t, json.Valid(data), "%s %s: %s", method, target, data)
	}
	return resp.StatusCode, string(data)
}

// FuzzRequests: whatever a client sends, the server answers with a code that HTTP has, and a request that it refuses stores nothing. Requests for
// several objects may have an effect before they fail.
func FuzzRequests(f *testing.F) {
	seeds := []struct{ method, target, contentType, accept, body string }{
		{"POST", claims, "application/json", "", claim},
		{"POST", claims + "?dryRun=All&fieldValidation=Strict&fieldManager=me", "application/yaml", "application/yaml", "{kind: PersistentVolumeClaim, metadata: {generateName: a-}}"},
		{"POST", pods, "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf", "k8s\x00\n\t\n\x02v1\x12\x03Pod\x12\x14\n\x12\n\x03abc\x12\x00\x1a\x00"},
		{"POST", "/api/v1/namespaces/default/bindings", "application/json", "", `{"metadata":{"name":"web"},"target":{"kind":"Node","name":"n1"}}`},
		{"PUT", claims + "/data", "application/json", "", claim},
		{"PATCH", claims + "/data", "application/json-patch+json", "", `[{"op":"add","path":"/metadata/labels","value":{"a":"b"}},{"op":"copy","from":"/spec","path":"/x"}]`},
		{"PATCH", claims + "/data", "application/merge-patch+json", "", `{"metadata":{"finalizers":null,"labels":{"a":null}},"spec":{"resources":{"requests":{"storage":"1e30"}}}}`},
		{"PATCH", pods + "/web", "application/strategic-merge-patch+json", "", `{"spec":{"containers":[{"name":"c","$patch":"delete"}],"$setElementOrder/containers":[{"name":"c"}]}}`},
		{"PATCH", pods + "/web/status", "application/strategic-merge-patch+json", "", `{"status":{"conditions":[{"type":"Ready","status":"True"}],"$retainKeys":["x"]}}`},
		{"PATCH", maps + "/m?fieldManager=me&force=true", "application/apply-patch+yaml", "", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: &a {k: w}\n"},
		{"PATCH", "/apis/example.com/v1/namespaces/default/widgets/w?fieldManager=me", "application/apply-patch+yaml", "", `{"apiVersion":"example.com/v1","kind":"Widget","spec":{"size":0,"parts":[1]}}`},
		{"PATCH", "/apis/example.com/v1/namespaces/default/widgets/w/scale", "application/merge-patch+json", "", `{"spec":{"replicas":-1}}`},
		{"PATCH", "/apis/example.com/v1/namespaces/default/widgets/w/status", "application/json-patch+json", "", `[{"op":"test","path":"","value":null}]`},
		{"PATCH", maps + "/m", "application/merge-patch+json", "", `{"metadata":{"managedFields":[{"manager":"x","operation":"Update","fieldsType":"FieldsV1","fieldsV1":{"f:":7}}]}}`},
		{"DELETE", maps + "/m?propagationPolicy=Orphan&gracePeriodSeconds=-1", "application/json", "", `{"preconditions":{"uid":"x"}}`},
		{"DELETE", pods, "application/json", "", `{"dryRun":["All"]}`},
		{"DELETE", pods + "/web", "application/json", "", `[]`},
		{"GET", pods + "?limit=-1&continue=x", "", "application/json;as=Table;v=v1;g=meta.k8s.io", ""},
		{"GET", pods + "?fieldSelector=spec.nodeName%3D&labelSelector=a+in+(b,c),!d", "", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json", ""},
		{"GET", pods + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1", "", "application/json;as=Table;v=v1;g=meta.k8s.io", ""},
		{"GET", "/apis/events.k8s.io/v1/events?resourceVersion=0", "", "", ""},
		{"GET", "/openapi/v3/apis/example.com/v1?hash=x", "", "*/*", ""},
		{"GET", "/api//v1/../pods/%2e%2e/%00", "", "", ""},
		{"GET", "/apis", "", "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList", ""},
		{"POST", pods + "/web/eviction", "application/json", "", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"web"}}`},
		{"POST", pods + "/web/binding", "application/json", "", `{"target":{"kind":"Node","name":"n1"}}`},
		{"PUT", "/apis/apps/v1/namespaces/default/deployments/d/scale", "application/json", "", `{"spec":{"replicas":1}}`},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "application/json", "", `{"spec":{"resourceAttributes":{"verb":"get"}}}`},
		{"POST", "/api/v1/namespaces/default/serviceaccounts/a/token", "application/json", "", `{"spec":{"expirationSeconds":-1}}`},
		{"POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", "", strings.ReplaceAll(widgets, "widget", "gadget")},
		{"POST", "/volsim/clock?do=advance&by=1s", "", "", ""},
		{"CONNECT", "\xff", "\xff", "\xff", "\xff"},
	}
	for _, s := range seeds {
		f.Add(s.method, s.target, s.contentType, s.accept, s.body)
	}
	server := &fuzzed{}
	f.Cleanup(func() {
		if server.cluster != nil {
			server.cluster.Close()
		}
	})
	f.Fuzz(func(t *testing.T, method, target, contentType, accept, body string) {
		server.renew(t)
		// A jump of virtual time may take as long as the work that is in it.
		if strings.HasPrefix(target, "/volsim/") {
			return
		}
		objects := internals.Engine(server.cluster).Store()
		before := objects.Version()
		code, _ := server.send(t, method, target, contentType, accept, body)
		require.True(t, code >= 200 && code < 600 && http.StatusText(code) != "", "code %d", code)
		if code >= 400 && method != http.MethodDelete {
			require.Equal(t, before, objects.Version(), "%s %s is refused with %d and stores something", method, target, code)
		}
		// The server still works.
		code, text := server.send(t, "GET", "/api/v1/namespaces/default", "", "", "")
		require.True(t, code == 200 || code == 404, text)
	})
}

// TestMangledRequests sends requests of real clients with bytes changed, cut, repeated and swapped, in each content type: none is stored in part.
func TestMangledRequests(t *testing.T) {
	bodies := []string{claim, pod, class, widgets, `[{"op":"replace","path":"/metadata/labels","value":{}}]`, "a: &a [1]\nb: *a\n", "\x00", "null", "[]", "{}", `""`, ""}
	types := []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/json-patch+json", "application/merge-patch+json",
		"application/strategic-merge-patch+json", "application/apply-patch+yaml", "application/cbor", ""}
	server := &fuzzed{}
	server.renew(t)
	defer func() { server.cluster.Close() }()
	count, refused := 0, 0
	for _, body := range bodies {
		for _, contentType := range types {
			for _, line := range []string{"POST " + claims, "PUT " + claims + "/data", "PATCH " + claims + "/data?fieldManager=m", "PATCH " + pods + "/web/status?fieldManager=m",
				"POST " + pods + "/web/eviction", "DELETE " + maps + "/m", "PATCH /apis/example.com/v1/namespaces/default/widgets/w?fieldManager=m"} {
				for _, altered := range mangled(body) {
					method, target, _ := strings.Cut(line, " ")
					objects := internals.Engine(server.cluster).Store()
					before := objects.Version()
					code, _ := server.send(t, method, target, contentType, "", altered)
					count++
					if code >= 400 {
						refused++
						require.Equal(t, before, objects.Version(), "%s %s %q: %d", line, contentType, altered, code)
					}
				}
			}
		}
	}
	t.Logf("%d requests, of which %d were refused", count, refused)
	require.Greater(t, refused, count/2)
}

// mangled returns variants of a body.
func mangled(body string) []string {
	variants := []string{body}
	for _, at := range []int{1, len(body) / 3, len(body) / 2, len(body) - 2} {
		if at <= 0 || at >= len(body) {
			continue
		}
		variants = append(variants, body[:at], body[at:], body[:at]+"\xff"+body[at+1:], body[:at]+body+body[at:])
	}
	return append(variants, strings.Repeat("[", 20_000), strings.ReplaceAll(body, `":"`, `":[{}],"`), strings.ReplaceAll(body, `"`, `'`))
}
