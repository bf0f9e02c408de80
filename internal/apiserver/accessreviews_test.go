package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReviews(t *testing.T) {
	f := newFixture(t)
	const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	review := `"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1"`
	f.expect("POST "+path, "{"+review+`,"spec":{"resourceAttributes":{"verb":"create","resource":"pods"}}}`, 201,
		"{"+review+`,"metadata":{},"spec":{"resourceAttributes":{"verb":"create","resource":"pods"}},"status":{"allowed":true}}`)
	f.expect("GET "+path, "", 405, failure("the server does not allow this method on the requested resource", `"reason":"MethodNotAllowed","details":{},"code":405`))
}

// TestAccessReviews checks what reviews answer, and which ones are not valid.
func TestAccessReviews(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+rbacPath+"/clusterroles", `{"metadata":{"name":"r"},"rules":[`+reads+`]}`)
	f.must("POST "+rbacPath+"/clusterrolebindings", `{"metadata":{"name":"r"},"roleRef":{"kind":"ClusterRole","name":"r"},"subjects":[{"kind":"User","name":"bob"}]}`)
	const resource, path = `"resourceAttributes":{"verb":"list","resource":"pods","namespace":"default"}`, `"nonResourceAttributes":{"verb":"get","path":"/x"}`
	selecting := func(selectors string) string {
		return `"user":"bob","resourceAttributes":{"verb":"list","resource":"pods","namespace":"default",` + selectors + `}`
	}
	for _, tt := range []struct {
		rule, kind, spec string
		code             int
		want             string
	}{
		{"API-498", "subjectaccessreviews", `"user":"bob",` + resource, 201, `"status":{"allowed":true,"reason":"RBAC: allowed by ClusterRoleBinding \"r\" of ClusterRole \"r\" to User \"bob\""}`},
		{"API-498", "subjectaccessreviews", `"user":"eve",` + resource, 201, `"status":{"allowed":false}`},
		{"API-498", "subjectaccessreviews", `"user":"bob",` + path, 201, `"status":{"allowed":false}`},
		{"API-498", "selfsubjectrulesreviews", `"namespace":"default"`, 201, `{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}`},
		{"API-498", "selfsubjectrulesreviews", `"namespace":"default"`, 201, `"metadata":{},"spec":{},"status":{`},
		{"API-498", "subjectaccessreviews", selecting(`"labelSelector":{"requirements":[{"key":"a","operator":"Near"}]}`), 201,
			`"evaluationError":"spec.resourceAttributes.labelSelector ignored due to parse error"`},
		{"API-498", "subjectaccessreviews", selecting(`"fieldSelector":{"requirements":[{"key":"a","operator":"Near"},{"key":"b","operator":"In","values":["c"]}]}`), 201,
			`"evaluationError":"spec.resourceAttributes.fieldSelector partially ignored due to parse error"`},
		{"API-498", "subjectaccessreviews", selecting(`"fieldSelector":{"rawSelector":"a"},"labelSelector":{"rawSelector":"a in"}`), 201,
			`"evaluationError":"spec.resourceAttributes.fieldSelector ignored due to parse error; spec.resourceAttributes.labelSelector ignored due to parse error"`},
		{"API-499", "subjectaccessreviews", selecting(`"fieldSelector":{}`), 422, "spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is"},
		{"API-499", "subjectaccessreviews", selecting(`"fieldSelector":{"requirements":[{"operator":"In","values":["c"]}]}`), 422, "fieldSelector.requirements[0].key: Required value"},
		{"API-499", "subjectaccessreviews", selecting(`"labelSelector":{"rawSelector":"a","requirements":[{"key":"-1","operator":"Exists"}]}`), 422, "may not specified at the same time as requirements"},
		{"API-499", "subjectaccessreviews", selecting(`"labelSelector":{"requirements":[{"key":"-1","operator":"Exists"}]}`), 422, `labelSelector.requirements[0].key: Invalid value: \"-1\"`},
		{"API-499", "selfsubjectaccessreviews", resource + `},"metadata":{"name":"x"`, 422, `metadata: Invalid value: {\"name\":\"x\"`},
		{"API-499", "selfsubjectrulesreviews", ``, 400, "no namespace on request"},
		{"API-499", "subjectaccessreviews", resource, 422, "spec.user: Invalid value"},
		{"API-499", "subjectaccessreviews", `"user":"bob"`, 422, "spec.resourceAttributes: Invalid value: null: exactly one of"},
		{"API-499", "selfsubjectaccessreviews", resource + "," + path, 422, "cannot be specified in combination with resourceAttributes"},
	} {
		resp, got := f.request("POST /apis/authorization.k8s.io/v1/"+tt.kind, `{"spec":{`+tt.spec+`}}`, "Content-Type: application/json")
		require.Equal(t, tt.code, resp.StatusCode, "%s %s %s: %s", tt.rule, tt.kind, tt.spec, got)
		require.Contains(t, got, tt.want, "%s %s %s", tt.rule, tt.kind, tt.spec)
	}
}

// TestRoleRules checks the validation and the defaults of roles and bindings, and who may write them.
func TestRoleRules(t *testing.T) {
	const granter = `{"apiGroups":["rbac.authorization.k8s.io"],"resources":["*"],"verbs":["create"]}`
	for _, tt := range []struct{ rule, path, body, want string }{
		{"API-501", "roles", `"rules":[{"apiGroups":[""],"resources":["pods"]}]`, "rules[0].verbs: Required value"},
		{"API-501", "roles", `"rules":[{"verbs":["get"],"nonResourceURLs":["/x"]}]`, "namespaced rules cannot apply to non-resource URLs"},
		{"API-501", "rolebindings", `"roleRef":{"kind":"Pod","name":"x"}`, `supported values: \"Role\", \"ClusterRole\"`},
		{"API-501", "rolebindings", `"roleRef":{"kind":"Role","name":"x"},"subjects":[{"kind":"User","name":"bob"}]`,
			`"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"bob"}],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"x"}`},
		{"API-502", "roles", `"rules":[` + reads + `]`, `is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\"]}`},
		{"API-502", "roles", `"rules":[` + granter + `]`, `"kind":"Role"`},
		{"API-502", "rolebindings", `"roleRef":{"kind":"ClusterRole","name":"view"}`, "not currently held"},
		{"API-502", "rolebindings", `"roleRef":{"kind":"Role","name":"none"}`, `role.rbac.authorization.k8s.io \"none\" not found`},
	} {
		f := newFixture(t)
		account := f.withAccount("a", granter)
		if tt.rule == "API-501" {
			account = "X: y"
		}
		_, got := f.request("POST "+rbacPath+"/namespaces/default/"+tt.path, `{"metadata":{"name":"x"},`+tt.body+`}`, account, "Content-Type: application/json")
		require.Contains(t, got, tt.want, "%s %s %s", tt.rule, tt.path, tt.body)
	}
}
