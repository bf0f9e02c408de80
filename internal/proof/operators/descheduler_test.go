package operators

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const deschedulerPolicy = `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: storage
  pluginConfig:
  - name: DefaultEvictor
    args: {nodeFit: true}
  - name: RemovePodsViolatingNodeTaints
    args: {}
  plugins:
    deschedule: {enabled: [RemovePodsViolatingNodeTaints]}`

// database is a StatefulSet with a budget.
const database = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: disk.example.com
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: db}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: db}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: c, image: db, volumeMounts: [{name: data, mountPath: /d}]}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}`

// TestDescheduler: descheduler evicts the pod of a StatefulSet from a tainted node, as soon as the budget allows that, and its volume moves with it.
func TestDescheduler(t *testing.T) {
	file := build(t, "descheduler", "sigs.k8s.io/descheduler/cmd/descheduler")
	policy := write(t, "policy.yaml", deschedulerPolicy)
	inModes(t, func(t *testing.T, c *cluster) {
		run := func() *program {
			p := start(t, file, "--kubeconfig", c.config, "--policy-config-file", policy, "--descheduling-interval", "0", "--secure-port", "0", "-v", "3")
			require.Zero(t, p.ended())
			return p
		}
		c.apply(database)
		set := object{"apps/v1", "StatefulSet", "default", "db"}
		c.until(set, "status.readyReplicas", "2")
		node, uid := c.field(pod("db-0"), "spec.nodeName"), c.field(pod("db-0"), "metadata.uid")
		c.patch(object{"v1", "Node", "", node}, `{"spec":{"taints":[{"key":"maintenance","effect":"NoSchedule"}]}}`)

		p := run()
		require.Contains(t, p.output(), "Cannot evict pod as it would violate the pod's disruption budget.")
		require.Contains(t, p.output(), `totalEvicted=0`)
		require.Equal(t, uid, c.field(pod("db-0"), "metadata.uid"))

		c.patch(object{"policy/v1", "PodDisruptionBudget", "default", "db"}, `{"spec":{"maxUnavailable":1}}`)
		c.until(object{"policy/v1", "PodDisruptionBudget", "default", "db"}, "status.disruptionsAllowed", "1")
		p = run()
		require.Contains(t, p.output(), `"Evicted pod" pod="default/db-0"`)
		require.Contains(t, p.output(), `totalEvicted=1`)
		// It ends while it writes an Event.
		p.quiet("Unable to write event")
		require.Eventually(t, func() bool {
			return c.field(pod("db-0"), "metadata.uid") != uid && c.field(pod("db-0"), "status.phase") == "Running"
		}, patience, tick)
		require.NotEqual(t, node, c.field(pod("db-0"), "spec.nodeName"))
		name := c.field(claim("data-db-0"), "spec.volumeName")
		for _, attachment := range c.names("storage.k8s.io/v1", "VolumeAttachment", "") {
			o := object{"storage.k8s.io/v1", "VolumeAttachment", "", attachment}
			if c.field(o, "spec.source.persistentVolumeName") == name {
				require.Equal(t, c.field(pod("db-0"), "spec.nodeName"), c.field(o, "spec.nodeName"))
			}
		}
	}, "--nodes", "n1,n2,n3", "--driver", "disk.example.com")
}
