package envtest_test

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/kube/envtest"
)

const boxes = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boxes, kind: Box}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {namespace: system, name: webhook-service, path: /convert}}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {capacity: {type: integer}}}}}}
`

// TestConversions: a test serves the conversion webhooks of its definitions where the environment says, also for types that no scheme has.
func TestConversions(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "boxes.yaml"), []byte(boxes), 0o600))
	env := &envtest.Environment{CRDDirectoryPaths: []string{dir}, WebhookInstallOptions: envtest.WebhookInstallOptions{IgnoreSchemeConvertible: true}}
	cfg, err := env.Start()
	require.NoError(t, err)
	hooks := env.WebhookInstallOptions
	listener, err := net.Listen("tcp", net.JoinHostPort(hooks.LocalServingHost, strconv.Itoa(hooks.LocalServingPort)))
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(convert)}
	go func() {
		_ = server.ServeTLS(listener, filepath.Join(hooks.LocalServingCertDir, "tls.crt"), filepath.Join(hooks.LocalServingCertDir, "tls.key")) // it ends with the test
	}()
	defer server.Close()

	client := dynamic.NewForConfigOrDie(cfg)
	in := func(version string) dynamic.ResourceInterface {
		return client.Resource(schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "boxes"}).Namespace("default")
	}
	box := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v2", "kind": "Box", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"capacity": int64(3)},
	}}
	_, err = in("v2").Create(t.Context(), box, metav1.CreateOptions{})
	require.NoError(t, err)
	got, err := in("v1").Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"size": int64(3)}, got.Object["spec"])
	box.SetName("b")
	env.Do(func(c *volsim.Cluster) {
		before := calls.Load()
		require.NoError(t, c.Create(box), "API-491")
		require.Greater(t, calls.Load(), before, "API-491: it is stored in the storage version")
		box.Object["apiVersion"], box.Object["spec"] = "example.com/v2", map[string]any{"capacity": int64(4)}
		require.NoError(t, c.Update(box), "API-491")
	})
	got, err = in("v1").Get(t.Context(), "b", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"size": int64(4)}, got.Object["spec"], "API-491")
	require.NoError(t, env.Stop())
	require.NoDirExists(t, hooks.LocalServingCertDir)
}

// calls counts the calls of convert.
var calls atomic.Int64

// convert is the handler of a conversion webhook.
func convert(w http.ResponseWriter, req *http.Request) {
	calls.Add(1)
	var review struct {
		metav1.TypeMeta
		Request struct {
			UID               string
			DesiredAPIVersion string
			Objects           []json.RawMessage
		} `json:"request"`
		Response map[string]any `json:"response"`
	}
	_ = json.NewDecoder(req.Body).Decode(&review) // the client is the environment
	var converted []json.RawMessage
	for _, obj := range review.Request.Objects {
		replacer := strings.NewReplacer(`"size"`, `"capacity"`, "/v1", "/v2")
		if strings.HasSuffix(review.Request.DesiredAPIVersion, "/v1") {
			replacer = strings.NewReplacer(`"capacity"`, `"size"`, "/v2", "/v1")
		}
		converted = append(converted, json.RawMessage(replacer.Replace(string(obj))))
	}
	review.Response = map[string]any{"uid": review.Request.UID, "result": map[string]any{"status": "Success"}, "convertedObjects": converted}
	_ = json.NewEncoder(w).Encode(review)
}

// definitionIn returns spec.conversion of the definition of boxes.
func definitionIn(t *testing.T, cfg *rest.Config) map[string]any {
	t.Helper()
	definitions := dynamic.NewForConfigOrDie(cfg).Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	got, err := definitions.Get(t.Context(), "boxes.example.com", metav1.GetOptions{})
	require.NoError(t, err)
	conversion, _, err := unstructured.NestedMap(got.Object, "spec", "conversion")
	require.NoError(t, err)
	return conversion
}

func hookURL(hooks envtest.WebhookInstallOptions, path string) string {
	return "https://" + net.JoinHostPort(hooks.LocalServingHost, strconv.Itoa(hooks.LocalServingPort)) + path
}
