package envtest_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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
	"github.com/volsim/volsim/storage"
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
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte("resources: [backups.yaml]"), 0o600))
	env := &envtest.Environment{CRDDirectoryPaths: []string{dir, "absent"}, BinaryAssetsDirectory: "bin"}
	cfg, err := env.Start()
	require.NoError(t, err)
	ctx := t.Context()

	backups := dynamic.NewForConfigOrDie(cfg).Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "backups"})
	backup := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Backup", "metadata": map[string]any{"name": "b"}}}
	_, err = backups.Namespace("default").Create(ctx, backup, metav1.CreateOptions{})
	require.NoError(t, err)

	client := kubernetes.NewForConfigOrDie(cfg)
	view, err := client.RbacV1().ClusterRoles().Get(ctx, "view", metav1.GetOptions{})
	require.NoError(t, err, "API-508")
	require.Empty(t, view.Rules, "no controller gathers them, as in the real environment")
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

// TestAttachments: attachments come and go with pods, and the node has the driver. It is an example of docs/operators.md.
func TestAttachments(t *testing.T) {
	ctx := t.Context()
	env := &envtest.Environment{Kubelets: true, Backends: []storage.Backend{fake.CSI("disk.example.com", fake.AttachLimit(8))}}
	cfg, err := env.Start()
	require.NoError(t, err)
	defer func() { require.NoError(t, env.Stop()) }()
	client := kubernetes.NewForConfigOrDie(cfg)
	env.Do(func(c *volsim.Cluster) {
		require.NoError(t, c.Create(fake.Node("n1"), fake.Class("fast", "disk.example.com"), fake.Claim("data", "1Gi", fake.InClass("fast")),
			fake.Pod("web", fake.Claims("data"))))
		require.NoError(t, c.Settle())
	})
	count := func() int {
		list, err := client.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		return len(list.Items)
	}
	csi, err := client.StorageV1().CSINodes().Get(ctx, "n1", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 8, *csi.Spec.Drivers[0].Allocatable.Count)
	require.Equal(t, 1, count())
	require.NoError(t, client.CoreV1().Pods("default").Delete(ctx, "web", metav1.DeleteOptions{}))
	env.Do(func(c *volsim.Cluster) { require.NoError(t, c.Advance(time.Minute)) })
	require.Zero(t, count())
}

// TestNodeFailure: a node loses its power for ten minutes. It is an example of docs/operators.md.
func TestNodeFailure(t *testing.T) {
	env := &envtest.Environment{Kubelets: true}
	_, err := env.Start()
	require.NoError(t, err)
	defer func() { require.NoError(t, env.Stop()) }()
	ready := func() (status corev1.ConditionStatus) {
		env.Do(func(c *volsim.Cluster) {
			node, err := volsim.Get[*corev1.Node](c, "n1")
			require.NoError(t, err)
			for _, condition := range node.Status.Conditions {
				if condition.Type == corev1.NodeReady {
					status = condition.Status
				}
			}
		})
		return status
	}
	env.Do(func(c *volsim.Cluster) { require.NoError(t, c.Create(fake.Node("n1"))) })
	env.Do(func(c *volsim.Cluster) {
		n1, err := c.Node("n1")
		require.NoError(t, err)
		n1.PowerOff()
		require.NoError(t, c.Advance(10*time.Minute))
	})
	require.Equal(t, corev1.ConditionUnknown, ready())
	env.Do(func(c *volsim.Cluster) {
		n1, err := c.Node("n1")
		require.NoError(t, err)
		n1.Start()
		require.NoError(t, c.Advance(time.Minute))
	})
	require.Equal(t, corev1.ConditionTrue, ready())
}

// TestInvalidDefinition: a definition that kube-apiserver would refuse is an error of Start.
func TestInvalidDefinition(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "backups.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(definition, "type: object", "type: string", 1)), 0o600))
	env := &envtest.Environment{CRDDirectoryPaths: []string{dir}}
	_, err := env.Start()
	require.ErrorContains(t, err, "must be object at the root")
	require.ErrorContains(t, err, file)
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

// TestFaults: a fault rule that Do adds hits the requests of a client.
func TestFaults(t *testing.T) {
	env := &envtest.Environment{}
	cfg, err := env.Start()
	require.NoError(t, err)
	defer func() { require.NoError(t, env.Stop()) }()
	env.Do(func(c *volsim.Cluster) {
		c.Faults.Fail(fake.Match{Actor: "user/mine", Kind: "ConfigMap", Verb: "create"}, errors.New("refused by the test")).Once()
	})
	cfg.UserAgent = "mine"
	settings := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
	_, err = settings.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	require.ErrorContains(t, err, "refused by the test")
	_, err = settings.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	require.NoError(t, err)
}
