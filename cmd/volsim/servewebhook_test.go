package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
)

// webhookServer returns the address of a server for the service hooks/labels, which annotates objects, and the authority of its certificate.
func webhookServer(t *testing.T) (address, authority string) {
	t.Helper()
	return hookServer(t, func(w http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		_ = json.NewDecoder(req.Body).Decode(&review) // the client is the server under test
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, PatchType: new(admissionv1.PatchTypeJSONPatch),
			Patch: []byte(`[{"op":"add","path":"/metadata/annotations","value":{"by":"webhook"}}]`)}
		_ = json.NewEncoder(w).Encode(review)
	})
}

// hookServer returns the address of a server for the service hooks/labels, and the authority of its certificate.
func hookServer(t *testing.T, handler http.HandlerFunc) (address, authority string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"labels.hooks.svc"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	return u.Host, base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestServeWebhooks: requests go through the webhooks of services, and the script of the run has their answers (API-397).
func TestServeWebhooks(t *testing.T) {
	address, authority := webhookServer(t)
	r := serving(t, serveFlags{time: "manual", services: map[string]string{"hooks/labels": address}})
	code, text := r.send("POST /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", fmt.Sprintf(`{"metadata":{"name":"labels"},"webhooks":[{"name":"labels.example.com",
		"admissionReviewVersions":["v1"],"sideEffects":"None","clientConfig":{"service":{"namespace":"hooks","name":"labels"},"caBundle":%q},
		"rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}]}`, authority))
	require.Equal(t, http.StatusCreated, code, text)
	code, text = r.send("POST /api/v1/namespaces/default/configmaps", `{"metadata":{"generateName":"a-"}}`)
	require.Equal(t, http.StatusCreated, code, text)
	require.Contains(t, text, `"annotations":{"by":"webhook"}`)
	_, want := r.send("GET /volsim/trace", "")
	r.stop()
	got := command(t, "run", "-q", "--trace", "-", r.record)
	_, got, _ = strings.Cut(got, "\n") // the result of the script
	require.Equal(t, want, got)

	var out, errOut bytes.Buffer
	require.Equal(t, exitUsage, execute([]string{"serve", "--service", "labels=" + address}, nil, &out, &errOut))
	require.Contains(t, errOut.String(), "want NAMESPACE/NAME=HOST:PORT")
}

// TestServeWebhooksOfControllers: what controllers create goes through webhooks, too, and so it does in the script of the run (API-399).
func TestServeWebhooksOfControllers(t *testing.T) {
	for _, pace := range []string{"auto", "settle", "1000x"} {
		t.Run(pace, func(t *testing.T) {
			address, authority := webhookServer(t)
			r := serving(t, serveFlags{time: pace, nodes: []string{"n1"}, services: map[string]string{"hooks/labels": address}})
			code, text := r.send("POST /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", fmt.Sprintf(`{"metadata":{"name":"labels"},"webhooks":[{"name":"labels.example.com",
				"admissionReviewVersions":["v1"],"sideEffects":"None","clientConfig":{"service":{"namespace":"hooks","name":"labels"},"caBundle":%q},
				"rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]}]}`, authority))
			require.Equal(t, http.StatusCreated, code, text)
			code, text = r.send("POST /apis/apps/v1/namespaces/default/statefulsets", `{"metadata":{"name":"s"},"spec":{"replicas":2,"serviceName":"s",
				"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
			require.Equal(t, http.StatusCreated, code, text)
			require.Eventually(t, func() bool {
				_, text = r.send("GET /api/v1/namespaces/default/pods/s-1", "")
				return strings.Contains(text, `"phase":"Running"`)
			}, 5*time.Second, 10*time.Millisecond)
			require.Contains(t, text, `"annotations":{"by":"webhook"}`)
			_, want := r.send("GET /volsim/trace", "")
			r.stop()
			got := command(t, "run", "-q", "--trace", "-", r.record)
			_, got, _ = strings.Cut(got, "\n") // the result of the script
			require.Equal(t, want, got[:min(len(got), len(want))])
		})
	}
}
