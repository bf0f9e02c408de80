package apiserver_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/apiserver"
)

// managers returns the managedFields of an object, one line for each entry.
func (f *fixture) managers(path string) []string {
	f.t.Helper()
	_, data := f.request("GET "+path, "")
	var obj metav1.PartialObjectMetadata
	require.NoError(f.t, json.Unmarshal([]byte(data), &obj))
	var lines []string
	for _, e := range obj.ManagedFields {
		lines = append(lines, fmt.Sprintf("%s %s %s%s %s", e.Manager, e.Operation, e.Time.UTC().Format("15:04:05"), suffix(e.Subresource), e.FieldsV1.Raw))
	}
	return lines
}

func suffix(subresource string) string {
	if subresource == "" {
		return ""
	}
	return " " + subresource
}

const applyType = "Content-Type: application/apply-patch+yaml"

func TestApply(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	const configMaps = "/api/v1/namespaces/default/configmaps"
	data := func(values string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {" + values + "}}"
	}
	answer := func(line, body string, headers ...string) string {
		resp, got := f.request(line, body, headers...)
		var status metav1.Status
		require.NoError(t, json.Unmarshal([]byte(got), &status))
		text := fmt.Sprint(resp.StatusCode)
		if status.Kind == "Status" {
			text += " " + status.Message
			for _, cause := range causes(&status) {
				text += fmt.Sprintf(" [%s %s %s]", cause.Type, cause.Field, cause.Message)
			}
		}
		return text
	}
	require.Equal(t, "201", answer("PATCH "+configMaps+"/m?fieldManager=one", data(`a: "1", b: "1"`), applyType))
	require.Equal(t, []string{`one Apply 00:00:00 {"f:data":{"f:a":{},"f:b":{}}}`}, f.managers(configMaps+"/m"))

	// The same again changes nothing, and not the time either.
	require.NoError(t, f.cluster.Advance(time.Minute))
	require.Equal(t, "200", answer("PATCH "+configMaps+"/m?fieldManager=one", data(`a: "1", b: "1"`), applyType))
	require.Equal(t, []string{`one Apply 00:00:00 {"f:data":{"f:a":{},"f:b":{}}}`}, f.managers(configMaps+"/m"))

	// API-014: neither does one that takes values back which the server has completed, such as those of claim templates.
	const sets = "/apis/apps/v1/namespaces/default/statefulsets/s"
	set := `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s}, spec: {selector: {matchLabels: {a: s}}, template: {metadata: {labels: {a: s}},
		spec: {containers: [{name: c, image: i}]}}, volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`
	f.request("PATCH "+sets+"?fieldManager=one", set, applyType)
	require.NoError(t, f.cluster.Advance(time.Minute))
	_, before := f.request("GET "+sets, "")
	require.Contains(t, before, `"manager":"one"`)
	_, after := f.request("PATCH "+sets+"?fieldManager=one", set, applyType)
	require.Equal(t, before, after)

	// Another manager must force to take a field.
	require.Equal(t, `409 Apply failed with 1 conflict: conflict with "one": .data.a [FieldManagerConflict .data.a conflict with "one"]`,
		answer("PATCH "+configMaps+"/m?fieldManager=two", data(`a: "2"`), applyType))
	require.Equal(t, "200", answer("PATCH "+configMaps+"/m?fieldManager=two&force=true", data(`a: "2"`), applyType))
	require.Equal(t, []string{`one Apply 00:00:00 {"f:data":{"f:b":{}}}`, `two Apply 00:02:00 {"f:data":{"f:a":{}}}`}, f.managers(configMaps+"/m"))

	// A field that its only manager omits is removed.
	require.Equal(t, "200", answer("PATCH "+configMaps+"/m?fieldManager=two", "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}", applyType))
	_, text := f.request("GET "+configMaps+"/m", "")
	require.Contains(t, text, `"data":{"b":"1"}`)

	require.Equal(t, "422 PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch "+
		"[FieldValueRequired fieldManager Required value: is required for apply patch]", answer("PATCH "+configMaps+"/m", data(""), applyType))
	require.Equal(t, "409 Operation cannot be fulfilled on configmaps \"other\": uid mismatch: the provided object specified uid x, "+
		"and no existing object was found", answer("PATCH "+configMaps+"/other?fieldManager=one",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: other, uid: x}}", applyType))
	require.Equal(t, "400 metadata.managedFields must be nil", answer("PATCH "+configMaps+"/m?fieldManager=one",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: m, managedFields: []}}", applyType))
}

// TestAppliedTypes applies objects with fields that the Go type of their kind does not accept.
func TestAppliedTypes(t *testing.T) {
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: b}], "
	for _, row := range []struct{ rule, path, body, want string }{
		{"API-553", claims, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {resources: {requests: {storage: x}}}}",
			`500 unable to convert unstructured object to /v1, Kind=PersistentVolumeClaim: quantities must match`},
		{"API-553", podPath, pod + "terminationGracePeriodSeconds: 1.5}}", `500 unable to convert unstructured object to /v1, Kind=Pod: cannot convert float64 to int64`},
		{"API-553", podPath, pod + "terminationGracePeriodSeconds: 9223372036854775807}}", `201 "terminationGracePeriodSeconds":9223372036854775807`},
		{"API-553", podPath, pod + "priority: 9223372036854775807}}", `201 "priority":-1`},
	} {
		f := newFixtureWith(t, apiserver.Config{})
		resp, got := f.request("PATCH "+row.path+"/a?fieldManager=m", row.body, applyType)
		require.Equal(t, row.want[:3], resp.Status[:3], "%s: %s: %s", row.rule, row.body, got)
		require.Contains(t, got, row.want[4:], "%s: %s", row.rule, row.body)
	}
}

// Other writes are recorded, too: those of requests under the name of the client, those of controllers under the name of their program.
func TestManagers(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	f.cluster.Create(fake.Volume("v", "1Gi"))
	f.request("POST "+claims, claim)
	f.request("PATCH "+claims+"/data?fieldManager=labeler", `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type: application/merge-patch+json")
	require.NoError(t, f.cluster.Settle())
	require.Equal(t, []string{
		`kube-controller-manager Update 00:00:00 {"f:metadata":{"f:annotations":{".":{},"f:pv.kubernetes.io/bind-completed":{},` +
			`"f:pv.kubernetes.io/bound-by-controller":{}}},"f:spec":{"f:volumeName":{}}}`,
		`kube-controller-manager Update 00:00:00 status {"f:status":{"f:accessModes":{},"f:capacity":{".":{},"f:storage":{}},"f:phase":{}}}`,
		`labeler Update 00:00:00 {"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`,
		`test Update 00:00:00 {"f:spec":{"f:accessModes":{},"f:resources":{"f:requests":{".":{},"f:storage":{}}},` +
			`"f:storageClassName":{},"f:volumeMode":{}}}`,
	}, f.managers(claims+"/data"))
}

func causes(status *metav1.Status) []metav1.StatusCause {
	if status.Details == nil {
		return nil
	}
	return status.Details.Causes
}

// TestScaledUnowned: a manager that scales an object whose replicas have no owner becomes no owner, so a later apply has no conflict (API-572).
func TestScaledUnowned(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	const spec = `"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},` + containers + `}`
	apply := func(spec string) string {
		return f.must("PATCH "+deploymentPath+"/d?fieldManager=owner", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{`+spec+`}}`, applyPatch)
	}
	apply(spec)
	for i, scale := range []func(){
		func() { f.must("PUT "+deploymentPath+"/d/scale", `{"metadata":{"name":"d"},"spec":{"replicas":3}}`) },
		func() { f.must("PATCH "+deploymentPath+"/d/scale", `{"spec":{"replicas":4}}`, mergePatch) },
	} {
		scale()
		got := f.must("GET "+deploymentPath+"/d", "")
		require.Contains(t, got, fmt.Sprintf(`"replicas":%d`, 3+i))
		require.NotContains(t, got, `"subresource":"scale"`, "API-572")
	}
	require.Contains(t, apply(`"replicas":1,`+spec), `"replicas":1`, "API-572")
	f.must("PUT "+deploymentPath+"/d/scale", `{"metadata":{"name":"d"},"spec":{"replicas":3}}`)
	require.Contains(t, f.must("GET "+deploymentPath+"/d", ""),
		`{"manager":"test","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"}`, "API-572")
}

// TestScaledVersions: a scale in one version keeps the owners who wrote in another (API-572).
func TestScaledVersions(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	const scales = `"subresources":{"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n"}}`
	f.must("POST "+definitions, definitionOf(version("v1", true, anything, scales), version("v2", false, anything, scales)))
	f.must("POST "+widgetList+"?fieldManager=one", widget("w", "", `"spec":{"n":1,"mode":"x"}`))
	f.must("PATCH /apis/example.com/v2/namespaces/default/widgets/w/scale?fieldManager=two", `{"spec":{"replicas":3}}`, mergePatch)
	got := f.must("GET "+widgetList+"/w", "")
	require.Contains(t, got, `"apiVersion":"example.com/v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},"f:mode":{}}}`, "API-572")
	require.Contains(t, got, `"apiVersion":"example.com/v2","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:n":{}}},"subresource":"scale"`, "API-572")
}

// TestScalesAndAutoscalers: owners of scales and of autoscalers, which have the same group and version, do not disturb each other.
func TestScalesAndAutoscalers(t *testing.T) {
	const autoscalers = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
	scale := func(f *fixture) {
		f.must("PATCH /apis/apps/v1/namespaces/default/replicasets/r/scale", `{"spec":{"replicas":3}}`, mergePatch)
	}
	autoscale := func(f *fixture) {
		f.must("PATCH "+autoscalers+"/a?fieldManager=one", `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"},
			"spec":{"maxReplicas":5,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r"}}}`, applyType)
	}
	for name, order := range map[string][]func(*fixture){"scale first": {scale, autoscale}, "autoscaler first": {autoscale, scale}} {
		t.Run(name, func(t *testing.T) {
			f := newFixtureWith(t, apiserver.Config{})
			f.must("POST /apis/apps/v1/namespaces/default/replicasets", replicaSet)
			for _, write := range order {
				write(f)
			}
			require.Contains(t, f.must("GET /apis/apps/v1/namespaces/default/replicasets/r", ""), `"subresource":"scale"`)
			require.Len(t, f.managers(autoscalers+"/a"), 1)
		})
	}
}

// TestScaledBy: the manager that scales an object has no time, as on kube-apiserver (internal/proof/apiserver).
func TestScaledBy(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	f.must("POST /apis/apps/v1/namespaces/default/replicasets", replicaSet)
	f.must("PATCH /apis/apps/v1/namespaces/default/replicasets/r/scale", `{"spec":{"replicas":3}}`, mergePatch)
	require.Contains(t, f.must("GET /apis/apps/v1/namespaces/default/replicasets/r", ""),
		`{"manager":"test","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"}`)
}

// TestDefinitionManagers: who owns the fields of a CustomResourceDefinition (API-527).
func TestDefinitionManagers(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	const body = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"lamps.example.com"},"spec":{"group":"example.com",
		"scope":"Cluster","names":{"plural":"lamps","kind":"Lamp"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	f.must("PATCH "+definitions+"/lamps.example.com?fieldManager=one", body, applyType)
	require.Equal(t, []string{`one Apply 00:00:00 {"f:spec":{"f:group":{},"f:names":{"f:kind":{},"f:plural":{}},"f:scope":{},"f:versions":{}}}`},
		f.managers(definitions+"/lamps.example.com"), "API-527")
	f.must("DELETE "+definitions+"/lamps.example.com", "")
	f.must("POST "+definitions, body)
	require.Equal(t, []string{`test Update 00:00:00 {"f:spec":{"f:conversion":{".":{},"f:strategy":{}},"f:group":{},"f:names":{"f:kind":{},"f:listKind":{},"f:plural":{},"f:singular":{}},` +
		`"f:scope":{},"f:versions":{}}}`}, f.managers(definitions+"/lamps.example.com"), "API-527")
}

// TestTypesOfClusters: clusters share the types of fields, also when they serve at the same time.
func TestTypesOfClusters(t *testing.T) {
	for _, name := range []string{"a", "b", "c"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixtureWith(t, apiserver.Config{})
			for i := range 10 {
				owned := f.must(fmt.Sprintf("PATCH %s/m?fieldManager=%s", configMaps, name), fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"k%d":"v"}}`, i), applyType)
				require.Contains(t, owned, fmt.Sprintf(`"f:data":{"f:k%d":{}}`, i))
			}
		})
	}
}
