package apiserver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/core/internals"
)

// mutates stores a policy that changes ConfigMaps unless the spec says otherwise, with a binding.
func (f *fixture) mutates(spec, binding string) {
	f.t.Helper()
	if !strings.Contains(spec, "matchConstraints") {
		spec += "," + about("configmaps", "CREATE", "UPDATE")
	}
	if !strings.Contains(spec, "reinvocationPolicy") {
		spec += `,"reinvocationPolicy":"Never"`
	}
	f.must("POST "+mutatingPoliciesPath, `{"metadata":{"name":"m"},"spec":{`+spec+`}}`)
	f.must("POST "+mutatingBindingsPath, `{"metadata":{"name":"n"},"spec":{`+strings.TrimSuffix(`"policyName":"m",`+binding, ",")+`}}`)
}

// configMap is a ConfigMap with data in JSON.
func configMap(name, data string) string {
	return `{"metadata":{"name":"` + name + `"},"data":{` + data + `}}`
}

// costly is an expression with a cost of about a million, and expensive one that costs more than a single expression may.
var costly, expensive = nested("abcde"), nested("abcdefg")

// costlyConditions are too expensive together.
func costlyConditions() string {
	var list []string
	for i := range 6 {
		list = append(list, fmt.Sprintf(`{"name":"c%d","expression":"%s"}`, i, costly))
	}
	return strings.Join(list, ",")
}

// nested returns an expression that is evaluated for each combination of ten values of the variables.
func nested(variables string) string {
	text := "a >= 0"
	for _, v := range variables {
		text = "[0,1,2,3,4,5,6,7,8,9].all(" + string(v) + ", " + text + ")"
	}
	return text
}

// TestPolicies: policies refuse writes.
func TestPolicies(t *testing.T) {
	const denied = `configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: `
	for _, test := range []struct{ id, name, spec, binding, data, want string }{
		{"API-413", "a validation that holds", `"validations":[{"expression":"object.data.k == 'v'"}]`, "", `"k":"v"`, ""},
		{"API-420", "the expression is the message", `"validations":[{"expression":" object.data.k == 'w' "}]`, "", `"k":"v"`, denied + "failed expression: object.data.k == 'w'"},
		{"API-420", "a message", `"validations":[{"expression":"false","message":"no"}]`, "", `"k":"v"`, denied + "no"},
		{"API-420", "an expression of a message", `"validations":[{"expression":"false","message":"no","messageExpression":"'no ' + object.data.k"}]`, "", `"k":"v"`, denied + "no v"},
		{"API-420", "an expression of a message that fails", `"validations":[{"expression":"false","message":"no","messageExpression":"string(object.data.x)"}]`, "", `"k":"v"`, denied + "no"},
		{"API-413", "variables", `"variables":[{"name":"k","expression":"object.data.k"},{"name":"l","expression":"variables.k + 'x'"}],"validations":[{"expression":"variables.l != 'vx'"}]`, "",
			`"k":"v"`, denied + "failed expression: variables.l != 'vx'"},
		{"API-417", "the namespace", `"validations":[{"expression":"false","messageExpression":"namespaceObject.metadata.name"}]`, "", `"k":"v"`, denied + "default"},
		{"API-417", "the authorizer allows everything", `"validations":[{"expression":"!authorizer.requestResource.check('x').allowed()"}]`, "", `"k":"v"`,
			denied + "failed expression: !authorizer.requestResource.check('x').allowed()"},
		{"API-419", "an error", `"validations":[{"expression":"object.data.x == ''"}]`, "", `"k":"v"`, denied + "expression 'object.data.x == ''' resulted in error: no such key: x"},
		{"API-419", "an error that is ignored", `"failurePolicy":"Ignore","validations":[{"expression":"object.data.x == ''"}]`, "", `"k":"v"`, ""},
		{"API-422", "too expensive", `"validations":[{"expression":"` + expensive + `"}]`, "", `"k":"v"`,
			denied + "expression '" + expensive + "' resulted in error: operation cancelled: actual cost limit exceeded"},
		{"API-422", "too expensive together", `"matchConditions":[` + costlyConditions() + `],"validations":[{"expression":"true"}]`, "", `"k":"v"`,
			denied + "validation failed due to running out of cost budget, no further validation rules will be run"},
		{"API-421", "audit only", `"validations":[{"expression":"false"}]`, `"validationActions":["Audit"]`, `"k":"v"`, ""},
		{"API-423", "an annotation that fails", `"auditAnnotations":[{"key":"a","valueExpression":"string(object.data.x)"}]`, `"validationActions":["Audit"]`, `"k":"v"`,
			denied + "expression 'string(object.data.x)' resulted in error: no such key: x"},
		{"API-413", "a condition", `"matchConditions":[{"name":"a","expression":"object.data.k == 'w'"}],"validations":[{"expression":"false"}]`, "", `"k":"v"`, ""},
		{"API-419", "a condition that fails", `"matchConditions":[{"name":"a","expression":"object.data.x == 'w'"}],"validations":[{"expression":"true"}]`, "", `"k":"v"`,
			denied + "expression 'object.data.x == 'w'' resulted in error: no such key: x"},
		{"API-415", "another resource", `"validations":[{"expression":"false"}],` + about("secrets"), "", `"k":"v"`, ""},
		{"API-415", "an excluded resource", `"validations":[{"expression":"false"}],"matchConstraints":{"resourceRules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}],` +
			`"excludeResourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}`, "", `"k":"v"`, ""},
		{"API-415", "another name", `"validations":[{"expression":"false"}],"matchConstraints":{"resourceRules":[{"resourceNames":["b"],"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],` +
			`"resources":["*"]}]}`, "", `"k":"v"`, ""},
		{"API-415", "the binding is about others", `"validations":[{"expression":"false"}]`, `"matchResources":{"objectSelector":{"matchLabels":{"a":"b"}}}`, `"k":"v"`, ""},
		{"API-418", "no parameter", `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"false"}]`, `"paramRef":{"name":"x","parameterNotFoundAction":"Allow"}`, `"k":"v"`, ""},
		{"API-418", "no parameter where one is needed", `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"true"}]`, `"paramRef":{"name":"x","parameterNotFoundAction":"Deny"}`,
			`"k":"v"`, denied + "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"},
		{"API-418", "a parameter", `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"object.data.k == params.data.k"}]`,
			`"paramRef":{"name":"param","parameterNotFoundAction":"Deny"}`, `"k":"v"`, denied + "failed expression: object.data.k == params.data.k"},
		{"API-418", "an unknown kind", `"paramKind":{"apiVersion":"a.example.com/v1","kind":"X"},"validations":[{"expression":"true"}]`, `"paramRef":{"name":"x","parameterNotFoundAction":"Allow"}`, `"k":"v"`,
			`configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'a.example.com/v1, Kind=X'`},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			f.must("POST "+configMaps, configMap("param", `"k":"w"`))
			f.validates(test.spec, test.binding)
			if test.want == "" {
				f.must("POST "+configMaps, configMap("a", test.data))
				return
			}
			f.fails("POST "+configMaps, configMap("a", test.data), 422, test.want)
		})
	}
}

// TestPolicyReasons: the reason of a validation decides the code (API-420).
func TestPolicyReasons(t *testing.T) {
	for reason, code := range map[string]int{"Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413} {
		f := newFixture(t)
		f.validates(`"validations":[{"expression":"false","reason":"`+reason+`"}]`, "")
		resp, got := f.request("POST "+configMaps, configMap("a", ""))
		require.Equal(t, code, resp.StatusCode, "API-420")
		require.Contains(t, got, `"reason":"`+reason+`"`, "API-420")
	}
}

// TestPolicyWarnings: a binding may warn instead of refusing (API-421).
func TestPolicyWarnings(t *testing.T) {
	f := newFixture(t)
	f.validates(`"validations":[{"expression":"false","message":"no"}]`, `"validationActions":["Warn"]`)
	resp, _ := f.request("POST "+configMaps, configMap("a", ""))
	require.Equal(t, 201, resp.StatusCode)
	require.Equal(t, []string{`299 - "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no"`}, resp.Header.Values("Warning"), "API-421")
}

// TestPoliciesOfDeletes: the object of a delete is null, and all of a deletecollection are asked about.
func TestPoliciesOfDeletes(t *testing.T) {
	f := newFixture(t)
	f.validates(`"validations":[{"expression":"object != null || oldObject.metadata.name != 'a'","message":"a is kept"}]`, "")
	f.must("POST "+configMaps, configMap("a", ""))
	f.must("POST "+configMaps, configMap("b", ""))
	f.fails("DELETE "+configMaps+"/a", "", 422, `configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: a is kept`)
	f.must("DELETE "+configMaps+"/b", "")
	resp, _ := f.request("DELETE "+configMaps, "")
	require.Equal(t, 422, resp.StatusCode, "API-416")
}

// TestPolicyChanges: a change of a policy, a binding or a parameter takes effect at once (API-416).
func TestPolicyChanges(t *testing.T) {
	f := newFixture(t)
	post := func(code int) {
		t.Helper()
		resp, got := f.request("POST "+configMaps+"?dryRun=All", configMap("a", ""))
		require.Equal(t, code, resp.StatusCode, got)
	}
	f.validates(`"validations":[{"expression":"false"}]`, "")
	post(422)
	f.must("PATCH "+policiesPath+"/p", `{"spec":{"validations":[{"expression":"true"}]}}`, mergePatch)
	post(201)
	f.must("PATCH "+policiesPath+"/p", `{"spec":{"validations":[{"expression":"false"}]}}`, mergePatch)
	f.must("DELETE "+bindingsPath+"/b", "")
	post(201)
}

// TestPoliciesAreNotAbout: policies are not about themselves, nor about questions who may do what (API-415).
func TestPoliciesAreNotAbout(t *testing.T) {
	f := newFixture(t)
	f.validates(`"validations":[{"expression":"false"}],`+about("*/*"), "")
	f.must("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", `{"spec":{"resourceAttributes":{"verb":"get"}}}`)
	f.must("PATCH "+policiesPath+"/p", `{"metadata":{"labels":{"a":"b"}}}`, mergePatch)
	resp, _ := f.request("POST "+validatings, configurationOf(t, "w"))
	require.Equal(t, 422, resp.StatusCode, "API-415")
}

// TestMutatingPolicies: policies change objects.
func TestMutatingPolicies(t *testing.T) {
	const denied = `policy 'm' with binding 'n' denied request: `
	for _, test := range []struct{ id, name, mutations, want string }{
		{"API-428", "a label", applies("Object{metadata: Object.metadata{labels: {'a': object.metadata.name}}}"), `"labels":{"a":"a"}`},
		{"API-427", "a patch", patches("[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('x'), value: 'y'}]"), `"data":{"k":"v","x":"y"}`},
		{"API-427", "a test that fails", patches("[JSONPatch{op: 'test', path: '/data/k', value: 'w'},JSONPatch{op: 'remove', path: '/data'}]"), `"data":{"k":"v"}`},
		{"API-424", "one after the other", applies("Object{data: {'x': 'y'}}") + "," + applies("Object{data: {'z': object.data.x}}"), `"data":{"k":"v","x":"y","z":"y"}`},
		{"API-425", "an error", applies("Object{data: {'x': object.data.absent}}"),
			denied + `expression 'Object{data: {'x': object.data.absent}}' resulted in error: no such key: absent`},
		{"API-427", "a patch that does not apply", patches("[JSONPatch{op: 'remove', path: '/data/x'}]"), denied + "JSON Patch: error in remove for path: '/data/x'"},
		{"API-428", "an unknown field", applies("Object{x: 1}"), denied + "error applying patch: failed to convert patch object to typed object: .x: field not declared in schema"},
		{"API-428", "names of types", applies("Object{metadata: Object.wrong{x: 1}}"), denied + "type mismatch: unexpected type name"},
		{"API-427", "a field that does not exist", patches("[JSONPatch{op: 'add', path: '/x', value: 1}]"), `Internal error occurred: strict decoding error: unknown field "x"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			f.mutates(`"mutations":[`+test.mutations+`]`, "")
			_, got := f.request("POST "+configMaps, configMap("a", `"k":"v"`))
			if strings.HasPrefix(test.want, `"`) {
				require.Contains(t, got, test.want, test.id)
			} else {
				require.Contains(t, got, quoted(test.want)[:min(len(quoted(test.want)), 60)], test.id)
			}
		})
	}
}

// TestMutatingPoliciesOfPods: lists are merged by their keys, and an atomic one is refused (API-428).
func TestMutatingPoliciesOfPods(t *testing.T) {
	f := newFixture(t)
	f.mutates(`"mutations":[`+applies("object.metadata.name == 'a' ? Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', image: 'other'}, Object.spec.containers{name: 'd', image: 'd'}]}}"+
		" : Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', args: ['a'], command: ['b']}]}}")+`],`+about("pods", "CREATE"), "")
	pod := func(name string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{"containers":[{"name":"c","image":"i","command":["x"]}]}}`
	}
	got := f.must("POST "+pods, pod("a"))
	require.Contains(t, got, `{"name":"c","image":"other","command":["x"]`, "API-428")
	require.Contains(t, got, `{"name":"d","image":"d",`, "API-428")
	_, got = f.request("POST "+pods, pod("b"))
	require.Contains(t, got, "may not mutate atomic arrays, maps or structs: .spec.containers[0].args, .spec.containers[0].command", "API-428")
}

// TestMutatingPoliciesOfScales: a policy that applies fields to a scale fails, because the group of Scale has no schema for it (API-428).
func TestMutatingPoliciesOfScales(t *testing.T) {
	f := newFixture(t)
	f.mutates(`"mutations":[`+applies("Object{spec: Object.spec{replicas: 5}}")+`],"matchConstraints":{"resourceRules":[{"operations":["UPDATE"],`+
		`"apiGroups":["apps"],"apiVersions":["v1"],"resources":["replicasets/scale"]}]}`, "")
	f.must("POST /apis/apps/v1/namespaces/default/replicasets", replicaSet)
	_, got := f.request("PATCH /apis/apps/v1/namespaces/default/replicasets/r/scale", `{"spec":{"replicas":3}}`, mergePatch)
	require.Contains(t, got, "failed to convert patch object to typed object: no corresponding type for autoscaling/v1, Kind=Scale", "API-428")
}

// TestPoliciesOfControllers: what a simulated controller creates goes through policies, without a network (API-429).
func TestPoliciesOfControllers(t *testing.T) {
	f := newFixture(t)
	f.mutates(`"mutations":[`+applies("Object{metadata: Object.metadata{annotations: {'by': request.userInfo.username}}}")+`],`+about("pods", "CREATE"), "")
	reviewer := internals.Engine(f.cluster).Admission()
	apiserver.New(apiserver.Config{Backend: apiserver.ForEngine(internals.Engine(f.cluster)), NoManagedFields: true})
	require.Same(t, reviewer, internals.Engine(f.cluster).Admission(), "another server took over, which may ask no webhooks")
	f.must("POST /apis/apps/v1/namespaces/default/replicasets", replicaSet)
	f.server.Do(func() { require.NoError(t, f.cluster.Settle()) })
	require.Equal(t, 2, strings.Count(f.must("GET "+pods, ""), `"annotations":{"by":"system:serviceaccount:kube-system:replicaset-controller"}`), "API-429")
	f.validates(`"validations":[{"expression":"false","message":"no pods"}],`+about("pods", "CREATE"), "")
	f.must("PATCH /apis/apps/v1/namespaces/default/replicasets/r", `{"spec":{"replicas":3}}`, mergePatch)
	f.server.Do(func() { require.NoError(t, f.cluster.Advance(time.Minute)) }) // the controller tries again for ever
	require.Contains(t, f.must("GET /api/v1/namespaces/default/events", ""), "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no pods", "API-429")
}

// TestPoliciesAndWebhooks: policies come before webhooks, and see what webhooks have changed in a second round (API-416, API-426).
func TestPoliciesAndWebhooks(t *testing.T) {
	h := newHooked(t)
	h.answer = patching(`[{"op":"add","path":"/data/hook","value":"yes"}]`)
	h.use(mutatings, webhook(only([]string{"CREATE"}, []string{"configmaps"}, nil)))
	h.mutates(`"reinvocationPolicy":"IfNeeded","mutations":[`+applies("Object{data: {'seen': object.data.?seen.orValue('') + (has(object.data.hook) ? 'hook' : 'none')}}")+`]`, "")
	h.validates(`"validations":[{"expression":"object.data.hook == 'yes' && object.data.seen == 'nonehook'","messageExpression":"string(object.data.seen)"}]`, "")
	h.must("POST "+configMaps, configMap("a", `"k":"v"`))
	asked := h.take()
	require.Len(t, asked, 1)
	require.Contains(t, string(asked[0].Object.Raw), `"seen":"none"`, "API-416")
}

// TestClaimSizes: the policy of docs/operators.md limits claims, also those of StatefulSets.
func TestClaimSizes(t *testing.T) {
	f := newFixture(t)
	f.validates(`"validations":[{"expression":"quantity(object.spec.resources.requests.storage).compareTo(quantity('100Gi')) <= 0","message":"a claim has at most 100Gi"}],`+
		about("persistentvolumeclaims", "CREATE", "UPDATE"), "")
	claim := func(size string) string {
		return `{"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"` + size + `"}}}}`
	}
	f.fails("POST "+claims, claim("101Gi"), 422, `persistentvolumeclaims "c" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: a claim has at most 100Gi`)
	f.must("POST "+claims, claim("100Gi"))
	f.must("POST /apis/apps/v1/namespaces/default/statefulsets", `{"metadata":{"name":"s"},"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},`+
		`"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}},"volumeClaimTemplates":[`+strings.Replace(claim("1Ti"), `"c"`, `"data"`, 1)+`]}}`)
	f.server.Do(func() { require.NoError(t, f.cluster.Advance(time.Minute)) })
	require.NotContains(t, f.must("GET "+claims, ""), "data-s-0", "API-429")
	require.Contains(t, f.must("GET /api/v1/namespaces/default/events", ""), "denied request: a claim has at most 100Gi", "API-429")
}
