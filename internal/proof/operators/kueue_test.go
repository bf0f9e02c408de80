package operators

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// queues has room for one Job at a time.
const queues = `
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default-flavor}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cluster-queue}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default-flavor, resources: [{name: cpu, nominalQuota: 1}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: user-queue}
spec: {clusterQueue: cluster-queue}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteMany], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: disk.example.com`

const queuedJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, labels: {kueue.x-k8s.io/queue-name: user-queue}}
spec:
  template:
    metadata: {annotations: {volsim.dev/run-for: 3s}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: b, resources: {requests: {cpu: 1}}, volumeMounts: [{name: v, mountPath: /v}]}]
      volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]`

// secretMade is what cert-controller logs when it writes a Secret and has not seen that yet.
var secretMade = []string{"could not refresh CA and server certs", "secret is not well-formed, cannot update webhook configurations"}

// TestKueue: kueue admits Jobs with a volume one after the other. Its webhook suspends them.
func TestKueue(t *testing.T) {
	const module = "sigs.k8s.io/kueue"
	file := build(t, "kueue", module+"/cmd/kueue")
	config := filepath.Join(source(t, "kueue", module), "config", "default")
	inModes(t, func(t *testing.T, c *cluster) {
		const namespace = "kueue-system"
		c.kustomize(config)
		c.replace(object{"apps/v1", "Deployment", namespace, "kueue-controller-manager"})
		certs := t.TempDir()
		p := start(t, "env", "KUBECONFIG="+c.config, file, "--config", write(t, "config.yaml", `
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: `+namespace+`
leaderElection: {leaderElect: true, resourceName: c1f6bfd2.kueue.x-k8s.io, resourceNamespace: `+namespace+`,
  resourceLock: leases, leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s}
internalCertManagement: {enable: true, webhookServiceName: kueue-webhook-service, webhookSecretName: kueue-webhook-server-cert}
webhook: {host: 127.0.0.1, port: 19543, certDir: "`+certs+`"}
metrics: {bindAddress: "127.0.0.1:19443"}
health: {healthProbeBindAddress: "127.0.0.1:19081"}
integrations: {frameworks: [batch/job]}
featureGates: {VisibilityOnDemand: false}`))
		c.mount(object{"v1", "Secret", namespace, "kueue-webhook-server-cert"}, certs)
		c.apply(queues)
		queue := object{"kueue.x-k8s.io/v1beta2", "ClusterQueue", "", "cluster-queue"}
		require.Eventually(t, func() bool {
			return strings.Contains(c.field(queue, "status.conditions"), "Can admit new workloads")
		}, patience, tick)
		job := func(name string) object { return object{"batch/v1", "Job", "default", name} }
		for _, name := range []string{"first", "second"} {
			c.apply(strings.Replace(queuedJob, "NAME", name, 1))
			require.Eventually(t, func() bool { return len(c.names("kueue.x-k8s.io/v1beta2", "Workload", "default")) > 0 }, patience, tick)
		}
		for _, name := range []string{"first", "second"} {
			c.until(job(name), "status.succeeded", "1")
			require.Equal(t, "false", c.field(job(name), "spec.suspend"))
		}
		require.Equal(t, "Bound", c.field(claim("data"), "status.phase"))
		// One ended before the other began.
		begin, end := c.field(job("second"), "status.startTime"), c.field(job("first"), "status.completionTime")
		if other := c.field(job("first"), "status.startTime"); other > begin {
			begin, end = other, c.field(job("second"), "status.completionTime")
		}
		require.GreaterOrEqual(t, begin, end)
		c.until(queue, "status.admittedWorkloads", "0")
		require.Len(t, c.names("kueue.x-k8s.io/v1beta2", "Workload", "default"), 2)
		p.clean(append(secretMade, "Provisioning Requests not supported")...) // no cluster-autoscaler
	}, "--nodes", "n1,n2", "--driver", "disk.example.com", "--service", "kueue-system/kueue-webhook-service=127.0.0.1:19543")
}
