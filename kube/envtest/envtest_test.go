package envtest_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/kube/envtest"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Backup, plural: backups, singular: backup}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// TestEnvironment: an environment has the kinds of the given definitions, binds claims, and leaves nodes to the test.
func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "backups.yaml"), []byte(definition), 0o600))
	env := &envtest.Environment{CRDDirectoryPaths: []string{dir, "absent"}}
	cfg, err := env.Start()
	require.NoError(t, err)
	ctx := t.Context()

	backups := dynamic.NewForConfigOrDie(cfg).Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "backups"})
	backup := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Backup", "metadata": map[string]any{"name": "b"}}}
	_, err = backups.Namespace("default").Create(ctx, backup, metav1.CreateOptions{})
	require.NoError(t, err)

	client := kubernetes.NewForConfigOrDie(cfg)
	_, err = client.CoreV1().PersistentVolumes().Create(ctx, fake.Volume("v", "1Gi"), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = client.CoreV1().PersistentVolumeClaims("default").Create(ctx, fake.Claim("data", "1Gi"), metav1.CreateOptions{})
	require.NoError(t, err)
	claim, err := client.CoreV1().PersistentVolumeClaims("default").Get(ctx, "data", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, corev1.ClaimBound, claim.Status.Phase)

	_, err = client.CoreV1().Nodes().Create(ctx, fake.Node("n1", fake.NotReady()), metav1.CreateOptions{})
	require.NoError(t, err)
	env.Do(func(c *volsim.Cluster) { require.NoError(t, c.Advance(time.Hour)) })
	node, err := client.CoreV1().Nodes().Get(ctx, "n1", metav1.GetOptions{})
	require.NoError(t, err)
	// The taint is from the admission of the API server. No node lifecycle controller runs that would add NoExecute.
	require.Equal(t, []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}, node.Spec.Taints)
	require.NoError(t, env.Stop())
	_, err = client.CoreV1().Nodes().Get(ctx, "n1", metav1.GetOptions{})
	require.Error(t, err)
}

// TestMissingPath: a path that does not exist is an error if the caller wants that.
func TestMissingPath(t *testing.T) {
	env := &envtest.Environment{CRDDirectoryPaths: []string{"absent"}, ErrorIfCRDPathMissing: true}
	_, err := env.Start()
	require.ErrorContains(t, err, "absent")
	require.NoError(t, env.Stop())
}

// BenchmarkStart starts and stops an environment.
func BenchmarkStart(b *testing.B) {
	for range b.N {
		env := &envtest.Environment{}
		if _, err := env.Start(); err != nil {
			b.Fatal(err)
		}
		if err := env.Stop(); err != nil {
			b.Fatal(err)
		}
	}
}
