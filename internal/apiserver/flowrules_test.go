package apiserver_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFlowRules: defaults, validation and tables of the kinds of flow control.
func TestFlowRules(t *testing.T) {
	const (
		schemas = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
		levels  = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
		table   = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"
	)
	f := newFixture(t)
	user := `"subjects":[{"kind":"User","user":{"name":"u"}}]`
	f.must("POST "+schemas, `{"metadata":{"name":"a"},"spec":{"priorityLevelConfiguration":{"name":"x"},"rules":[{`+user+`,"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}}`)
	f.must("POST "+schemas, `{"metadata":{"name":"b"},"spec":{"priorityLevelConfiguration":{"name":"x"},"matchingPrecedence":5}}`)
	require.Contains(t, f.must("GET "+schemas+"/a", ""), `"matchingPrecedence":1000`, "API-520")
	require.Contains(t, f.must("GET "+schemas, "", table), `{"cells":["b","x",5,"\u003cnone\u003e"`, "API-523")
	require.Regexp(t, `"cells":\["b".*"cells":\["a"`, f.must("GET "+schemas, "", table), "API-523")
	f.must("POST "+levels, `{"metadata":{"name":"x"},"spec":{"type":"Limited","limited":{"limitResponse":{"type":"Queue","queuing":{}}}}}`)
	require.Contains(t, f.must("GET "+levels+"/x", ""),
		`"limited":{"nominalConcurrencyShares":30,"limitResponse":{"type":"Queue","queuing":{"queues":64,"handSize":8,"queueLengthLimit":50}},"lendablePercent":0}`, "API-521")
	require.Contains(t, f.must("GET "+levels, "", table), `"cells":["x","Limited",30,64,8,50,`, "API-523")

	const schema, level = `FlowSchema.flowcontrol.apiserver.k8s.io "c" is invalid: `, `PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io "c" is invalid: `
	for _, tt := range []struct{ rule, path, spec, want string }{
		{"API-520", schemas, `"priorityLevelConfiguration":{"name":"x"},"matchingPrecedence":1`,
			schema + "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"},
		{"API-520", schemas, `"rules":[]`, schema + "spec.priorityLevelConfiguration.name: Required value: must reference a priority level"},
		{"API-520", schemas, `"priorityLevelConfiguration":{"name":"x"},"rules":[{` + user + `,"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":["/a*"]}]}]`,
			schema + `spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a*": wildcard can only do suffix matching`},
		{"API-520", schemas, `"priorityLevelConfiguration":{"name":"x"},"rules":[{"subjects":[{"kind":"Group"}],"resourceRules":[{"verbs":["get"],"apiGroups":[""],"resources":["*"],"clusterScope":true}]}]`,
			schema + "spec.rules[0].subjects[0].group: Required value: group is required when subject kind is 'Group'"},
		{"API-521", levels, `"type":"Exempt"`, level + "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'"},
		{"API-521", levels, `"type":"Limited"`, level + "spec.limited: Required value: must not be empty when type is Limited"},
		{"API-521", levels, `"type":"Limited","limited":{"limitResponse":{"type":"Queue","queuing":{"queues":2,"handSize":3}}}`,
			level + "spec.limited.limitResponse.queuing.handSize: Invalid value: 3: should not be greater than queues (2)"},
	} {
		f.fails("POST "+tt.path, `{"metadata":{"name":"c"},"spec":{`+tt.spec+`}}`, 422, tt.want)
	}
	f.fails("POST "+levels, `{"metadata":{"name":"catch-all"},"spec":{"type":"Limited","limited":{"limitResponse":{"type":"Reject"}}}}`, 422,
		`PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io "catch-all" is invalid: spec: Invalid value: {"Type":"Limited","Limited":{"NominalConcurrencyShares":30,`+
			`"LimitResponse":{"Type":"Reject","Queuing":null},"LendablePercent":0,"BorrowingLimitPercent":null},"Exempt":null}: spec of 'catch-all' must equal the fixed value`)
}

// TestFlows: an answer names the first FlowSchema that its request matches, and its level (API-525).
func TestFlows(t *testing.T) {
	const base = "/apis/flowcontrol.apiserver.k8s.io/v1/"
	f := newFixture(t)
	flow := func(line string, headers ...string) string {
		t.Helper()
		resp, _ := f.request(line, "", headers...)
		return resp.Header.Get("X-Kubernetes-Pf-Flowschema-Uid") + "/" + resp.Header.Get("X-Kubernetes-Pf-Prioritylevel-Uid")
	}
	require.Equal(t, "/", flow("GET /version"), "API-525")
	uid := func(path, body string) string {
		var obj struct{ Metadata struct{ UID string } }
		require.NoError(t, json.Unmarshal([]byte(f.must("POST "+base+path, body)), &obj))
		return obj.Metadata.UID
	}
	limited := `"type":"Limited","limited":{"limitResponse":{"type":"Reject"}}`
	level := uid("prioritylevelconfigurations", `{"metadata":{"name":"l"},"spec":{`+limited+`}}`)
	schema := func(name, level string, precedence int, subject, rules string) string {
		return uid("flowschemas", fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"priorityLevelConfiguration":{"name":%q},"matchingPrecedence":%d,"rules":[{"subjects":[%s],%s}]}}`,
			name, level, precedence, subject, rules))
	}
	paths := `"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":["/version","/livez/*"]}]`
	objects := `"resourceRules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods","nodes"],"namespaces":["default"]}]`
	all := `"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]`
	bob := `{"kind":"User","user":{"name":"bob"}}`
	schema("dangling", "none", 2, bob, all)
	forPaths := schema("paths", "l", 3, bob, paths)
	forObjects := schema("objects", "l", 4, `{"kind":"ServiceAccount","serviceAccount":{"namespace":"default","name":"*"}},`+bob, objects)
	rest := schema("rest", "l", 5, `{"kind":"Group","group":{"name":"*"}}`, all)
	admins := schema("admins", "l", 6, `{"kind":"Group","group":{"name":"system:masters"}}`, all)
	for _, tt := range []struct{ rule, line, user, want string }{
		{"API-525", "GET /version", "bob", forPaths},
		{"API-525", "GET /livez/ping", "bob", forPaths},
		{"API-525", "GET /livez", "bob", rest},
		{"API-525", "GET /version", "eve", rest},
		{"API-525", "GET /version", "", rest},
		{"API-525", "GET /api/v1/namespaces/default/pods/a", "bob", forObjects},
		{"API-525", "GET /api/v1/namespaces/default/pods/a", "system:serviceaccount:default:x", forObjects},
		{"API-525", "GET /api/v1/namespaces/default/pods/a", "system:serviceaccount:other:x", rest},
		{"API-525", "GET /api/v1/namespaces/default/pods/a/status", "bob", rest},
		{"API-525", "GET /api/v1/namespaces/default/pods", "bob", rest},
		{"API-525", "GET /api/v1/nodes/a", "bob", rest},
	} {
		var headers []string
		if tt.user != "" {
			headers = []string{"Impersonate-User: " + tt.user}
		}
		require.Equal(t, tt.want+"/"+level, flow(tt.line, headers...), "%s: %s as %s", tt.rule, tt.line, tt.user)
	}
	uid("prioritylevelconfigurations", `{"metadata":{"name":"m"},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":7,"limitResponse":{"type":"Reject"}}}}`)
	require.Contains(t, f.must("GET /metrics", ""), "apiserver_flowcontrol_nominal_limit_seats{priority_level=\"l\"} 487\n"+
		"apiserver_flowcontrol_nominal_limit_seats{priority_level=\"m\"} 114\n", "API-526")
	f.must("DELETE "+base+"flowschemas/rest", "")
	require.Equal(t, admins+"/"+level, flow("GET /version"), "API-525")
	require.Equal(t, "/", flow("GET /version", "Impersonate-User: eve"), "API-525")
}
