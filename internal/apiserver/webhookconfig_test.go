package apiserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	mutatings   = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
	validatings = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
)

// webhook returns a valid webhook in which fields are replaced.
func webhook(replaced map[string]any) map[string]any {
	fields := map[string]any{
		"name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": []string{"v1"},
		"clientConfig": map[string]any{"url": "https://127.0.0.1:9/"},
		"rules":        []any{map[string]any{"operations": []string{"*"}, "apiGroups": []string{"*"}, "apiVersions": []string{"*"}, "resources": []string{"*/*"}}},
	}
	for name, value := range replaced {
		fields[name] = value
		if value == nil {
			delete(fields, name)
		}
	}
	return fields
}

// configurationOf returns a configuration of webhooks.
func configurationOf(t *testing.T, name string, hooks ...map[string]any) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": name}, "webhooks": hooks})
	require.NoError(t, err)
	return string(data)
}

// TestWebhookConfigurations: what is wrong with the configuration of webhooks. The texts are those of kube-apiserver, as is compared by
// internal/proof/apiserver.
func TestWebhookConfigurations(t *testing.T) {
	f := newFixture(t)
	rule := func(field string, values ...string) map[string]any {
		r := map[string]any{"operations": []string{"*"}, "apiGroups": []string{"*"}, "apiVersions": []string{"*"}, "resources": []string{"*/*"}}
		r[field] = values
		return map[string]any{"rules": []any{r}}
	}
	service := func(fields map[string]any) map[string]any {
		return map[string]any{"clientConfig": map[string]any{"service": fields}}
	}
	for _, test := range []struct {
		id   string
		hook map[string]any
		want string
	}{
		{"API-381", map[string]any{"name": "a"}, `webhooks[0].name: Invalid value: "a": should be a domain with at least three segments separated by dots`},
		{"API-381", map[string]any{"name": ""}, `webhooks[0].name: Required value`},
		{"API-381", map[string]any{"failurePolicy": "No"}, `webhooks[0].failurePolicy: Unsupported value: "No": supported values: "Fail", "Ignore"`},
		{"API-381", map[string]any{"matchPolicy": "No"}, `webhooks[0].matchPolicy: Unsupported value: "No": supported values: "Equivalent", "Exact"`},
		{"API-381", map[string]any{"reinvocationPolicy": "No"}, `webhooks[0].reinvocationPolicy: Unsupported value: "No": supported values: "IfNeeded", "Never"`},
		{"API-381", map[string]any{"sideEffects": nil}, `webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun`},
		{"API-381", map[string]any{"sideEffects": "Some"}, `webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"`},
		{"API-381", map[string]any{"timeoutSeconds": 0}, `webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds`},
		{"API-381", map[string]any{"timeoutSeconds": 31}, `webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds`},
		{"API-381", map[string]any{"objectSelector": map[string]any{"matchLabels": map[string]any{"a": "-"}}}, `webhooks[0].objectSelector.matchLabels`},
		{"API-381", map[string]any{"namespaceSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "No"}}}},
			`webhooks[0].namespaceSelector.matchExpressions[0].operator: Invalid value: "No": not a valid selector operator`},
		{"API-381", map[string]any{"admissionReviewVersions": nil}, `webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1`},
		{"API-381", map[string]any{"admissionReviewVersions": []string{"v2"}},
			`webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1`},
		{"API-381", map[string]any{"clientConfig": map[string]any{}}, `webhooks[0].clientConfig: Required value: exactly one of url or service is required`},
		{"API-381", map[string]any{"clientConfig": map[string]any{"url": "http://h/"}},
			`webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`},
		{"API-342", service(map[string]any{"name": "a"}), `webhooks[0].clientConfig.service.name: Required value`},
		{"API-342", service(map[string]any{"namespace": "a"}), `webhooks[0].clientConfig.service.namespace: Required value`},
		{"API-381", service(map[string]any{"namespace": "a", "name": "b", "path": "c//d"}), `webhooks[0].clientConfig.service.path: Invalid value: "c//d": must start with a '/'`},
		{"API-381", service(map[string]any{"namespace": "a", "name": "b", "port": 0}), `webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid`},
		{"API-381", rule("operations"), `webhooks[0].rules[0].operations: Required value`},
		{"API-381", rule("operations", "*", "CREATE"), `webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations`},
		{"API-381", rule("operations", "GET"), `webhooks[0].rules[0].operations[0]: Unsupported value: "GET": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"`},
		{"API-381", rule("apiGroups", "*", "apps"), `webhooks[0].rules[0].apiGroups: Invalid value: ["*","apps"]: if '*' is present, must not specify other API groups`},
		{"API-381", rule("apiVersions", ""), `webhooks[0].rules[0].apiVersions[0]: Required value`},
		{"API-381", rule("resources"), `webhooks[0].rules[0].resources: Required value`},
		{"API-381", rule("resources", "pods/*", "pods/status"), `webhooks[0].rules[0].resources[1]: Invalid value: "pods/status": if 'pods/*' is present, must not specify pods/status`},
		{"API-381", rule("resources", "*/scale", "pods/scale"), `webhooks[0].rules[0].resources[1]: Invalid value: "pods/scale": if '*/scale' is present, must not specify pods/scale`},
		{"API-381", rule("resources", "*", "pods"), `webhooks[0].rules[0].resources: Invalid value: ["*","pods"]: if '*' is present, must not specify other resources without subresources`},
		{"API-381", rule("resources", "*/*", "pods"), `webhooks[0].rules[0].resources: Invalid value: ["*/*","pods"]: if '*/*' is present, must not specify other resources`},
		{"API-382", map[string]any{"matchConditions": []any{map[string]any{"name": "a", "expression": "1"}}},
			`webhooks[0].matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int`},
		{"API-382", map[string]any{"matchConditions": []any{map[string]any{"name": "a", "expression": "true"}, map[string]any{"name": "a", "expression": "true"}}},
			`webhooks[0].matchConditions[1].name: Duplicate value: "a"`},
	} {
		resp, got := f.request("POST "+mutatings, configurationOf(t, "a", webhook(test.hook)))
		var status metav1.Status
		require.NoError(t, json.Unmarshal([]byte(got), &status))
		require.Equal(t, 422, resp.StatusCode, "%s: %v: %s", test.id, test.hook, got)
		require.Contains(t, status.Message, test.want, "%s: %v", test.id, test.hook)
	}
	_, got := f.request("POST "+validatings, configurationOf(t, "a", webhook(nil), webhook(nil)))
	require.Contains(t, got, `webhooks[1].name: Duplicate value: \"a.example.com\"`, "API-381")
}

// TestWebhookDefaults: what a configuration leaves out (API-380).
func TestWebhookDefaults(t *testing.T) {
	f := newFixture(t)
	hook := webhook(map[string]any{"clientConfig": map[string]any{"service": map[string]any{"namespace": "a", "name": "b"}}})
	for _, test := range []struct{ id, path, more string }{{"API-380", mutatings, `"reinvocationPolicy":"Never",`}, {"API-380", validatings, ""}} {
		got := f.must("POST "+test.path, configurationOf(t, "a", hook))
		for _, want := range []string{
			`"failurePolicy":"Fail"`, `"matchPolicy":"Equivalent"`, `"namespaceSelector":{}`, `"objectSelector":{}`, `"timeoutSeconds":10`, `"port":443`, `"scope":"*"`,
			`"generation":1`,
		} {
			require.Contains(t, got, want, test.id)
		}
		require.Equal(t, test.more != "", strings.Contains(got, `"reinvocationPolicy":"Never"`), test.id)
		// What was sent without defaults is the same again.
		require.Contains(t, f.must("PATCH "+test.path+"/a", fmt.Sprintf(`{"webhooks":[%s]}`, mustJSON(t, hook)), "Content-Type: application/merge-patch+json"), `"generation":1`)
	}
}

func mustJSON(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return string(data)
}
