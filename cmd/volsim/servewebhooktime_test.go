package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
)

// TestServeSlowWebhooks: time passes while a webhook is asked. The script of the run has the same trace.
func TestServeSlowWebhooks(t *testing.T) {
	var server atomic.Pointer[string]
	address, authority := hookServer(t, func(w http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		_ = json.NewDecoder(req.Body).Decode(&review) // the client is the server under test
		resp, err := http.Post(*server.Load()+"/volsim/clock?do=advance&by=1m", "", nil)
		if err == nil {
			_ = resp.Body.Close()
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: err == nil}
		_ = json.NewEncoder(w).Encode(review)
	})
	r := serving(t, serveFlags{time: "manual", nodes: []string{"n1"}, services: map[string]string{"hooks/labels": address}})
	server.Store(&r.url)
	code, text := r.send("POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", fmt.Sprintf(`{"metadata":{"name":"slow"},"webhooks":[{"name":"slow.example.com",
		"admissionReviewVersions":["v1"],"sideEffects":"None","clientConfig":{"service":{"namespace":"hooks","name":"labels"},"caBundle":%q},
		"rules":[{"operations":["CREATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["statefulsets"]}]}]}`, authority))
	require.Equal(t, http.StatusCreated, code, text)
	const set = `{"metadata":{"name":"slow"},"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`

	// API-540: the controller of StatefulSets starts when the first one is there, a minute later.
	code, text = r.send("POST /apis/apps/v1/namespaces/default/statefulsets", set)
	require.Equal(t, http.StatusCreated, code, text)

	_, want := r.send("GET /volsim/trace", "")
	r.stop()
	got := command(t, "run", "-q", "--trace", "-", r.record)
	_, got, _ = strings.Cut(got, "\n") // the result of the script
	require.Equal(t, want, got)
}
