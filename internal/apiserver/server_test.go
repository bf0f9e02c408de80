package apiserver_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/core/internals"
)

// fixture is a server over a cluster.
type fixture struct {
	t       *testing.T
	cluster *volsim.Cluster
	server  *apiserver.Server
}

// newFixture returns a server without managedFields, which most tests are not about.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureWith(t, apiserver.Config{NoManagedFields: true})
}

func newFixtureWith(t *testing.T, cfg apiserver.Config) *fixture {
	t.Helper()
	c, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	cfg.Backend = apiserver.ForEngine(internals.Engine(c))
	return &fixture{t, c, apiserver.New(cfg)}
}

// request sends a request: "METHOD PATH", headers as "Name: value", and a body. It returns the answer.
func (f *fixture) request(line, body string, headers ...string) (*http.Response, string) {
	f.t.Helper()
	method, path, _ := strings.Cut(line, " ")
	req, err := http.NewRequest(method, "http://volsim.invalid"+path, strings.NewReader(body))
	require.NoError(f.t, err)
	req.Header.Set("User-Agent", "test/v1")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := f.server.RoundTrip(req)
	require.NoError(f.t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(f.t, err)
	require.NoError(f.t, resp.Body.Close())
	return resp, string(data)
}

// expect sends a request and compares code and body of the answer. "{uid}" in want matches the uid in the answer.
func (f *fixture) expect(line, body string, code int, want string, headers ...string) {
	f.t.Helper()
	resp, got := f.request(line, body, headers...)
	var meta struct {
		Metadata struct{ UID string }
		Details  struct{ UID string }
	}
	if json.Unmarshal([]byte(got), &meta) == nil {
		for _, uid := range []string{meta.Metadata.UID, meta.Details.UID} {
			if uid != "" {
				got = strings.ReplaceAll(got, uid, "{uid}")
			}
		}
	}
	require.Equal(f.t, want, strings.TrimSuffix(got, "\n"), line)
	require.Equal(f.t, code, resp.StatusCode, line)
}

const (
	claims  = "/api/v1/namespaces/default/persistentvolumeclaims"
	classes = "/apis/storage.k8s.io/v1/storageclasses"
	volumes = "/api/v1/persistentvolumes"
	pods    = "/api/v1/namespaces/default/pods"

	class = `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast"},"provisioner":"example.com/disk"}`
	claim = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},
		"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"","resources":{"requests":{"storage":"1Gi"}}}}`
	pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"web"}]}}`
)

func TestObjects(t *testing.T) {
	f := newFixture(t)
	stored := `{"kind":"StorageClass","apiVersion":"storage.k8s.io/v1","metadata":{"name":"fast","uid":"{uid}","resourceVersion":"1",` +
		`"creationTimestamp":"2026-01-01T00:00:00Z"},"provisioner":"example.com/disk","reclaimPolicy":"Delete","volumeBindingMode":"Immediate"}`
	f.expect("POST "+classes, class, 201, stored)
	f.expect("GET "+classes+"/fast", "", 200, stored)
	f.expect("POST "+classes, class, 409, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
		`"message":"storageclasses.storage.k8s.io \"fast\" already exists","reason":"AlreadyExists",`+
		`"details":{"name":"fast","group":"storage.k8s.io","kind":"storageclasses"},"code":409}`)
	f.expect("GET "+classes+"/slow", "", 404, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
		`"message":"storageclasses.storage.k8s.io \"slow\" not found","reason":"NotFound",`+
		`"details":{"name":"slow","group":"storage.k8s.io","kind":"storageclasses"},"code":404}`)
	f.expect("GET "+classes, "", 200, strings.Replace(
		`{"kind":"StorageClassList","apiVersion":"storage.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[`+
			strings.Replace(stored, `"kind":"StorageClass","apiVersion":"storage.k8s.io/v1",`, "", 1)+`]}`, "{uid}", f.uid(classes+"/fast"), 1))
	f.expect("PATCH "+classes+"/fast?fieldManager=me", `{"metadata":{"labels":{"a":"b"}}}`, 200,
		strings.NewReplacer(`"1"`, `"2"`, `Z"}`, `Z","labels":{"a":"b"}}`).Replace(stored), "Content-Type: application/merge-patch+json")
	f.expect("DELETE "+classes+"/fast", "", 200, strings.NewReplacer(`"1"`, `"3"`, `Z"}`, `Z","labels":{"a":"b"}}`).Replace(stored))
	f.expect("GET "+classes, "", 200,
		`{"kind":"StorageClassList","apiVersion":"storage.k8s.io/v1","metadata":{"resourceVersion":"3"},"items":[]}`)

	var actors []string
	for e := range f.cluster.Trace().Entries() {
		actors = append(actors, e.Actor)
	}
	require.Subset(t, actors, []string{"user/test", "user/me"})
}

func (f *fixture) uid(path string) string {
	f.t.Helper()
	_, data := f.request("GET "+path, "")
	var obj struct{ Metadata struct{ UID string } }
	require.NoError(f.t, json.Unmarshal([]byte(data), &obj))
	return obj.Metadata.UID
}

// failure returns the Status of a failed request.
func failure(message, rest string) string {
	quoted, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	return `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":` + string(quoted) + "," + rest + "}"
}

// indented returns JSON as kube-apiserver sends it where it does not negotiate (API-587).
func indented(text string) string {
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(text), "", "  "); err != nil {
		panic(err)
	}
	return out.String()
}

func TestRejectedRequests(t *testing.T) {
	badRequest := func(message string) string { return failure(message, `"reason":"BadRequest","code":400`) }
	noRoute := failure("the server could not find the requested resource", `"reason":"NotFound","details":{},"code":404`)
	tests := []struct {
		name, line, body string
		headers          []string
		code             int
		want             string
	}{
		{name: "no such path", line: "GET /nowhere", code: 404, want: "404 page not found"},
		{name: "no such resource", line: "GET /api/v1/widgets", code: 404, want: noRoute},
		{name: "a namespace for a kind without one", line: "GET /api/v1/namespaces/default/nodes", code: 404, want: noRoute},
		{name: "an object without its namespace", line: "GET /api/v1/pods/web", code: 404, want: noRoute},
		{name: "no such subresource", line: "GET " + claims + "/data/scale", code: 404, want: noRoute},
		{
			name: "a method that the path does not have", line: "PUT " + claims, code: 405,
			want: failure("the server does not allow this method on the requested resource", `"reason":"MethodNotAllowed","details":{},"code":405`),
		},
		{
			name: "another namespace in the body", line: "POST " + claims, body: strings.Replace(claim, `"data"`, `"data","namespace":"other"`, 1), code: 400,
			want: badRequest("the namespace of the provided object does not match the namespace sent on the request"),
		},
		{
			name: "another kind", line: "POST " + claims, body: pod, code: 400,
			want: badRequest(`Pod in version "v1" cannot be handled as a PersistentVolumeClaim: converting (v1.Pod) to (core.PersistentVolumeClaim): unknown conversion`),
		},
		{
			name: "an unknown kind", line: "POST " + claims, body: `{"apiVersion":"v1","kind":"Widget"}`, code: 400,
			want: badRequest(`Widget in version "v1" cannot be handled as a PersistentVolumeClaim: no kind "Widget" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"`),
		},
		{
			name: "an unknown field, strictly", line: "POST " + claims + "?fieldValidation=Strict", body: strings.Replace(claim, `"spec":{`, `"spec":{"size":1,`, 1), code: 400,
			want: badRequest(`PersistentVolumeClaim in version "v1" cannot be handled as a PersistentVolumeClaim: strict decoding error: unknown field "spec.size"`),
		},
		{
			name: "an unknown value of fieldValidation", line: "POST " + claims + "?fieldValidation=Sometimes", body: claim, code: 422,
			want: failure(`CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Sometimes": supported values: "", "Ignore", "Strict", "Warn"`,
				`"reason":"Invalid","details":{"group":"meta.k8s.io","kind":"CreateOptions","causes":[{"reason":"FieldValueNotSupported",`+
					`"message":"Unsupported value: \"Sometimes\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"","field":"fieldValidation"}]},"code":422`),
		},
		{
			name: "a field selector that the kind does not have", line: "GET " + claims + "?fieldSelector=spec.volumeName%3Dpv", code: 400,
			want: badRequest(`"spec.volumeName" is not a known field selector: only "metadata.name", "metadata.namespace"`),
		},
		{
			name: "a field selector that pods do not have", line: "GET " + pods + "?fieldSelector=spec.image%3Dweb", code: 400,
			want: badRequest("field label not supported: spec.image"),
		},
		{
			name: "a patch of an unknown type", line: "PATCH " + claims + "/data", body: `{}`, headers: []string{"Content-Type: text/plain"}, code: 415,
			want: failure("415: Unsupported Media Type", `"reason":"UnsupportedMediaType","details":{},"code":415`),
		},
		{
			name: "a body of an unknown type", line: "POST " + claims, body: claim, headers: []string{"Content-Type: text/plain"}, code: 415,
			want: failure("the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, "+
				"application/vnd.kubernetes.protobuf", `"reason":"UnsupportedMediaType","code":415`),
		},
		{
			name: "an answer of an unknown type", line: "GET " + claims, headers: []string{"Accept: text/html"}, code: 406,
			want: indented(failure("406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf, "+
				"application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch", `"reason":"NotAcceptable","details":{},"code":406`)),
		},
		{
			name: "another name in the body", line: "PUT " + claims + "/other", body: claim, code: 400,
			want: badRequest("the name of the object (data) does not match the name on the URL (other)"),
		},
		{
			name: "a version that is yet to come", line: "GET " + claims + "?resourceVersion=99", code: 504,
			want: failure("Timeout: Too large resource version: 99, current: 0", `"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge",`+
				`"message":"Too large resource version"}],"retryAfterSeconds":1},"code":504`),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			f.expect(test.line, test.body, test.code, test.want, test.headers...)
			require.Zero(t, internals.Engine(f.cluster).Store().Version(), "something was stored")
		})
	}
}

func TestGroups(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"widgets.zoo.example.com", "gadgets.ant.example.com"} {
		plural, group, _ := strings.Cut(name, ".")
		f.must("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"`+name+`"},"spec":{"group":"`+group+`","scope":"Cluster",
			"names":{"plural":"`+plural+`","kind":"`+strings.ToUpper(plural[:1])+plural[1:]+`"},"versions":[{"name":"v1","served":true,"storage":true,
			"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`)
	}
	var list metav1.APIGroupList
	require.NoError(t, json.Unmarshal([]byte(f.must("GET /apis", "")), &list))
	var names []string
	for _, g := range list.Groups {
		if slices.Contains([]string{"apps", "events.k8s.io", "batch", "storage.k8s.io", "policy", "ant.example.com", "zoo.example.com"}, g.Name) {
			names = append(names, g.Name)
		}
	}
	require.Equal(t, []string{"apps", "events.k8s.io", "batch", "policy", "storage.k8s.io", "ant.example.com", "zoo.example.com"}, names, "API-510")
}

func TestMetrics(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+claims, `{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`)
	text := f.must("GET /metrics", "")
	require.Contains(t, text, "# TYPE apiserver_resource_objects gauge\n", "API-511")
	require.Contains(t, text, `apiserver_resource_objects{group="",resource="persistentvolumeclaims"} 1`+"\n", "API-511")
	require.Contains(t, text, `apiserver_resource_objects{group="apps",resource="deployments"} 0`+"\n", "API-511")
}

func TestSystemClasses(t *testing.T) {
	f := newFixture(t)
	const path = "/apis/scheduling.k8s.io/v1/priorityclasses"
	f.must("POST "+path, `{"metadata":{"name":"system-node-critical"},"value":2000001000}`)
	f.fails("DELETE "+path+"/system-node-critical", "", 403, `priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system priority class and cannot be deleted`) // API-509
	f.must("DELETE "+path, "")
	f.fails("GET "+path+"/system-node-critical", "", 404, `priorityclasses.scheduling.k8s.io "system-node-critical" not found`)
}

func TestHealth(t *testing.T) {
	f := newFixture(t)
	f.expect("GET /readyz", "", 200, "ok")
	for _, tt := range []struct {
		rule, path string
		code       int
		want       string
	}{
		{"API-504", "/livez?exclude=x", 200, "ok"},
		{"API-504", "/healthz/etcd", 200, "ok"},
		{"API-504", "/readyz/ping?verbose", 200, "ok"},
		{"API-504", "/healthz/poststarthook/rbac/bootstrap-roles", 200, "ok"},
		{"API-504", "/readyz/none", 404, "404 page not found"},
		{"API-504", "/readyz/", 404, "404 page not found"},
		{"API-504", "/livez/shutdown", 404, "404 page not found"},
	} {
		f.expect("GET "+tt.path, "", tt.code, tt.want)
	}
	f.expect("POST /readyz", "", 200, "ok") // API-504
	for _, tt := range []struct{ rule, path, want string }{
		{"API-504", "/readyz?verbose", "[+]ping ok\n[+]log ok\n[+]etcd ok\n[+]etcd-readiness ok\n[+]informer-sync ok\n[+]poststarthook/"},
		{"API-504", "/readyz?verbose", "[+]shutdown ok\nreadyz check passed\n"},
		{"API-504", "/livez?verbose&exclude=ping", "[+]ping excluded: ok\n[+]log ok\n[+]loopback-serving-certificate ok\n[+]etcd ok\n"},
		{"API-504", "/livez?verbose&exclude=x&exclude=a&exclude=x", "\nwarn: some health checks cannot be excluded: no matches for \"a\",\"x\"\nlivez check passed\n"},
		{"API-504", "/", `"/readyz/poststarthook/rbac/bootstrap-roles"`},
		{"API-504", "/metrics/slis", `kubernetes_healthcheck{name="ping",type="readyz"} 1`},
	} {
		require.Contains(t, f.must("GET "+tt.path, ""), tt.want, tt.rule)
	}
}
