package operators

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	defaultClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: disk.example.com
volumeBindingMode: WaitForFirstConsumer`

	// spill is a volume for the objects of Ray that do not fit into memory.
	spill = `ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}`
)

// TestRayCluster: KubeRay runs its sample of a cluster whose state is in Redis on a claim. Each pod of Ray has a claim of its own, which goes with it.
func TestRayCluster(t *testing.T) {
	const module = "github.com/ray-project/kuberay/ray-operator"
	file := build(t, "kuberay", module)
	config := filepath.Join(source(t, "kuberay", module), "config")
	sample, err := os.ReadFile(filepath.Join(config, "samples", "ray-cluster.persistent-redis.yaml"))
	require.NoError(t, err)
	manifests := strings.ReplaceAll(string(sample), "emptyDir: {}", spill)
	require.NotEqual(t, string(sample), manifests)
	inModes(t, func(t *testing.T, c *cluster) {
		c.kustomize(filepath.Join(config, "crd"))
		p := start(t, "env", "KUBECONFIG="+c.config, file, "--enable-leader-election", "--leader-election-namespace", "default",
			"--metrics-addr", "0", "--health-probe-bind-address", "0")
		c.apply(defaultClass)
		c.apply(manifests)
		ray := object{"ray.io/v1", "RayCluster", "default", "raycluster-external-redis"}
		// of returns the only pod of a type of node of Ray, or "".
		of := func(nodeType string) string {
			list, err := c.of(pod("")).List(t.Context(), metav1.ListOptions{LabelSelector: "ray.io/node-type=" + nodeType})
			require.NoError(t, err)
			if len(list.Items) != 1 {
				return ""
			}
			return list.Items[0].GetName()
		}
		c.until(ray, "status.state", "ready")
		c.until(pod("redis-0"), "status.phase", "Running")
		require.Equal(t, "Bound", c.field(claim("redis-data"), "status.phase"))
		state := c.field(claim("redis-data"), "spec.volumeName")

		// A lost head is replaced, with another claim.
		head, worker := of("head"), of("worker")
		require.Equal(t, "Bound", c.field(claim(head+"-ray-logs"), "status.phase"))
		c.delete(pod(head))
		require.Eventually(t, func() bool { now := of("head"); return now != "" && now != head }, patience, tick)
		c.until(claim(head+"-ray-logs"), "status.phase", "gone")
		c.until(pod(of("head")), "status.phase", "Running")
		require.Equal(t, worker, of("worker"))

		c.patch(ray, `{"spec":{"suspend":true}}`)
		c.until(ray, "status.state", "suspended")
		require.Eventually(t, func() bool { return len(c.names("v1", "PersistentVolumeClaim", "default")) == 1 }, patience, tick)
		require.Equal(t, []string{state}, c.names("v1", "PersistentVolume", ""))
		c.patch(ray, `{"spec":{"suspend":false}}`)
		c.until(ray, "status.state", "ready")

		// A Job clears the state. Its container does not run: the annotation says that it ends.
		c.delete(ray)
		require.Eventually(t, func() bool { return of("redis-cleanup") != "" }, patience, tick)
		c.patch(pod(of("redis-cleanup")), `{"metadata":{"annotations":{"volsim.dev/run-for":"1s"}}}`)
		c.until(ray, "metadata.name", "gone")
		require.Eventually(t, func() bool { return len(c.names("v1", "Pod", "default")) == 1 }, patience, tick)
		require.Equal(t, state, c.field(claim("redis-data"), "spec.volumeName"))
		require.Contains(t, p.output(), "The Redis cleanup Job has been completed")
		// Its cache lags: it updates an older version, and deletes a pod that has just gone.
		p.clean("the object has been modified", `rayclusters.ray.io \"raycluster-external-redis\" not found`, "FailedDeleteHeadPod\\npods", "FailedDeleteWorkerPod\\npods")
	}, "--nodes", "n1,n2", "--driver", "disk.example.com")
}
