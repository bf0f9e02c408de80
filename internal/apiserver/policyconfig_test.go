package apiserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	policiesPath         = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
	bindingsPath         = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
	mutatingPoliciesPath = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
	mutatingBindingsPath = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings"
)

// about returns matchConstraints for all writes of resources.
func about(resources string, operations ...string) string {
	quoted, _ := json.Marshal(operations) // strings can be encoded
	if len(operations) == 0 {
		quoted = []byte(`["*"]`)
	}
	return fmt.Sprintf(`"matchConstraints":{"resourceRules":[{"operations":%s,"apiGroups":["*"],"apiVersions":["*"],"resources":["%s"]}]}`,
		quoted, strings.ReplaceAll(resources, ",", `","`))
}

// validates stores a policy about ConfigMaps unless the spec says otherwise, with a binding.
func (f *fixture) validates(spec, binding string) {
	f.t.Helper()
	if !strings.Contains(spec, "matchConstraints") {
		spec += "," + about("configmaps")
	}
	if !strings.Contains(binding, "validationActions") {
		binding = strings.TrimPrefix(binding+`,"validationActions":["Deny"]`, ",")
	}
	f.must("POST "+policiesPath, `{"metadata":{"name":"p"},"spec":{`+spec+`}}`)
	f.must("POST "+bindingsPath, `{"metadata":{"name":"b"},"spec":{"policyName":"p",`+binding+`}}`)
}

// applies is a mutation that merges an object, patches one that is a JSON patch.
func applies(expression string) string {
	data, _ := json.Marshal(expression) // a string can be encoded
	return `{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":` + string(data) + `}}`
}

func patches(expression string) string {
	data, _ := json.Marshal(expression)
	return `{"patchType":"JSONPatch","jsonPatch":{"expression":` + string(data) + `}}`
}

// TestPolicyDefaults: what a policy and a binding get when they are written (API-410).
func TestPolicyDefaults(t *testing.T) {
	f := newFixture(t)
	f.validates(`"validations":[{"expression":"true"}]`, `"matchResources":{}`)
	policy := f.must("GET "+policiesPath+"/p", "")
	require.Contains(t, policy, `"matchConstraints":{"namespaceSelector":{},"objectSelector":{},`, "API-410")
	require.Contains(t, policy, `"failurePolicy":"Fail"`, "API-410")
	require.Contains(t, policy, `"scope":"*"`, "API-410")
	require.Contains(t, f.must("GET "+bindingsPath+"/b", ""), `"matchResources":{"namespaceSelector":{},"objectSelector":{},"matchPolicy":"Equivalent"}`, "API-410")
}

// TestPolicyErrors: what is wrong with a policy. The texts are those of kube-apiserver, as is compared by internal/proof/apiserver.
func TestPolicyErrors(t *testing.T) {
	f := newFixture(t)
	maps := about("configmaps", "CREATE")
	for _, test := range []struct{ id, path, spec, want string }{
		{"API-411", policiesPath, `"validations":[{"expression":"true"}]`, `spec.matchConstraints: Required value`},
		{"API-411", policiesPath, maps, `[spec.validations: Required value: validations or auditAnnotations must contain at least one item, ` +
			`spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item]`},
		{"API-411", policiesPath, maps + `,"validations":[{"expression":"1"}]`, `spec.validations[0].expression: Invalid value: "1": must evaluate to bool but got int`},
		{"API-411", policiesPath, maps + `,"validations":[{"expression":"true","reason":"Unauthorized"}]`,
			`spec.validations[0].reason: Unsupported value: "Unauthorized": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"`},
		{"API-411", policiesPath, maps + `,"variables":[{"name":"in","expression":"1"}],"validations":[{"expression":"true"}]`,
			`spec.variables[0].name: Invalid value: "in": must be a valid CEL identifier`},
		{"API-411", policiesPath, maps + `,"paramKind":{"apiVersion":"v1"},"validations":[{"expression":"true"}]`, `spec.paramKind.kind: Required value`},
		{"API-411", policiesPath, maps + `,"auditAnnotations":[{"key":"a","valueExpression":"1"}]`,
			`spec.auditAnnotations[0].valueExpression: Invalid value: "1": must evaluate to one of [string null_type] but got int`},
		{"API-411", mutatingPoliciesPath, maps + `,"reinvocationPolicy":"Never"`, `spec.mutations: Required value: mutations must contain at least one item`},
		{"API-411", mutatingPoliciesPath, about("configmaps", "DELETE") + `,"reinvocationPolicy":"Never","mutations":[` + applies("Object{}") + `]`,
			`spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"`},
		{"API-411", mutatingPoliciesPath, maps + `,"reinvocationPolicy":"Never","mutations":[` + patches("[1]") + `]`,
			`spec.mutations[0].jsonPatch.expression: Invalid value: "[1]": must evaluate to list(JSONPatch) but got list(int)`},
		{"API-412", bindingsPath, `"policyName":"p"`, `spec.validationActions: Required value: at least one validation action is required`},
		{"API-412", bindingsPath, `"policyName":"p","validationActions":["Deny","Warn"]`, `spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn ` +
			`(repeating the same validation failure information in the API response and headers serves no purpose)`},
		{"API-412", bindingsPath, `"policyName":"p","validationActions":["Deny"],"paramRef":{"name":"a"}`, `spec.paramRef.parameterNotFoundAction: Required value`},
		{"API-412", mutatingBindingsPath, ``, `spec.policyName: Required value`},
		{"API-413", policiesPath, maps + `,"validations":[{"expression":"true","messageExpression":"string(authorizer.path('/x').check('get').allowed())"}]`,
			"spec.validations[0].messageExpression: Invalid value: \"string(authorizer.path('/x').check('get').allowed())\": compilation failed: ERROR: <input>:1:8: " +
				"undeclared reference to 'authorizer'"},
	} {
		_, got := f.request("POST "+test.path, `{"metadata":{"name":"x"},"spec":{`+test.spec+`}}`)
		require.Contains(t, got, `\"x\" is invalid: `+quoted(test.want), test.id)
	}
	f.must("POST "+policiesPath, `{"metadata":{"name":"x"},"spec":{`+maps+`,"validations":[{"expression":"true"}]}}`)
	_, got := f.request("PATCH "+policiesPath+"/x/status", `{"status":{"typeChecking":{"expressionWarnings":[{"fieldRef":"","warning":""}]}}}`, mergePatch)
	require.Contains(t, got, "status.typeChecking.expressionWarnings[0].warning: Required value", "API-414")
}

// quoted is a text as it is in JSON.
func quoted(text string) string {
	data, _ := json.Marshal(text) // a string can be encoded
	return strings.Trim(string(data), `"`)
}
