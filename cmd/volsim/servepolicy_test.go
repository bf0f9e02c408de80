package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const labelPolicy = `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicy","metadata":{"name":"labels"},"spec":{"reinvocationPolicy":"Never",
	"matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods","configmaps"]}]},
	"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {'by': 'policy'}}}"}}]}}`

const labelBinding = `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicyBinding","metadata":{"name":"labels"},"spec":{"policyName":"labels"}}`

// TestServePolicies: policies review requests and what controllers create, and do the same in the script of the run (API-429).
func TestServePolicies(t *testing.T) {
	for _, pace := range []string{"auto", "settle", "1000x"} {
		t.Run(pace, func(t *testing.T) {
			address, authority := webhookServer(t)
			r := serving(t, serveFlags{time: pace, nodes: []string{"n1"}, services: map[string]string{"hooks/labels": address}})
			send := func(line, body string) string {
				t.Helper()
				code, text := r.send(line, body)
				require.Equal(t, http.StatusCreated, code, text)
				return text
			}
			send("POST /apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", labelPolicy)
			send("POST /apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", labelBinding)
			send("POST /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", fmt.Sprintf(`{"metadata":{"name":"labels"},"webhooks":[{"name":"labels.example.com",
				"admissionReviewVersions":["v1"],"sideEffects":"None","clientConfig":{"service":{"namespace":"hooks","name":"labels"},"caBundle":%q},
				"rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}]}`, authority))
			text := send("POST /api/v1/namespaces/default/configmaps", `{"metadata":{"generateName":"a-"}}`)
			require.Contains(t, text, `"labels":{"by":"policy"},"annotations":{"by":"webhook"}`)
			send("POST /apis/apps/v1/namespaces/default/statefulsets", `{"metadata":{"name":"s"},"spec":{"replicas":2,"serviceName":"s",
				"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
			require.Eventually(t, func() bool {
				_, text = r.send("GET /api/v1/namespaces/default/pods/s-1", "")
				return strings.Contains(text, `"phase":"Running"`)
			}, 5*time.Second, 10*time.Millisecond)
			require.Contains(t, text, `"by":"policy"`)
			_, want := r.send("GET /volsim/trace", "")
			r.stop()
			got := command(t, "run", "-q", "--trace", "-", r.record)
			_, got, _ = strings.Cut(got, "\n") // the result of the script
			require.Equal(t, want, got[:min(len(got), len(want))])
		})
	}
}

// TestServePodSecurity: the label of a namespace refuses what controllers create, too, and does the same in the script of the run (API-574).
func TestServePodSecurity(t *testing.T) {
	r := serving(t, serveFlags{time: "settle", nodes: []string{"n1"}})
	send := func(code int, line, body string) string {
		t.Helper()
		got, text := r.send(line, body)
		require.Equal(t, code, got, text)
		return text
	}
	send(201, "POST /api/v1/namespaces", `{"metadata":{"name":"strict","labels":{"pod-security.kubernetes.io/enforce":"baseline"}}}`)
	set := `{"metadata":{"name":"NAME"},"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},` +
		`"spec":{"hostNetwork":HOST,"containers":[{"name":"c","image":"i"}]}}}}`
	for name, host := range map[string]string{"good": "false", "bad": "true"} {
		send(201, "POST /apis/apps/v1/namespaces/strict/statefulsets", strings.NewReplacer("NAME", name, "HOST", host).Replace(set))
	}
	require.Contains(t, send(200, "GET /api/v1/namespaces/strict/pods/good-0", ""), `"phase":"Running"`, "API-574")
	send(404, "GET /api/v1/namespaces/strict/pods/bad-0", "")
	require.Contains(t, send(200, "GET /api/v1/namespaces/strict/events", ""),
		`error: pods \"bad-0\" is forbidden: violates PodSecurity \"baseline:latest\": host namespaces (hostNetwork=true)`, "API-574")
	_, want := r.send("GET /volsim/trace", "")
	r.stop()
	got := command(t, "run", "-q", "--trace", "-", r.record)
	_, got, _ = strings.Cut(got, "\n") // the result of the script
	require.Equal(t, want, got[:min(len(got), len(want))])
}

const userPolicy = `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicy","metadata":{"name":"users"},"spec":{"reinvocationPolicy":"Never",
	"matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]},
	"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{data: {'user': request.userInfo.username, 'groups': request.userInfo.groups.join(' ')}}"}}]}}`

// TestServeUsers: users have the permissions of their roles, and do the same in the script of the run (API-492, API-493, API-503).
func TestServeUsers(t *testing.T) {
	r := serving(t, serveFlags{time: "settle"})
	send := func(code int, line, body string, headers ...string) string {
		t.Helper()
		got, text := r.send(line, body, headers...)
		require.Equal(t, code, got, text)
		return text
	}
	const configMaps, roles = "/api/v1/namespaces/default/configmaps", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/"
	send(201, "POST /apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", userPolicy)
	send(201, "POST /apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", strings.ReplaceAll(labelBinding, "labels", "users"))
	send(201, "POST /api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"operator"}}`)
	send(403, "POST "+configMaps, `{"metadata":{"name":"refused"}}`, "Impersonate-User: bob")
	send(201, "POST "+roles+"roles", `{"metadata":{"name":"writer"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]}]}`)
	send(201, "POST "+roles+"rolebindings", `{"metadata":{"name":"writer"},"roleRef":{"kind":"Role","name":"writer"},
		"subjects":[{"kind":"User","name":"bob"},{"kind":"ServiceAccount","name":"operator","namespace":"default"}]}`)
	require.Contains(t, send(201, "POST "+configMaps, `{"metadata":{"name":"a"}}`, "Impersonate-User: bob", "Impersonate-Group: g"), `"groups":"g system:authenticated","user":"bob"`)
	var issued struct{ Status struct{ Token string } }
	require.NoError(t, json.Unmarshal([]byte(send(201, "POST /api/v1/namespaces/default/serviceaccounts/operator/token", "{}")), &issued))
	require.Contains(t, send(201, "POST "+configMaps, `{"metadata":{"name":"b"}}`, "Authorization: Bearer "+issued.Status.Token), `"user":"system:serviceaccount:default:operator"`)
	send(403, "GET "+configMaps, "", "Authorization: Bearer "+issued.Status.Token)
	_, want := r.send("GET /volsim/trace", "")
	r.stop()
	got := command(t, "run", "-q", "--trace", "-", r.record)
	_, got, _ = strings.Cut(got, "\n") // the result of the script
	require.Equal(t, want, got[:min(len(got), len(want))])
	script, err := os.ReadFile(r.record)
	require.NoError(t, err)
	require.Contains(t, string(script), "--as=bob --as-group=g,system:authenticated")
	require.NotContains(t, string(script), "refused", "what is forbidden has no effect")
}
