package operators

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	nodePool = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      requirements:
      - {key: kubernetes.io/os, operator: In, values: [linux]}
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 1s, budgets: [{nodes: "100%"}]}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: disk.example.com
volumeBindingMode: WaitForFirstConsumer`

	// spread has a pod on each node, and a volume for each pod.
	spread = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  podManagementPolicy: Parallel
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      nodeSelector: {topology.kubernetes.io/zone: test-zone-a}
      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}]}}
      containers: [{name: db, image: postgres, resources: {requests: {cpu: 1}}, volumeMounts: [{name: data, mountPath: /data}]}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: db}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: db}}}`

	// zonal is a volume of a zone, and a pod that uses it.
	zonal = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: old}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  csi: {driver: disk.example.com, volumeHandle: old}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [test-zone-c]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: old}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: old, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: old}
spec:
  containers: [{name: c, image: c, volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: old}}]`
)

// volsim runs a command of volsim for the cluster.
func (c *cluster) volsim(args ...string) {
	c.t.Helper()
	out, err := exec.Command(filepath.Join(bin, "volsim"), append(args, "--kubeconfig", c.config)...).CombinedOutput()
	require.NoError(c.t, err, string(out))
}

// TestKarpenter: karpenter creates nodes for pods with claims, where their volumes can be. Before it deletes a node, it evicts the pods, and waits
// until the volumes are detached.
func TestKarpenter(t *testing.T) {
	const module = "sigs.k8s.io/karpenter"
	file := build(t, "karpenter", module+"/kwok")
	kwok := filepath.Join(source(t, "karpenter", module), "kwok")
	definitions, err := filepath.Glob(filepath.Join(kwok, "*", "crds", "*.yaml"))
	require.NoError(t, err)
	require.Len(t, definitions, 5)
	inModes(t, func(t *testing.T, c *cluster) {
		for _, definition := range definitions {
			c.applyFile(definition)
		}
		p := start(t, "env", "KUBECONFIG="+c.config, "SYSTEM_NAMESPACE=kube-system", "KARPENTER_SERVICE=karpenter", file,
			"--leader-election-namespace", "kube-system", "--metrics-port", "0", "--health-probe-port", "0")
		c.apply(nodePool)
		c.apply(spread)
		set, nodes := object{"apps/v1", "StatefulSet", "default", "db"}, func() []string { return c.names("v1", "Node", "") }
		c.until(set, "status.readyReplicas", "2")
		first, second := c.field(pod("db-0"), "spec.nodeName"), c.field(pod("db-1"), "spec.nodeName")
		require.ElementsMatch(t, []string{first, second}, nodes())

		c.apply(zonal)
		c.until(pod("old"), "status.phase", "Running")
		third := c.field(pod("old"), "spec.nodeName")
		require.Contains(t, c.field(object{"v1", "Node", "", third}, "metadata.labels"), "topology.kubernetes.io/zone:test-zone-c")

		// A node that is deleted is drained, and stays as long as its volume is attached. Then the pod and its volume come to another one.
		volume, node := c.field(claim("data-db-0"), "spec.volumeName"), object{"v1", "Node", "", first}
		stored, err := c.of(node).Get(t.Context(), first, metav1.GetOptions{})
		require.NoError(t, err)
		nodeClaim := object{"karpenter.sh/v1", "NodeClaim", "", stored.GetOwnerReferences()[0].Name}
		c.volsim("do", "fault backend disk.example.com Detach error=Internal")
		c.delete(node)
		require.Eventually(t, func() bool {
			return strings.Contains(c.field(nodeClaim, "status.conditions"), "AwaitingVolumeDetachment")
		}, patience, tick)
		c.volsim("do", "fault clear Detach")
		c.volsim("clock", "advance", "6m") // for the next attempt of the external attacher
		c.until(node, "metadata.name", "gone")
		c.until(set, "status.readyReplicas", "2")
		now := c.field(pod("db-0"), "spec.nodeName")
		require.NotEqual(t, first, now)
		require.Equal(t, volume, c.field(claim("data-db-0"), "spec.volumeName"))
		attached := func() (all []string) {
			for _, name := range c.names("storage.k8s.io/v1", "VolumeAttachment", "") {
				all = append(all, c.field(object{"storage.k8s.io/v1", "VolumeAttachment", "", name}, "spec.nodeName"))
			}
			slices.Sort(all)
			return all
		}
		want := []string{now, second, third}
		slices.Sort(want)
		require.Eventually(t, func() bool { return slices.Equal(want, attached()) }, patience, tick)

		// Empty nodes go.
		c.patch(set, `{"spec":{"replicas":0}}`)
		c.delete(pod("old"))
		require.Eventually(t, func() bool { return len(nodes()) == 0 }, patience, tick, "%s", strings.Join(nodes(), " "))
		require.Empty(t, attached())
		c.none("karpenter.sh/v1", "NodeClaim", "")
		p.clean()
	}, "--driver", "disk.example.com")
}
