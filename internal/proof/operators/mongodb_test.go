package operators

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

const (
	replicaSet = `
apiVersion: v1
kind: Secret
metadata: {name: admin-password}
stringData: {password: very-secret}
---
apiVersion: mongodbcommunity.mongodb.com/v1
kind: MongoDBCommunity
metadata: {name: db}
spec:
  members: 3
  type: ReplicaSet
  version: 6.0.5
  security: {authentication: {modes: [SCRAM]}}
  users:
  - {name: admin, db: admin, passwordSecretRef: {name: admin-password}, roles: [{name: clusterAdmin, db: admin}], scramCredentialsSecretName: admin}
  statefulSet:
    spec:
      volumeClaimTemplates:
      - metadata: {name: data-volume}
        spec: {storageClassName: ssd, resources: {requests: {storage: 5Gi}}}
      - metadata: {name: logs-volume}
        spec: {storageClassName: ssd, resources: {requests: {storage: 1Gi}}}`

	// agentVersion is the annotation with which the agent of MongoDB in a pod says which configuration it has.
	agentVersion = "agent.mongodb.com/version"
)

// agents do what the agents of MongoDB in the pods do: they take the newest configuration from a Secret, and say so.
func (c *cluster) agents(ctx context.Context, name string) {
	for ; ctx.Err() == nil; time.Sleep(tick) {
		secret, err := c.of(object{"v1", "Secret", "default", ""}).Get(ctx, name+"-config", metav1.GetOptions{})
		if err != nil {
			continue
		}
		encoded, _, err := unstructured.NestedString(secret.Object, "data", "cluster-config.json")
		if err != nil || encoded == "" {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			continue
		}
		var config struct{ Version int }
		if err := json.Unmarshal(data, &config); err != nil {
			continue
		}
		pods, err := c.of(pod("")).List(ctx, metav1.ListOptions{LabelSelector: "app=" + name + "-svc"})
		if err != nil {
			continue
		}
		for _, p := range pods.Items {
			if version := strconv.Itoa(config.Version); p.GetAnnotations()[agentVersion] != version {
				patch := `{"metadata":{"annotations":{"` + agentVersion + `":"` + version + `"}}}`
				_, _ = c.of(pod("")).Patch(ctx, p.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{}) // it may be gone
			}
		}
	}
}

// TestMongoDB: the MongoDB Community Operator, with the permissions of its ServiceAccount only, runs a replica set with two claims for each member. A
// member is added, removed and added again: it has its claims again, and they stay when the replica set goes.
func TestMongoDB(t *testing.T) {
	const module = "github.com/mongodb/mongodb-kubernetes-operator"
	file := build(t, "mongodb", module+"/cmd/manager")
	config := filepath.Join(source(t, "mongodb", module), "config")
	inModes(t, func(t *testing.T, c *cluster) {
		c.kustomize(filepath.Join(config, "default"))
		operator := object{"apps/v1", "Deployment", "default", "mongodb-kubernetes-operator"}
		p := c.startDeployment("env", operator, "KUBECONFIG="+c.as(operator), file) // it has no flags
		ctx, cancel := context.WithCancel(t.Context())
		var agents sync.WaitGroup
		agents.Go(func() { c.agents(ctx, "db") })
		defer agents.Wait()
		defer cancel()

		c.apply("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: ssd}, provisioner: disk.example.com, volumeBindingMode: WaitForFirstConsumer}")
		c.apply(replicaSet)
		db := object{"mongodbcommunity.mongodb.com/v1", "MongoDBCommunity", "default", "db"}
		members := func(n int) {
			t.Helper()
			c.until(db, "status.currentMongoDBMembers", strconv.Itoa(n))
			c.until(db, "status.phase", "Running")
			c.until(object{"apps/v1", "StatefulSet", "default", "db"}, "status.readyReplicas", strconv.Itoa(n))
		}
		members(3)
		require.Len(t, c.names("v1", "PersistentVolumeClaim", "default"), 6)
		require.Equal(t, "map[storage:5Gi]", c.field(claim("data-volume-db-2"), "status.capacity"))
		require.Contains(t, c.field(db, "status.mongoUri"), "db-2.db-svc.default.svc.cluster.local")

		c.patch(db, `{"spec":{"members":4}}`)
		members(4)
		kept := c.field(claim("data-volume-db-3"), "spec.volumeName")
		c.patch(db, `{"spec":{"members":3}}`)
		members(3)
		c.until(pod("db-3"), "metadata.name", "gone")
		require.Equal(t, "Bound", c.field(claim("data-volume-db-3"), "status.phase"))
		c.patch(db, `{"spec":{"members":4}}`)
		members(4)
		require.Equal(t, kept, c.field(claim("data-volume-db-3"), "spec.volumeName"))
		require.Len(t, c.names("v1", "PersistentVolume", ""), 8)

		c.delete(db)
		require.Eventually(t, func() bool { return !strings.Contains(strings.Join(c.names("v1", "Pod", "default"), " "), "db-0") }, patience, tick)
		require.Len(t, c.names("v1", "PersistentVolumeClaim", "default"), 8)
		p.clean("the object has been modified") // its cache lags
	}, "--nodes", "n1,n2", "--driver", "disk.example.com")
}
