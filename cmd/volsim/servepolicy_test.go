package main

import (
	"fmt"
	"net/http"
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
