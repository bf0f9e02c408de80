package apiserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/apiserver"
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
	f.must("PATCH "+definitions+"/widgets.example.com", `{"spec":{"names":{"shortNames":["wd"],"categories":["all"]}}}`, mergePatch)
	require.Contains(t, f.must("GET /apis/example.com/v1", ""), `"shortNames":["wd"],"categories":["all"]`, "names that are added later show")
}

// TestCustomFinalizers: finalizers of custom objects need no domain (API-037), and a warning recommends one (API-327).
func TestCustomFinalizers(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+definitions, definitionOf(version("v1", true, anything, `"subresources":{"status":{}}`)))
	warned := func(name string) []string {
		return []string{`299 - "metadata.finalizers: \"` + name + `\": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"`}
	}
	warnings := func(line, body string, headers ...string) []string {
		t.Helper()
		resp, got := f.request(line, body, headers...)
		require.Less(t, resp.StatusCode, 300, got)
		return resp.Header.Values("Warning")
	}
	require.Equal(t, warned("cleanup"), warnings("POST "+widgetList, widget("w", `"finalizers":["cleanup"]`, "")), "API-037, API-327")
	one := widgetList + "/w"
	require.Equal(t, warned("more"), warnings("PATCH "+one, `{"metadata":{"finalizers":["cleanup","orphan","example.com/a","more"]}}`, mergePatch), "API-327: new ones only")
	require.Empty(t, warnings("PATCH "+one, `{"metadata":{"labels":{"a":"b"}}}`, mergePatch), "API-327")
	require.Empty(t, warnings("PATCH "+one+"/status", `{"metadata":{"finalizers":["other"]}}`, mergePatch), "API-327: an update of the status keeps them")
	require.Empty(t, warnings("POST /apis/coordination.k8s.io/v1/namespaces/default/leases", `{"metadata":{"name":"l","finalizers":["cleanup"]}}`), "API-037")
	f.fails("POST "+claims, strings.Replace(claim, `"name":"data"`, `"name":"data","finalizers":["cleanup"]`, 1), 422, `PersistentVolumeClaim "data" is invalid: `+
		`metadata.finalizers[0]: Invalid value: "cleanup": name is neither a standard finalizer name nor is it fully qualified`)
}

// TestCreatesOnUpdate: a PUT of an absent object creates it for some kinds (API-004).
func TestCreatesOnUpdate(t *testing.T) {
	f := newFixture(t)
	leases := "/apis/coordination.k8s.io/v1/namespaces/default/leases/"
	resp, got := f.request("PUT "+leases+"a", `{"metadata":{"name":"a","resourceVersion":"7"}}`)
	require.Equal(t, 201, resp.StatusCode, "API-004: %s", got)
	require.Contains(t, got, `"resourceVersion":"1"`)
	resp, _ = f.request("PUT "+leases+"b?dryRun=All", `{"metadata":{"name":"b"}}`)
	require.Equal(t, 201, resp.StatusCode, "API-004")
	f.fails("GET "+leases+"b", "", 404, `leases.coordination.k8s.io "b" not found`)
	f.fails("PUT "+leases+"a", `{"metadata":{"name":"a"}}`, 422,
		`leases.coordination.k8s.io "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`)
	f.fails("PUT "+leases+"c", `{"metadata":{"name":"c","uid":"u"}}`, 409, `Operation cannot be fulfilled on leases.coordination.k8s.io "c": StorageError: `+
		`invalid object, Code: 4, Key: /registry/leases/default/c, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: u, UID in object meta: `)
	f.fails("PUT "+claims+"/data", claim, 404, `persistentvolumeclaims "data" not found`)
	f.must("PUT /apis/rbac.authorization.k8s.io/v1/clusterroles/r", `{"metadata":{"name":"r"}}`)
	f.must("PUT /api/v1/namespaces/default/services/s", `{"metadata":{"name":"s"},"spec":{"ports":[{"port":1}]}}`)
}

// TestVersionsInRequests: what the server answers to a resourceVersion that cannot be one.
func TestVersionsInRequests(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	syntax := `resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`
	f.fails("GET "+claims+"?resourceVersion=abc", "", 400, "invalid resource version: "+syntax)
	f.fails("DELETE "+claims+"?resourceVersion=abc", "", 400, "invalid resource version: "+syntax)
	f.fails("GET "+claims+"?resourceVersion=-1", "", 400, "invalid resource version: "+strings.ReplaceAll(syntax, "abc", "-1"))
	f.fails("GET "+claims+"/data?resourceVersion=abc", "", 500, syntax)
	f.fails("GET "+claims+"?resourceVersion=abc&watch=1", "", 500, syntax)
	// An apply that creates an object ignores its version.
	settings := "PATCH /api/v1/namespaces/default/configmaps/a?fieldManager=m"
	body := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"99"}}`
	resp, got := f.request(settings, body, applyPatch)
	require.Equal(t, 201, resp.StatusCode, got)
	f.fails(settings, body, 409, `Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again`, applyPatch)
}

// TestDeleteNamespaces: a request cannot delete all namespaces.
func TestDeleteNamespaces(t *testing.T) {
	f := newFixture(t)
	f.must("POST /api/v1/namespaces", `{"metadata":{"name":"a"}}`)
	f.fails("DELETE /api/v1/namespaces", "", 405, "the server does not allow this method on the requested resource")
	require.Contains(t, f.must("GET /api/v1/namespaces/a", ""), `"phase":"Active"`)
}

// typedLists are the properties of a spec with lists of each type.
const typedLists = `"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
	"map":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],
		"properties":{"k":{"type":"string"},"v":{"type":"integer"},"sub":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"integer"}}}}},
	"ob":{"type":"object","x-kubernetes-map-type":"atomic","properties":{"a":{"type":"string"},"b":{"type":"string"}}},
	"list":{"type":"array","items":{"type":"string"}}`

func specOf(properties string) string {
	return `{"type":"object","properties":{"spec":{"type":"object","properties":{` + properties + `}},"status":{"type":"object","properties":{"conditions":
		{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"],"items":{"type":"object","required":["type"],
		"properties":{"type":{"type":"string"}}}}}}}}`
}

// TestListTypes: items of sets and maps are unique (API-328).
func TestListTypes(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+definitions, definitionOf(version("v1", true, specOf(typedLists), `"subresources":{"status":{}}`)))
	for _, test := range []struct{ id, spec, want string }{
		{"API-328", `{"set":["a","b","a","a","b"]}`, `[spec.set[2]: Duplicate value: "a", spec.set[4]: Duplicate value: "b"]`},
		{"API-328", `{"map":[{"k":"a"},{"k":"a","v":3}]}`, `spec.map[1]: Duplicate value: {"k":"a"}`},
		{"API-328", `{"map":[{"k":"a"},{"k":"b","sub":[1,2,1]}]}`, `spec.map[1].sub[2]: Duplicate value: 1`},
	} {
		f.fails("POST "+widgetList, widget("w", "", `"spec":`+test.spec), 422, `Widget.example.com "w" is invalid: `+test.want)
	}
	f.must("POST "+widgetList, widget("w", "", `"spec":{"set":["a"],"list":["a","a"],"map":[{"k":"a"},{"k":"b"}]}`))
	f.fails("PATCH "+widgetList+"/w", `{"spec":{"set":["a","a"]}}`, 422, `Widget.example.com "w" is invalid: spec.set[1]: Duplicate value: "a"`, mergePatch)
	f.fails("PATCH "+widgetList+"/w/status", `{"status":{"conditions":[{"type":"R"},{"type":"R"}]}}`, 422,
		`Widget.example.com "w" is invalid: status.conditions[1]: Duplicate value: {"type":"R"}`, mergePatch)
}

// TestRatcheting: what a schema forbids may stay as it was, but not change to something else that it forbids (API-329).
func TestRatcheting(t *testing.T) {
	f := newFixture(t)
	loose := typedLists + `,"s":{"type":"string"},"arr":{"type":"array","items":{"type":"string"}},"mp":{"type":"object","additionalProperties":{"type":"string"}},
		"rq":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c.d":{"type":"string"}}}`
	tight := strings.NewReplacer(`"s":{`, `"s":{"maxLength":2,`, `"arr":{`, `"arr":{"maxItems":1,`, `"mp":{`, `"mp":{"maxProperties":1,`,
		`"rq":{`, `"rq":{"required":["b"],`, `"v":{`, `"v":{"maximum":1,`, `"c.d":{`, `"c.d":{"maxLength":1,`).Replace(loose)
	f.must("POST "+definitions, definitionOf(version("v1", true, specOf(loose))))
	f.must("POST "+widgetList, widget("w", "", `"spec":{"s":"hello","arr":["1","2","3"],"mp":{"a":"1","b":"2"},"rq":{"a":"1","c.d":"xx"},"map":[{"k":"a","v":5},{"k":"b"}]}`))
	f.must("PATCH "+definitions+"/widgets.example.com", `[{"op":"replace","path":"/spec/versions/0","value":`+version("v1", true, specOf(tight))+`}]`,
		"Content-Type: application/json-patch+json")
	for _, test := range []struct{ id, patch, want string }{
		{"API-329", `{"spec":{"s":"world"}}`, `spec.s: Too long: may not be more than 2 bytes`},
		{"API-329", `{"spec":{"arr":["1","2","4"]}}`, `spec.arr: Too many: 3: must have at most 1 item`},
		{"API-329", `{"spec":{"mp":{"b":"3"}}}`, `spec.mp: Too many: 2: must have at most 1 item`},
		{"API-329", `{"spec":{"rq":{"a":"2"}}}`, `spec.rq.b: Required value`},
		{"API-329", `{"spec":{"rq":{"b":"2","c.d":"yy"}}}`, `spec.rq.c.d: Too long: may not be more than 1 byte`},
		{"API-329", `{"spec":{"map":[{"k":"b"},{"k":"a","v":6}]}}`,
			`spec.map[1].v: Invalid value: 6: spec.map[1].v in body should be less than or equal to 1`},
		{"API-329", `{"metadata":{"labels":{"a":"b"}}}`, ""},
		{"API-329", `{"spec":{"set":["x"]}}`, ""},
		{"API-329", `{"spec":{"map":[{"k":"c"},{"k":"a","v":5}]}}`, ""},
		{"API-329", `{"spec":{"rq":{"b":"2"}}}`, ""},
	} {
		if test.want == "" {
			f.must("PATCH "+widgetList+"/w", test.patch, mergePatch)
			continue
		}
		f.fails("PATCH "+widgetList+"/w", test.patch, 422, `Widget.example.com "w" is invalid: `+test.want, mergePatch)
	}
}

// TestCustomApply: server-side apply merges custom objects as their schema says (API-330).
func TestCustomApply(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	f.must("POST "+definitions, definitionOf(version("v1", true, specOf(typedLists)), version("v1beta1", false, specOf(typedLists))))
	at := func(manager string) string { return "PATCH " + widgetList + "/w?fieldManager=" + manager }
	apply := func(manager, spec string) string {
		t.Helper()
		var obj struct{ Spec json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(f.must(at(manager), widget("w", "", `"spec":`+spec), applyPatch)), &obj))
		return string(obj.Spec)
	}
	apply("m1", `{"set":["a"],"map":[{"k":"a","v":1}],"ob":{"a":"1"},"list":["1"]}`)
	require.JSONEq(t, `{"set":["a","b"],"map":[{"k":"a","v":1},{"k":"b","v":1}],"ob":{"a":"1"},"list":["1"]}`,
		apply("m2", `{"set":["b"],"map":[{"k":"b","v":1}]}`), "API-330")
	require.JSONEq(t, `{"set":["a","b"],"map":[{"k":"b","v":1}]}`, apply("m1", `{"set":["a"]}`), "API-330: what m1 owned alone is gone")
	require.Contains(t, f.must("GET "+widgetList+"/w", ""), `"fieldsV1":{"f:spec":{"f:set":{"v:\"a\"":{}}}}`, "API-330")
	apply("m1", `{"ob":{"a":"1"},"list":["1"]}`)
	for _, test := range []struct{ id, spec, want string }{
		{"API-330", `{"ob":{"b":"2"}}`, `.spec.ob`},
		{"API-330", `{"list":["2"]}`, `.spec.list`},
		{"API-330", `{"map":[{"k":"b","v":2}]}`, `.spec.map[k="b"].v`},
	} {
		manager := "m1"
		if strings.Contains(test.want, "map") {
			manager = "m2"
		}
		f.fails(at("m3"), widget("w", "", `"spec":`+test.spec), 409, `Apply failed with 1 conflict: conflict with "`+manager+`": `+test.want, applyPatch)
	}
	const failed = "failed to create typed patch object (/w; example.com/v1, Kind=Widget): "
	f.fails(at("m3"), widget("w", "", `"spec":{"bogus":1}`), 500, failed+".spec.bogus: field not declared in schema", applyPatch)
	f.fails(at("m3"), widget("w", "", `"spec":{"set":["x","x"]}`), 500, failed+`.spec.set: duplicate entries for key [="x"]`, applyPatch)
	// Managers of other versions of the kind count, and a change of the schema takes effect.
	beta := strings.ReplaceAll(widget("w", "", `"spec":{"set":["c"]}`), "example.com/v1", "example.com/v1beta1")
	require.Contains(t, f.must("PATCH /apis/example.com/v1beta1/namespaces/default/widgets/w?fieldManager=m4", beta, applyPatch), `"set":["b","c"]`)
	more := specOf(typedLists + `,"bogus":{"type":"integer"}`)
	f.must("PATCH "+definitions+"/widgets.example.com", `{"spec":{"versions":[`+version("v1", true, more)+","+version("v1beta1", false, more)+`]}}`, mergePatch)
	require.Contains(t, apply("m3", `{"bogus":1}`), `"bogus":1`)
}

// TestCustomScale: the scale of a custom object (API-331).
func TestCustomScale(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+definitions, definitionOf(version("v1", true, anything, `"subresources":{"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n"}}`)))
	f.must("POST "+widgetList, widget("w", "", ""))
	scale := widgetList + "/w/scale"
	body := `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"w"},"spec":{"replicas":5}}`
	f.fails("GET "+scale, "", 500, `Internal error occurred: the spec replicas field ".spec.n" does not exist`)
	require.Contains(t, f.must("PUT "+scale, body), `"spec":{"replicas":5}`, "API-331")
	require.Contains(t, f.must("GET "+scale, ""), `"spec":{"replicas":5}`, "API-331")
	f.fails("PUT "+scale, strings.Replace(body, `"name":"w"`, `"name":"w","resourceVersion":"1"`, 1), 409, `Operation cannot be fulfilled on widgets.example.com "w": `+
		`the object has been modified; please apply your changes to the latest version and try again`)
}

// TestCustomMethods: methods and media types of requests for custom objects.
func TestCustomMethods(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	f.must("POST "+definitions, definitionOf(version("v1", true, anything, `"subresources":{"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n"}}`)))
	f.must("POST "+widgetList, widget("w", "", `"spec":{"n":1}`))
	const one, types = widgetList + "/w", "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
	const scale = `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"w"},"spec":{"replicas":2}}`
	for _, row := range []struct {
		rule, line, body, header string
		code                     int
		want                     string
	}{
		{"API-571", "HEAD " + one, "", "", 200, ""},
		{"API-571", "HEAD " + widgetList, "", "", 200, ""},
		{"API-571", "POST " + one + "?dryRun=All", widget("other", "", ""), "", 201, `"name":"other"`},
		{"API-571", "PUT " + widgetList, "{}", "", 400, `"message":"name must be provided"`},
		{"API-571", "OPTIONS " + one, "", "", 405, ` is not supported on resources of kind \"widgets.example.com\"`},
		{"API-571", "DELETE " + one + "/scale", "", "", 405, `delete is not supported on resources of kind \"widgets.example.com\"`},
		{"API-571", "GET " + one + "/nope", "", "", 404, `widgets.example.com \"w\" not found`},
		{"API-571", "GET " + one, "", "Accept: application/cbor", 406, "only the following media types are accepted: application/json,"},
		{"API-571", "PATCH " + one, "{}", "Content-Type: application/strategic-merge-patch+json", 415, "accepted media types include: " + types},
		{"API-571", "PATCH " + one + "/scale", "{}", "Content-Type: application/strategic-merge-patch+json", 415, "accepted media types include: " + types},
		{"API-572", "PATCH " + one + "/scale?fieldManager=a&force=true", scale, applyPatch, 500, "failed to convert new object (/w; autoscaling/v1, Kind=Scale) to proper version"},
		{"API-572", "PUT " + one + "/scale", strings.Replace(scale, "2}", "-1}", 1), "", 422, ".spec.n: Invalid value: -1: should be a non-negative integer"},
	} {
		var headers []string
		if row.header != "" {
			headers = append(headers, row.header)
		}
		resp, got := f.request(row.line, row.body, headers...)
		require.Equal(t, row.code, resp.StatusCode, "%s: %s: %s", row.rule, row.line, got)
		require.Contains(t, got, row.want, "%s: %s", row.rule, row.line)
	}
}

// TestCustomStatus: statuses are validated by themselves, and nulls of maps are dropped.
func TestCustomStatus(t *testing.T) {
	f := newFixture(t)
	schema := `{"type":"object","properties":{"spec":{"type":"object","additionalProperties":{"type":"string"}},` +
		`"status":{"type":"object","properties":{"n":{"type":"integer"},"selector":{"x-kubernetes-preserve-unknown-fields":true}}}}}`
	f.must("POST "+definitions, definitionOf(version("v1", true, schema,
		`"subresources":{"status":{},"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n","labelSelectorPath":".status.selector"}}`)))
	const head = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"`
	require.Contains(t, f.must("POST "+widgetList, head+`},"spec":{"a":null,"b":"c"}}`), `"spec":{"b":"c"}`, "API-551")
	for _, row := range []struct {
		rule, line, body string
		code             int
		want             string
	}{
		{"API-551", "POST " + widgetList, head + `,"labels":{"a":1}}}`, 400, "cannot unmarshal number into Go struct field ObjectMeta.labels of type string"},
		{"API-551", "PUT " + widgetList + "/w", head + `},"spec":{"a":1}}`, 422, "metadata.resourceVersion: Invalid value: 0: must be specified for an update"},
		{"API-551", "PUT " + widgetList + "/w/status", head + `,"resourceVersion":"VERSION"},"status":{"n":"x"}}`, 422,
			`status.n: Invalid value: \"string\": n in body must be of type integer`},
		{"API-551", "PUT " + widgetList + "/w/status", head + `,"resourceVersion":"VERSION"},"status":{"n":1,"selector":{}}}`, 422,
			`.status.selector: Invalid value: \"\": .status.selector accessor error`},
	} {
		var stored metav1.PartialObjectMetadata
		require.NoError(t, json.Unmarshal([]byte(f.must("GET "+widgetList+"/w", "")), &stored))
		resp, got := f.request(row.line, strings.Replace(row.body, "VERSION", stored.ResourceVersion, 1))
		require.Equal(t, row.code, resp.StatusCode, "%s: %s: %s", row.rule, row.body, got)
		require.Contains(t, got, row.want, "%s: %s", row.rule, row.body)
	}
}

// TestKindOfCustomBody: the body of a custom object names its kind (API-332).
func TestKindOfCustomBody(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+definitions, definitionOf(version("v1", true, anything)))
	f.must("POST "+widgetList, widget("w", "", ""))
	for _, test := range []struct {
		id, line, body string
		code           int
		want           string
	}{
		{"API-332", "POST " + widgetList, `{"kind":"Widget","metadata":{"name":"a"}}`, 400,
			"the API version in the data () does not match the expected API version (example.com/v1)"},
		{"API-332", "POST " + widgetList, `{"apiVersion":"example.com/v1","metadata":{"name":"a"}}`, 400, `the object provided is unrecognized (must be of type Widget): ` +
			`Object 'Kind' is missing in '{"apiVersion":"example.com/v1","metadata":{"name":"a"}}' ({"apiVersion":"example.com/v1" ...)`},
		{"API-332", "POST " + widgetList, `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"a"}}`, 422,
			`Gadget.example.com "a" is invalid: kind: Invalid value: "Gadget": must be Widget`},
		{"API-332", "PUT " + widgetList + "/w", `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"w","resourceVersion":"9"}}`, 409,
			`Operation cannot be fulfilled on widgets.example.com "w": the object has been modified; please apply your changes to the latest version and try again`},
		{"API-332", "PATCH " + widgetList + "/w", `{"kind":"Gadget"}`, 422, `Gadget.example.com "w" is invalid: kind: Invalid value: "Gadget": must be Widget`},
		{"API-332", "PATCH " + widgetList + "/w", `{"apiVersion":"example.com/v2"}`, 422,
			`Widget.example.com "w" is invalid: apiVersion: Invalid value: "example.com/v2": must be example.com/v1`},
		{"API-332", "PATCH " + widgetList + "/w", `{"apiVersion":null}`, 500,
			`Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'`},
	} {
		var headers []string
		if strings.HasPrefix(test.line, "PATCH") {
			headers = []string{mergePatch}
		}
		f.fails(test.line, test.body, test.code, test.want, headers...)
	}
	f.must("POST "+definitions+"?dryRun=All", `{`+strings.SplitN(strings.ReplaceAll(definitionOf(version("v1", true, anything)), "idget", "adget"), `Definition",`, 2)[1])
	resp, got := f.request("PATCH "+widgetList+"/w", `{"kind":null}`, mergePatch)
	require.Equal(t, 422, resp.StatusCode)
	require.Contains(t, got, "Object 'Kind' is missing in", "API-332")
}

// TestDeprecatedVersions: requests for deprecated versions are answered with a warning (API-336).
func TestDeprecatedVersions(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+definitions, definitionOf(version("v2", false, anything, `"deprecated":true`), version("v1", true, anything),
		version("v1beta1", false, anything, `"deprecated":true,"deprecationWarning":"gone soon"`)))
	for _, test := range []struct{ id, line, want string }{
		{"API-336", "GET /apis/example.com/v2/namespaces/default/widgets", `299 - "example.com/v2 Widget is deprecated"`},
		{"API-336", "GET /apis/example.com/v2/widgets", `299 - "example.com/v2 Widget is deprecated"`},
		{"API-336", "GET /apis/example.com/v1beta1/namespaces/default/widgets/absent", `299 - "gone soon"`},
		{"API-336", "GET /apis/example.com/v1/namespaces/default/widgets", ""},
	} {
		resp, _ := f.request(test.line, "")
		require.Equal(t, test.want, resp.Header.Get("Warning"), "%s: %s", test.id, test.line)
	}
}

// TestCustomReads: stored objects are read with the defaults that their definition has since, and without fields that it has no more (API-457).
func TestCustomReads(t *testing.T) {
	f := newFixture(t)
	schema := func(fields string) string {
		return `{"type":"object","properties":{"spec":{"type":"object","properties":{` + fields + `}}}}`
	}
	f.must("POST "+definitions, definitionOf(version("v1", true, schema(`"old":{"type":"string"}`))))
	f.must("POST "+widgetList, widget("a", "", `"spec":{"old":"x"}`))
	require.Contains(t, f.must("GET "+widgetList, ""), `"metadata":{"continue":"","resourceVersion":`, "API-458")
	f.must("PATCH "+definitions+"/widgets.example.com", `{"spec":`+strings.TrimSuffix(strings.SplitN(definitionOf(version("v1", true, schema(`"size":{"type":"integer","default":3}`))), `"spec":`, 2)[1], "}")+`}`, mergePatch)
	for _, line := range []string{"GET " + widgetList, "GET " + widgetList + "/a", "GET " + widgetList + "?limit=1"} {
		require.Contains(t, f.must(line, ""), `"spec":{"size":3}`, "API-457: %s", line)
	}
	changed := f.must("PATCH "+widgetList+"/a", `[{"op":"test","path":"/spec/size","value":3},{"op":"add","path":"/metadata/labels","value":{"l":"1"}}]`,
		"Content-Type: application/json-patch+json")
	require.Contains(t, changed, `"generation":1`, "API-457: a default is no change")
}
