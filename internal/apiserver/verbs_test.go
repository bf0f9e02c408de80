package apiserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/store"
)

// must sends a request that must succeed, and returns the answer.
func (f *fixture) must(line, body string, headers ...string) string {
	f.t.Helper()
	resp, got := f.request(line, body, headers...)
	require.Less(f.t, resp.StatusCode, 300, "%s: %s", line, got)
	return got
}

// names returns the names of the items of a list, and its metadata.
func (f *fixture) names(line string) ([]string, metav1.ListMeta) {
	f.t.Helper()
	var list metav1.PartialObjectMetadataList
	require.NoError(f.t, json.Unmarshal([]byte(f.must(line, "")), &list))
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names, list.ListMeta
}

func named(manifest, name string) string { return strings.Replace(manifest, `"data"`, `"`+name+`"`, 1) }

func TestList(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		f.must("POST "+claims, named(claim, name))
	}
	f.must("PATCH "+claims+"/b", `{"metadata":{"labels":{"app":"web"}}}`, "Content-Type: application/merge-patch+json")

	first, meta := f.names("GET " + claims + "?limit=2")
	require.Equal(t, []string{"a", "b"}, first)
	require.Equal(t, int64(3), *meta.RemainingItemCount)
	// A change between two pages does not show.
	f.must("DELETE "+claims+"/c", "")
	f.must("PATCH "+claims+"/c", `{"metadata":{"finalizers":null}}`, "Content-Type: application/merge-patch+json")
	f.must("POST "+claims, named(claim, "bb"))
	second, next := f.names("GET " + claims + "?limit=2&continue=" + meta.Continue)
	require.Equal(t, []string{"c", "d"}, second)
	require.Equal(t, meta.ResourceVersion, next.ResourceVersion)
	third, last := f.names("GET " + claims + "?limit=2&continue=" + next.Continue)
	require.Equal(t, []string{"e"}, third)
	require.Empty(t, last.Continue)

	for query, want := range map[string][]string{
		"":                                   {"a", "b", "bb", "d", "e"},
		"?labelSelector=app":                 {"b"},
		"?labelSelector=app!%3Dweb":          {"a", "bb", "d", "e"},
		"?fieldSelector=metadata.name%3Dd":   {"d"},
		"?limit=2&resourceVersion=0":         {"a", "b", "bb", "d", "e"},
		"?resourceVersion=3&limit=9":         {"a", "b", "c"},
		"?resourceVersion=3":                 {"a", "b", "bb", "d", "e"},
		"?fieldSelector=metadata.name%21%3D": {"a", "b", "bb", "d", "e"},
	} {
		got, _ := f.names("GET " + claims + query)
		require.Equal(t, want, got, query)
		all, _ := f.names("GET " + strings.Replace(claims, "/namespaces/default", "", 1) + query)
		require.Equal(t, want, all, "all namespaces%s", query)
	}
	exact, meta := f.names("GET " + claims + "?resourceVersion=2&resourceVersionMatch=Exact")
	require.Equal(t, []string{"a", "b"}, exact)
	require.Equal(t, "2", meta.ResourceVersion)
}

func TestExpired(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+claims, named(claim, "a"))
	f.must("POST "+claims, named(claim, "b"))
	_, meta := f.names("GET " + claims + "?limit=1")
	for i := range 1001 { // the store remembers 1,000 changes
		f.must("PATCH "+claims+"/a", fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, i), "Content-Type: application/merge-patch+json")
	}
	f.expect("GET "+claims+"?resourceVersion=2&resourceVersionMatch=Exact", "", 410,
		failure("The resourceVersion for the provided list is too old.", `"reason":"Expired","code":410`))
	resp, got := f.request("GET "+claims+"?limit=1&continue="+meta.Continue, "")
	require.Equal(t, 410, resp.StatusCode)
	var status metav1.Status
	require.NoError(t, json.Unmarshal([]byte(got), &status))
	rest, _ := f.names("GET " + claims + "?limit=1&continue=" + status.Continue)
	require.Equal(t, []string{"b"}, rest, "the new token leads to the rest, whatever changed")

	resp, got = f.request("GET "+claims+"?watch=1&resourceVersion=2", "")
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
		`"message":"too old resource version: 2 (3)","reason":"Expired","code":410}}`+"\n", got)
}

func TestPatches(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+pods, pod)
	patch := func(kind, body string) string {
		t.Helper()
		return f.must("PATCH "+pods+"/web", body, "Content-Type: application/"+kind+"+json")
	}
	labels := func(data string) map[string]string {
		var obj metav1.PartialObjectMetadata
		require.NoError(t, json.Unmarshal([]byte(data), &obj))
		return obj.Labels
	}
	require.Equal(t, map[string]string{"app": "web", "a": "1"}, labels(patch("json-patch", `[{"op":"add","path":"/metadata/labels/a","value":"1"}]`)))
	require.Equal(t, map[string]string{"app": "web"}, labels(patch("merge-patch", `{"metadata":{"labels":{"a":null}}}`)))
	// A strategic patch merges containers by their names.
	require.Contains(t, patch("strategic-merge-patch", `{"spec":{"containers":[{"name":"c","image":"web:2"}]}}`), `"image":"web:2"`)

	version := internals.Engine(f.cluster).Store().Version()
	invalid := func(message string) string {
		quoted, err := json.Marshal(message)
		require.NoError(t, err)
		return failure(` "" is invalid: patch: `+message, `"reason":"Invalid","details":{"causes":[{"reason":"FieldValueInvalid","message":`+
			string(quoted)+`,"field":"patch"}]},"code":422`)
	}
	tests := []struct {
		kind, body, query string
		code              int
		want              string
	}{
		{
			"json-patch", `[{"op":"test","path":"/metadata/name","value":"x"}]`, "", 422,
			failure(`the server rejected our request due to an error in our request`, `"reason":"Invalid","details":{},"code":422`),
		},
		{"json-patch", `{`, "", 400, failure("error decoding patch: unexpected end of JSON input", `"reason":"BadRequest","code":400`)},
		{
			"merge-patch", `{"metadata":{"name":"other"}}`, "", 400,
			failure("the name of the object (other) does not match the name on the URL (web)", `"reason":"BadRequest","code":400`),
		},
		{
			"strategic-merge-patch", `{"spec":{"nodes":1}}`, "?fieldValidation=Strict", 422,
			invalid(`Invalid value: "map[spec:map[nodes:1]]": strict decoding error: unknown field "spec.nodes"`),
		},
		{
			"strategic-merge-patch", `{"spec":{"containers":1}}`, "", 422,
			invalid(`Invalid value: "map[spec:map[containers:1]]": cannot restore slice from int64`),
		},
	}
	for _, test := range tests {
		resp, got := f.request("PATCH "+pods+"/web"+test.query, test.body, "Content-Type: application/"+test.kind+"+json")
		require.Equal(t, test.want+"\n", got, test.body)
		require.Equal(t, test.code, resp.StatusCode, test.body)
	}
	require.Equal(t, version, internals.Engine(f.cluster).Store().Version(), "a rejected patch stored something")
}

func TestWarnings(t *testing.T) {
	f := newFixture(t)
	resp, _ := f.request("POST "+claims, strings.Replace(claim, `"spec":{`, `"spec":{"size":1,`, 1))
	require.Equal(t, 201, resp.StatusCode)
	require.Equal(t, []string{`299 - "unknown field \"spec.size\""`}, resp.Header.Values("Warning"))
	resp, _ = f.request("POST "+claims, "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: x}\nspec:\n  accessModes: [ReadWriteOnce]\n"+
		"  size: 1\n  resources: {requests: {storage: 1Gi}}\n", "Content-Type: application/yaml")
	require.Equal(t, 201, resp.StatusCode)
	require.Equal(t, []string{`299 - "unknown field \"spec.size\""`}, resp.Header.Values("Warning"))
	resp, _ = f.request("PATCH "+claims+"/x?fieldValidation=Ignore", `{"spec":{"size":2}}`, "Content-Type: application/merge-patch+json")
	require.Equal(t, 200, resp.StatusCode)
	require.Empty(t, resp.Header.Values("Warning"))
}

// API-320: warnings of the API server are headers, of dry runs too.
func TestDeprecationWarnings(t *testing.T) {
	f := newFixture(t)
	const volumes = "/api/v1/persistentvolumes"
	const volume = `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v"},"spec":{"persistentVolumeReclaimPolicy":"Recycle",
		"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"hostPath":{"path":"/data"}}}`
	want := []string{`299 - "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is ` +
		`to use dynamic provisioning."`}
	for _, tt := range []struct {
		request, body string
		want          []string
	}{
		{"POST " + volumes + "?dryRun=All", volume, want},
		{"POST " + volumes, volume, want},
		{"POST " + volumes, volume, want}, // the name is taken
		{"PATCH " + volumes + "/v", `{"metadata":{"labels":{"a":"b"}}}`, want},
		{"PATCH " + volumes + "/v/status", `{"status":{"phase":"Available"}}`, nil},
		{"PATCH " + volumes + "/v", `{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`, nil},
	} {
		resp, body := f.request(tt.request, tt.body, "Content-Type: "+contentTypeOf(tt.request))
		require.Equal(t, tt.want, resp.Header["Warning"], "API-320, API-322: %s: %s", tt.request, body)
	}
}

func contentTypeOf(request string) string {
	if strings.HasPrefix(request, "PATCH") {
		return "application/merge-patch+json"
	}
	return "application/json"
}

func TestDryRun(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+claims, claim)
	f.must("POST "+classes, class)
	version := internals.Engine(f.cluster).Store().Version()
	for _, request := range []struct{ line, body, contentType string }{
		{"POST " + claims + "?dryRun=All", named(claim, "other"), "application/json"},
		{"PATCH " + claims + "/data?dryRun=All", `{"metadata":{"labels":{"a":"b"}}}`, "application/merge-patch+json"},
		{"PUT " + classes + "/fast?dryRun=All", strings.Replace(class, `"name"`, `"labels":{"a":"b"},"name"`, 1), "application/json"},
		{"DELETE " + claims + "/data?dryRun=All", "", "application/json"},
		{"DELETE " + classes + "/fast", `{"dryRun":["All"]}`, "application/json"},
		{"DELETE " + claims + "?dryRun=All", "", "application/json"},
	} {
		f.must(request.line, request.body, "Content-Type: "+request.contentType)
		require.Equal(t, version, internals.Engine(f.cluster).Store().Version(), request.line)
	}
	require.Contains(t, f.must("PATCH "+claims+"/data?dryRun=All", `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type: application/merge-patch+json"),
		`"resourceVersion":"1","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"a":"b"}`)
	require.NotContains(t, f.must("POST "+claims+"?dryRun=All", named(claim, "other")), "resourceVersion")
}

func TestDelete(t *testing.T) {
	f := newFixture(t)
	// Some kinds answer with the object, some with a Status.
	f.must("POST /api/v1/nodes", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}`)
	f.expect("DELETE /api/v1/nodes/n1", "", 200,
		`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"n1","kind":"nodes","uid":"{uid}"}}`)
	f.must("POST "+classes, class)
	f.expect("DELETE "+classes+"/fast", `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"x"}}`, 409,
		failure(`Operation cannot be fulfilled on StorageClass.storage.k8s.io "fast": the UID in the precondition (x) does not match the UID in record `+
			`(`+f.uid(classes+"/fast")+`). The object might have been deleted and then recreated`,
			`"reason":"Conflict","details":{"name":"fast","group":"storage.k8s.io","kind":"StorageClass"},"code":409`))
	require.Contains(t, f.must("DELETE "+classes+"/fast", ""), `"kind":"StorageClass"`)
	for _, name := range []string{"a", "b", "c"} {
		f.must("POST "+pods, strings.ReplaceAll(strings.Replace(pod, `"name":"web"`, `"name":"`+name+`"`, 1), `"app":"web"`, `"app":"`+name+`"`))
	}
	require.Contains(t, f.must("DELETE "+pods+"?labelSelector=app+in+(a,b)", ""), `"kind":"PodList"`)
	left, _ := f.names("GET " + pods)
	require.Equal(t, []string{"c"}, left)
}

func TestBinding(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+pods, pod)
	binding := `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"web"},"target":{"kind":"Node","name":"n1"}}`
	f.expect("POST "+pods+"/web/binding", binding, 201, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}`)
	names, _ := f.names("GET " + pods + "?fieldSelector=spec.nodeName%3Dn1")
	require.Equal(t, []string{"web"}, names)
	f.expect("POST "+pods+"/web/binding", binding, 409, failure(
		`Operation cannot be fulfilled on pods/binding "web": pod web is already assigned to node "n1"`,
		`"reason":"Conflict","details":{"name":"web","kind":"pods/binding"},"code":409`))
}

func TestFormats(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+classes, class)
	require.Equal(t, "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n  creationTimestamp: \"2026-01-01T00:00:00Z\"\n  name: fast\n"+
		"  resourceVersion: \"1\"\n  uid: "+f.uid(classes+"/fast")+"\nprovisioner: example.com/disk\nreclaimPolicy: Delete\nvolumeBindingMode: Immediate\n",
		f.must("GET "+classes+"/fast", "", "Accept: application/yaml"))
	require.True(t, strings.HasPrefix(f.must("GET "+classes+"/fast", "", "User-Agent: curl/8"), "{\n  \"kind\": \"StorageClass\",\n"))
	for _, accept := range []string{"application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf, */*"} {
		resp, got := f.request("GET "+classes+"/fast", "", "Accept: "+accept)
		require.Equal(t, "application/vnd.kubernetes.protobuf", resp.Header.Get("Content-Type"))
		require.True(t, strings.HasPrefix(got, "k8s\x00"))
	}

	table := func(accept string) metav1.Table {
		t.Helper()
		var table metav1.Table
		require.NoError(t, json.Unmarshal([]byte(f.must("GET "+classes, "", "Accept: "+accept)), &table))
		return table
	}
	got := table("application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
	require.Equal(t, "Table", got.Kind)
	require.Equal(t, []any{"fast", "example.com/disk", "Delete", "Immediate", false, "0s"}, got.Rows[0].Cells)
	require.Equal(t, metav1.TableColumnDefinition{
		Name: "Provisioner", Type: "string", Description: "provisioner indicates the type of the provisioner.",
	}, got.ColumnDefinitions[1])
	require.Contains(t, string(got.Rows[0].Object.Raw), `"kind":"PartialObjectMetadata"`)
	require.Contains(t, f.must("GET "+classes+"/fast", "", "Accept: application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"),
		`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"fast"`)
	f.expect("GET "+classes, "", 406, indented(failure("you requested PartialObjectMetadata, but the requested object is a list (*storage.StorageClassList)",
		`"reason":"NotAcceptable","code":406`)), "Accept: application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
}

// watcher reads the events of a watch.
type watcher struct {
	t      *testing.T
	lines  *bufio.Scanner
	cancel func()
}

func (f *fixture) watch(path, accept string) *watcher {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://volsim.invalid"+path, nil)
	require.NoError(f.t, err)
	req.Header.Set("Accept", accept)
	resp, err := f.server.RoundTrip(req)
	require.NoError(f.t, err)
	require.Equal(f.t, 200, resp.StatusCode)
	f.t.Cleanup(func() {
		cancel()
		require.NoError(f.t, resp.Body.Close())
	})
	return &watcher{f.t, bufio.NewScanner(resp.Body), cancel}
}

// next returns the type, the name and the version of the next event.
func (w *watcher) next() string {
	w.t.Helper()
	require.True(w.t, w.lines.Scan(), "the watch ended")
	var event struct {
		Type   string
		Object metav1.PartialObjectMetadata
	}
	require.NoError(w.t, json.Unmarshal(w.lines.Bytes(), &event))
	return strings.TrimSpace(fmt.Sprint(event.Type, " ", event.Object.Name, " ", event.Object.ResourceVersion))
}

func TestWatch(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+claims, named(claim, "a"))
	f.must("POST "+claims, named(claim, "b"))
	fromStart, fromNow := f.watch(claims+"?watch=1", ""), f.watch(claims+"?watch=true&resourceVersion=2", "")
	exact := f.watch(claims+"?watch=1&resourceVersion=1", "")
	initial := f.watch(claims+"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "")
	one := f.watch(claims+"?watch=1&fieldSelector=metadata.name%3Db&resourceVersion=2", "")
	f.must("PATCH "+claims+"/b", `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type: application/merge-patch+json")
	require.Equal(t, []string{"ADDED a 1", "ADDED b 2", "MODIFIED b 3"}, []string{fromStart.next(), fromStart.next(), fromStart.next()})
	require.Equal(t, "MODIFIED b 3", fromNow.next())
	require.Equal(t, []string{"ADDED b 2", "MODIFIED b 3"}, []string{exact.next(), exact.next()})
	require.Equal(t, []string{"ADDED a 1", "ADDED b 2", "BOOKMARK  2", "MODIFIED b 3"}, []string{initial.next(), initial.next(), initial.next(), initial.next()})
	require.Equal(t, "MODIFIED b 3", one.next())

	// A watch that expires ends with a bookmark.
	_, got := f.request("GET "+classes+"?watch=1&resourceVersion=3&timeoutSeconds=1&allowWatchBookmarks=true", "")
	require.Equal(t, `{"type":"BOOKMARK","object":{"kind":"StorageClass","apiVersion":"storage.k8s.io/v1","metadata":{"resourceVersion":"3"},`+
		`"provisioner":""}}`+"\n", got)
}

func TestWatchTables(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+classes, class)
	w := f.watch(classes+"?watch=1", "application/json;as=Table;v=v1;g=meta.k8s.io")
	f.must("POST "+classes, strings.Replace(class, "fast", "slow", 1))
	for i, name := range []string{"fast", "slow"} {
		require.True(t, w.lines.Scan())
		var event struct{ Object metav1.Table }
		require.NoError(t, json.Unmarshal(w.lines.Bytes(), &event))
		require.Equal(t, name, event.Object.Rows[0].Cells[0])
		require.Equal(t, i == 0, len(event.Object.ColumnDefinitions) > 0, "only the first table has headers")
		require.Equal(t, i > 0, strings.Contains(w.lines.Text(), `"columnDefinitions":null`), "API-488")
	}
}

func TestDiscovery(t *testing.T) {
	f := newFixture(t)
	require.Contains(t, f.must("GET /api", ""), `{"kind":"APIVersions","versions":["v1"]`)
	require.Contains(t, f.must("GET /apis", ""), `{"name":"storage.k8s.io","versions":[{"groupVersion":"storage.k8s.io/v1"`)
	require.Contains(t, f.must("GET /api/v1", ""), `{"name":"pods/binding","singularName":"","namespaced":true,"kind":"Binding","verbs":["create"]}`)
	require.Contains(t, f.must("GET /version", ""), `"gitVersion": "v1.36.3"`)
	resp, got := f.request("GET /apis", "", "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json")
	require.Equal(t, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", resp.Header.Get("Content-Type"))
	require.Contains(t, got, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2"`)
	// Every resource of the store is in the table, under the same name.
	for _, kind := range store.Kinds() {
		gvk := store.GroupVersionKind(kind)
		path := "/api/v1"
		if gvk.Group != "" {
			path = "/apis/" + gvk.GroupVersion().String()
		}
		require.Contains(t, f.must("GET "+path, ""), `"kind":"`+string(kind)+`"`)
	}
}

// TestOtherKinds checks kinds that are plain data: with a Go type, and those of definitions.
func TestOtherKinds(t *testing.T) {
	f := newFixture(t)
	controllers := "/api/v1/namespaces/default/replicationcontrollers"
	controller := `{"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"web"},"spec":{"selector":{"app":"web"},` +
		`"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"web"}]}}}}`
	stored := `{"kind":"ReplicationController","apiVersion":"v1","metadata":{"name":"web","namespace":"default","uid":"{uid}","resourceVersion":"1",` +
		`"generation":1,"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"web"}},"spec":{"replicas":1,"selector":{"app":"web"},"template":{"metadata":` +
		`{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"web","resources":{},"terminationMessagePath":"/dev/termination-log",` +
		`"terminationMessagePolicy":"File","imagePullPolicy":"Always"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,` +
		`"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler"}}},"status":{"replicas":0}}`
	f.expect("POST "+controllers, controller, 201, stored)
	f.expect("GET "+controllers+"/web", "", 200, stored)
	require.Contains(t, f.must("PATCH "+controllers+"/web", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"web:2"}]}}}}`,
		"Content-Type: application/strategic-merge-patch+json"), `{"name":"c","image":"web:2","resources":{},`)
	f.expect("POST "+controllers+"?fieldValidation=Strict", strings.Replace(controller, `"spec":{"sel`, `"spec":{"size":1,"sel`, 1), 400, failure(
		`ReplicationController in version "v1" cannot be handled as a ReplicationController: strict decoding error: unknown field "spec.size"`,
		`"reason":"BadRequest","code":400`))
	require.Contains(t, f.must("GET "+controllers, ""), `"items":[{"metadata":`)

	widgets := "/apis/example.com/v1/namespaces/default/widgets"
	f.expect("GET "+widgets, "", 404, "404 page not found")
	f.must("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"apiVersion":"apiextensions.k8s.io/v1",
		"kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
		"names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`)
	_, got := f.request("POST "+widgets, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":1}}`)
	require.Contains(t, got, `"spec":{"size":1}`)
	require.Contains(t, f.must("GET /apis/example.com/v1", ""), `{"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget"`)
	require.Contains(t, f.must("PATCH "+widgets+"/w", `{"spec":{"size":2}}`, "Content-Type: application/merge-patch+json"), `"spec":{"size":2}`)
	require.Contains(t, f.must("GET "+widgets, ""), `"items":[{"apiVersion":"example.com/v1","kind":"Widget"`)
}

// A custom object gets the defaults of its schema, loses unknown fields, and is refused if it violates the schema.
func TestCustomSchema(t *testing.T) {
	f := newFixture(t)
	f.must("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"apiVersion":"apiextensions.k8s.io/v1",
		"kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
		"names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{},
		"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size"}},
		"additionalPrinterColumns":[{"name":"Size","type":"integer","jsonPath":".spec.size"}],
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","default":{},"properties":{
		"size":{"type":"integer","maximum":5,"default":3},"port":{"x-kubernetes-int-or-string":true}}},
		"status":{"type":"object","properties":{"size":{"type":"integer"}}}}}}}]}}`)
	widgets := "/apis/example.com/v1/namespaces/default/widgets"
	widget := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}`
	resp, got := f.request("POST "+widgets, widget+`,"spec":{"port":"http","more":1},"rest":2}`)
	require.Equal(t, []string{`299 - "unknown field \"rest\""`, `299 - "unknown field \"spec.more\""`}, resp.Header.Values("Warning"))
	require.Contains(t, got, `"spec":{"port":"http","size":3}}`)
	_, got = f.request("PATCH "+widgets+"/w", `{"spec":{"size":9}}`, "Content-Type: application/merge-patch+json")
	require.Contains(t, got, `spec.size: Invalid value: 9: spec.size in body should be less than or equal to 5`)
	_, got = f.request("PATCH "+widgets+"/w?fieldValidation=Strict", `{"spec":{"more":9}}`, "Content-Type: application/merge-patch+json")
	require.Contains(t, got, `strict decoding error: unknown field \"spec.more\"`)
	require.Contains(t, f.must("PATCH "+widgets+"/w/scale", `{"spec":{"replicas":4}}`, "Content-Type: application/merge-patch+json"),
		`"spec":{"replicas":4}`)
	require.Contains(t, f.must("GET "+widgets, "", "Accept: application/json;as=Table;g=meta.k8s.io;v=v1"), `"cells":["w",4]`)
}

func TestBodyLimit(t *testing.T) {
	f := newFixture(t)
	f.server = apiserver.New(apiserver.Config{Backend: apiserver.ForEngine(internals.Engine(f.cluster)), BodyLimit: 10})
	f.expect("POST "+claims, claim, 413, failure("Request entity too large: limit is 10", `"reason":"RequestEntityTooLarge","code":413`))
}

// TestContentStatus: the status of a custom object may be empty, and a patch cannot store a null (API-302, API-313).
func TestContentStatus(t *testing.T) {
	f := newFixture(t)
	const contents = "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents"
	const content = `{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshotContent","metadata":{"name":"c"},"spec":{"driver":"d","deletionPolicy":"Delete",
		"source":{"snapshotHandle":"s"},"volumeSnapshotRef":{"name":"s","namespace":"default"}}`
	f.must("POST "+contents, content+"}")
	patch := func(text string) string {
		return f.must("PATCH "+contents+"/c/status", text, "Content-Type: application/json-patch+json")
	}
	const empty = `{"op":"add","path":"/status","value":{}}`
	require.Contains(t, patch("["+empty+"]"), `"status":{}`, "API-302: an empty status is one")
	require.Contains(t, f.must("PATCH "+contents+"/c", `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type: application/merge-patch+json"), `"status":{}`)
	require.Contains(t, patch("["+empty+`,{"op":"replace","path":"/status/readyToUse","value":true},{"op":"replace","path":"/status/restoreSize","value":null}]`),
		`"status":{"readyToUse":true}`, "API-313")
}

// TestTypedDelete: the typed client of a custom kind sends DeleteOptions in the group of the kind.
func TestTypedDelete(t *testing.T) {
	f := newFixture(t)
	const contents = "/apis/snapshot.storage.k8s.io/v1/volumesnapshotclasses"
	const options = `{"kind":"DeleteOptions","apiVersion":"snapshot.storage.k8s.io/v1","preconditions":{"uid":"UID"}}`
	f.must("POST "+contents, `{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshotClass","metadata":{"name":"c"},"driver":"d","deletionPolicy":"Delete"}`)
	resp, got := f.request("DELETE "+contents+"/c", options)
	require.Equal(t, http.StatusConflict, resp.StatusCode, got)
	f.must("DELETE "+contents+"/c", strings.Replace(options, "UID", f.uid(contents+"/c"), 1))
}

// TestNoChange: a patch that changes nothing stores nothing, also with managedFields.
func TestNoChange(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{PodPriority: true})
	f.must("POST "+pods+"?fieldManager=a", pod)
	for _, contentType := range []string{"application/strategic-merge-patch+json", "application/merge-patch+json"} {
		const patch = `{"metadata":{"labels":{"n":"1"}}}`
		first := f.must("PATCH "+pods+"/web?fieldManager=b", patch, "Content-Type: "+contentType)
		require.Equal(t, first, f.must("PATCH "+pods+"/web?fieldManager=b", patch, "Content-Type: "+contentType))
	}
}

// TestRefusedSubresources reads subresources that need containers, a network or tokens: discovery lists them, and the errors name the reason.
func TestRefusedSubresources(t *testing.T) {
	f := newFixture(t)
	listed := f.must("GET /api/v1", "")
	for _, name := range []string{"pods/exec", "pods/log", "pods/resize", "nodes/proxy", "services/proxy", "namespaces/finalize", "serviceaccounts/token"} {
		require.Contains(t, listed, `"name":"`+name+`"`)
	}
	resp, got := f.request("GET /api/v1/namespaces/default/pods/web/log", "")
	require.Equal(t, http.StatusNotFound, resp.StatusCode, got)
	f.must("POST /api/v1/namespaces/default/pods",
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	resp, got = f.request("POST /api/v1/namespaces/default/pods/web/exec", "")
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	require.Contains(t, got, "pod web does not have a host assigned")
	resp, got = f.request("DELETE /api/v1/namespaces/default/pods/web/log", "")
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode, got)
}

// TestServiceVersion: a Service has its version in every answer.
func TestServiceVersion(t *testing.T) {
	f := newFixture(t)
	const services = "/api/v1/namespaces/default/services"
	require.Contains(t, f.must("POST "+services, `{"metadata":{"name":"web"},"spec":{"ports":[{"port":80}]}}`), `"resourceVersion":"1"`)
	require.Contains(t, f.must("GET "+services+"/web", ""), `"resourceVersion":"1"`)
	f.must("PATCH "+services+"/web", `{"spec":{"selector":{"a":"b"}}}`, "Content-Type: application/merge-patch+json")
	require.Contains(t, f.must("GET "+services+"/web", ""), `"resourceVersion":"2"`)
}

// TestPodLog reads logs: that of a pod without a node is empty.
func TestPodLog(t *testing.T) {
	f := newFixture(t)
	const log = "GET " + pods + "/web/log"
	f.must("POST "+pods, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"i"},{"name":"d","image":"i"}]}}`)
	for _, tt := range []struct {
		query string
		code  int
		want  string
	}{
		{"?container=c", http.StatusNoContent, ""},
		{"", http.StatusBadRequest, "a container name must be specified for pod web, choose one of: [c d]"},
		{"?container=x", http.StatusBadRequest, "container x is not valid for pod web"},
		{"?container=c&tailLines=-1", http.StatusUnprocessableEntity, "tailLines: Invalid value: -1: must be greater than or equal to 0"},
		{"?container=c&limitBytes=0", http.StatusUnprocessableEntity, "limitBytes: Invalid value: 0: must be greater than 0"},
		{"?container=c&sinceSeconds=x", http.StatusBadRequest, "invalid syntax"},
		{"?container=c&sinceSeconds=5&sinceTime=2026-01-01T00:00:00Z", http.StatusUnprocessableEntity, "at most one of `sinceTime` or `sinceSeconds` may be specified"},
	} {
		resp, got := f.request(log+tt.query, "")
		require.Equal(t, tt.code, resp.StatusCode, tt.query)
		require.Contains(t, got, tt.want, tt.query)
	}
	f.must("POST "+pods+"/web/binding", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"web"},"target":{"name":"n1"}}`)
	resp, got := f.request(log+"?container=c", "")
	require.Equal(t, http.StatusNotImplemented, resp.StatusCode)
	require.Contains(t, got, `log of pod \"web\": no containers run in volsim`)
}

// TestEvictionWithBudget evicts a pod that a PodDisruptionBudget protects.
func TestEvictionWithBudget(t *testing.T) {
	f := newFixture(t)
	f.must("POST /api/v1/namespaces/default/pods",
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	f.must("PATCH /api/v1/namespaces/default/pods/web/status", `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`,
		"Content-Type: application/merge-patch+json")
	const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
	f.must("POST "+budgets, `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},`+
		`"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"web"}}}}`)
	const eviction = `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"web"}}`
	resp, got := f.request("POST /api/v1/namespaces/default/pods/web/eviction", eviction)
	require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	require.Contains(t, got, "Cannot evict pod as it would violate the pod's disruption budget.")
	require.Contains(t, f.must("GET "+budgets, "", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"), `"Allowed Disruptions","type":"integer"`)
	f.must("DELETE "+budgets+"/b", "")
	f.must("POST /api/v1/namespaces/default/pods/web/eviction", eviction)
}

// TestEventsGroup: Events of the group events.k8s.io are those of the core group, under other names of their fields.
func TestEventsGroup(t *testing.T) {
	f := newFixture(t)
	const named, core = "/apis/events.k8s.io/v1/namespaces/default/events", "/api/v1/namespaces/default/events"
	f.must("POST "+named, `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"e"},"eventTime":"2026-01-01T00:00:00.000000Z",
		"reportingController":"example.com/c","reportingInstance":"c-0","action":"Bind","reason":"Bound","type":"Normal","note":"hello",
		"regarding":{"kind":"Pod","namespace":"default","name":"web"}}`)
	// The stored Event belongs to both groups.
	require.Contains(t, f.must("GET "+core+"?watch=1&timeoutSeconds=1", ""), `{"type":"ADDED","object":{"kind":"Event","apiVersion":"v1","metadata":{"name":"e"`)
	got := f.must("GET "+core+"/e", "")
	require.Contains(t, got, `"involvedObject":{"kind":"Pod","namespace":"default","name":"web"},"reason":"Bound","message":"hello"`)
	require.Contains(t, f.must("GET "+named+"?fieldSelector=regarding.name%3Dweb", ""), `"note":"hello"`)
	require.Contains(t, f.must("GET "+named+"?fieldSelector=regarding.name%3Ddb", ""), `"items":[]`)
	// API-545: in this group only the series changes, in the core group anything.
	const patch = "Content-Type: application/merge-patch+json"
	_, refused := f.request("PATCH "+named+"/e", `{"note":"bye"}`, patch)
	require.Contains(t, refused, `message: Invalid value: \"bye\": field is immutable`)
	require.Contains(t, f.must("PATCH "+named+"/e", `{"series":{"count":2,"lastObservedTime":"2026-01-01T00:00:01.000000Z"}}`, patch), `"count":2`)
	require.Contains(t, f.must("PATCH "+core+"/e", `{"message":"bye"}`, patch), `"message":"bye"`)
	require.Contains(t, f.must("GET "+named+"/e", ""), `"note":"bye"`)
	f.must("DELETE "+named+"/e", "")
	require.Contains(t, f.must("GET "+core, ""), `"items":[]`)
}
