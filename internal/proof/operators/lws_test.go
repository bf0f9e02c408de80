package operators

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const leaderWorkerSet = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: disk.example.com
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serving}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 3
    volumeClaimTemplates:
    - metadata: {name: model}
      spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
    workerTemplate:
      spec:
        containers: [{name: c, image: nginx, volumeMounts: [{name: model, mountPath: /model}]}]`

// TestLeaderWorkerSet: lws makes a StatefulSet of leaders, and one of workers for each of them. Its webhooks label the pods of the StatefulSets.
func TestLeaderWorkerSet(t *testing.T) {
	const module = "sigs.k8s.io/lws"
	file := build(t, "lws", module+"/cmd")
	config := filepath.Join(source(t, "lws", module), "config", "default")
	inModes(t, func(t *testing.T, c *cluster) {
		const namespace = "lws-system"
		c.kustomize(config)
		c.replace(object{"apps/v1", "Deployment", namespace, "lws-controller-manager"})
		certs, authority := certificate(t, "lws-webhook-service."+namespace+".svc")
		c.trust(authority)
		p := start(t, "env", "KUBECONFIG="+c.config, file, "--config", write(t, "config.yaml", `
apiVersion: config.lws.x-k8s.io/v1alpha1
kind: Configuration
leaderElection: {leaderElect: true, resourceNamespace: `+namespace+`}
internalCertManagement: {enable: false}
webhook: {host: 127.0.0.1, port: 19543, certDir: "`+certs+`"}
metrics: {bindAddress: "127.0.0.1:19443"}
health: {healthProbeBindAddress: "127.0.0.1:19081"}`))
		c.apply(leaderWorkerSet)
		set := object{"leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "default", "serving"}
		c.until(set, "status.readyReplicas", "2")
		require.ElementsMatch(t, []string{"serving-0", "serving-0-1", "serving-0-2", "serving-1", "serving-1-1", "serving-1-2"}, c.names("v1", "Pod", "default"))
		require.Contains(t, c.field(pod("serving-1-2"), "metadata.labels"), "leaderworkerset.sigs.k8s.io/worker-index:2")
		require.Len(t, c.names("v1", "PersistentVolumeClaim", "default"), 6)
		p.clean()
		c.delete(set)
		c.none("v1", "Pod", "default")
	}, "--nodes", "n1,n2", "--driver", "disk.example.com", "--service", "lws-system/lws-webhook-service=127.0.0.1:19543")
}
