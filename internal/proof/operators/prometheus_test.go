package operators

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const monitored = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: ssd}
provisioner: disk.example.com
allowVolumeExpansion: true
---
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: persisted}
spec:
  replicas: 2
  serviceMonitorSelector: {}
  storage:
    volumeClaimTemplate:
      spec:
        storageClassName: ssd
        resources: {requests: {storage: 40Gi}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  endpoints: [{port: http}]`

// TestPrometheus: prometheus-operator runs Prometheus as a StatefulSet with claims. A larger claim in the template makes it delete the
// StatefulSet and create another. The claims stay, and grow when the user changes them; with whenDeleted: Delete they are lost.
func TestPrometheus(t *testing.T) {
	const module = "github.com/prometheus-operator/prometheus-operator"
	file := build(t, "prometheus", module+"/cmd/operator")
	manifests := filepath.Join(source(t, "prometheus", module), "bundle.yaml")
	inModes(t, func(t *testing.T, c *cluster) {
		c.applyFile(manifests)
		c.replace(object{"apps/v1", "Deployment", "default", "prometheus-operator"})
		p := start(t, "env", "KUBECONFIG="+c.config, file, "--web.listen-address", "127.0.0.1:19444")
		c.apply(monitored)
		prometheus := object{"monitoring.coreos.com/v1", "Prometheus", "default", "persisted"}
		set := object{"apps/v1", "StatefulSet", "default", "prometheus-persisted"}
		c.until(prometheus, "status.availableReplicas", "2")
		require.ElementsMatch(t, []string{"prometheus-persisted-0", "prometheus-persisted-1"}, c.names("v1", "Pod", "default"))
		require.Len(t, c.names("v1", "PersistentVolume", ""), 2)
		first := claim("prometheus-persisted-db-prometheus-persisted-0")
		require.Equal(t, "Bound", c.field(first, "status.phase"))

		resize := func(size string) {
			before := c.field(set, "metadata.uid")
			c.patch(prometheus, `{"spec":{"storage":{"volumeClaimTemplate":{"spec":{"resources":{"requests":{"storage":"`+size+`"}}}}}}}`)
			c.changes(set, "metadata.uid", before)
			c.until(prometheus, "status.availableReplicas", "2")
		}
		uid := c.field(first, "metadata.uid")
		resize("80Gi")
		require.Equal(t, uid, c.field(first, "metadata.uid"))
		require.Equal(t, "map[storage:40Gi]", c.field(first, "status.capacity"))
		c.patch(first, `{"spec":{"resources":{"requests":{"storage":"80Gi"}}}}`)
		c.until(first, "status.capacity", "map[storage:80Gi]")
		p.clean()

		c.patch(prometheus, `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"}}}`)
		c.until(set, "spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "Delete")
		c.until(prometheus, "status.availableReplicas", "2")
		uid = c.field(first, "metadata.uid")
		resize("120Gi")
		c.changes(first, "metadata.uid", uid)
		c.until(first, "status.capacity", "map[storage:120Gi]")

		c.delete(prometheus)
		c.none("v1", "PersistentVolumeClaim", "default")
		c.none("v1", "PersistentVolume", "")
		p.clean()
	}, "--nodes", "n1,n2", "--driver", "disk.example.com")
}
