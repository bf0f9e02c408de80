package envtest_test

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/volsim/volsim/kube/envtest"
)

const configurations = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: mutating}
webhooks:
- name: labels.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {namespace: system, name: webhook-service, path: /mutate}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
---
apiVersion: v1
kind: Service
metadata: {name: webhook-service}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validating}
webhooks:
- name: names.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {namespace: system, name: webhook-service, path: /validate}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [DELETE], resources: [configmaps]}]
`

// TestWebhooks: a test serves webhooks where the environment says, and its clients' requests go through them.
func TestWebhooks(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "manifests.yaml"), []byte(configurations), 0o600))
	env := &envtest.Environment{WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{dir}}}
	cfg, err := env.Start()
	require.NoError(t, err)
	hooks := env.WebhookInstallOptions
	server := &http.Server{Addr: net.JoinHostPort(hooks.LocalServingHost, strconv.Itoa(hooks.LocalServingPort)), Handler: http.HandlerFunc(answer)}
	listener, err := net.Listen("tcp", server.Addr)
	require.NoError(t, err)
	go func() {
		_ = server.ServeTLS(listener, filepath.Join(hooks.LocalServingCertDir, "tls.crt"), filepath.Join(hooks.LocalServingCertDir, "tls.key")) // it ends with the test
	}()
	defer server.Close()

	maps := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
	created, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"by": "webhook"}, created.Labels)
	require.EqualError(t, maps.Delete(t.Context(), "a", metav1.DeleteOptions{}), `admission webhook "names.example.com" denied the request: a stays`)

	require.NoError(t, env.Stop())
	require.NoDirExists(t, hooks.LocalServingCertDir)
	env = &envtest.Environment{WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{"absent"}}}
	_, err = env.Start()
	require.ErrorIs(t, err, os.ErrNotExist)
}

// answer is the handler of both webhooks.
func answer(w http.ResponseWriter, req *http.Request) {
	var review admissionv1.AdmissionReview
	_ = json.NewDecoder(req.Body).Decode(&review) // the client is the environment
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: req.URL.Path == "/mutate"}
	if review.Response.Allowed {
		review.Response.Patch, review.Response.PatchType = []byte(`[{"op":"add","path":"/metadata/labels","value":{"by":"webhook"}}]`), new(admissionv1.PatchTypeJSONPatch)
	} else {
		review.Response.Result = &metav1.Status{Message: review.Request.Name + " stays"}
	}
	_ = json.NewEncoder(w).Encode(review)
}
