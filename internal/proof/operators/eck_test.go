package operators

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const search = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: ssd}
provisioner: disk.example.com
allowVolumeExpansion: true
---
apiVersion: elasticsearch.k8s.elastic.co/v1
kind: Elasticsearch
metadata: {name: search}
spec:
  version: 9.2.0
  nodeSets:
  - name: default
    count: 2
    config: {node.store.allow_mmap: false}
    volumeClaimTemplates:
    - metadata: {name: elasticsearch-data}
      spec: {accessModes: [ReadWriteOnce], storageClassName: ssd, resources: {requests: {storage: 1Gi}}}`

// TestElasticsearch: Elastic Cloud on Kubernetes runs Elasticsearch as a StatefulSet with claims. To make them larger, it changes the claims, deletes
// the StatefulSet without its pods, and creates it again. The claims go with the Elasticsearch. Time passes as in reality: a reconciliation that has
// begun before that creates the StatefulSet once more, and if all claims went at once, it would get new ones, which nothing deletes.
func TestElasticsearch(t *testing.T) {
	const module = "github.com/elastic/cloud-on-k8s/v3"
	file := build(t, "eck", module+"/cmd")
	definitions := filepath.Join(source(t, "eck", module), "config", "crds", "v1", "all-crds.yaml")
	inModes(t, func(t *testing.T, c *cluster) {
		c.applyFile(definitions)
		c.apply("{apiVersion: v1, kind: Namespace, metadata: {name: elastic-system}}")
		p := start(t, "env", "KUBECONFIG="+c.config, file, "manager", "--operator-namespace", "elastic-system", "--enable-webhook=false")
		c.apply(search)
		set := object{"apps/v1", "StatefulSet", "default", "search-es-default"}
		first, member := claim("elasticsearch-data-search-es-default-0"), pod("search-es-default-0")
		c.until(set, "status.readyReplicas", "2")
		require.Equal(t, "map[storage:1Gi]", c.field(first, "status.capacity"))

		before, uid := c.field(set, "metadata.uid"), c.field(member, "metadata.uid")
		c.patch(object{"elasticsearch.k8s.elastic.co/v1", "Elasticsearch", "default", "search"}, `{"spec":{"nodeSets":[{"name":"default","count":2,
			"config":{"node.store.allow_mmap":false},"volumeClaimTemplates":[{"metadata":{"name":"elasticsearch-data"},
			"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"ssd","resources":{"requests":{"storage":"2Gi"}}}}]}]}}`)
		c.changes(set, "metadata.uid", before)
		c.until(first, "status.capacity", "map[storage:2Gi]")
		c.until(set, "status.readyReplicas", "2")
		require.Equal(t, uid, c.field(member, "metadata.uid"))

		c.delete(object{"elasticsearch.k8s.elastic.co/v1", "Elasticsearch", "default", "search"})
		c.none("v1", "Pod", "default")
		c.none("v1", "PersistentVolumeClaim", "default")
		c.none("v1", "PersistentVolume", "")
		// Its containers do not run, and it reads what it has deleted.
		p.clean("elasticsearch client failed for https://search-es-", `"search\" not found`, `Secret \"search-es-internal-users\" not found`)
	}, "--nodes", "n1,n2", "--driver", "disk.example.com", "--time", "1x")
}
