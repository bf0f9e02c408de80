package operators

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const pipeline = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: disk.example.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: pipeline}
spec:
  entrypoint: all
  podMetadata: {annotations: {volsim.dev/run-for: 2s}}
  volumeClaimTemplates:
  - metadata: {name: work}
    spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
  templates:
  - name: all
    steps:
    - [{name: generate, template: step}]
    - [{name: print, template: step}]
  - name: step
    container: {image: busybox, command: [sh], volumeMounts: [{name: work, mountPath: /work}]}`

// TestArgo: Argo Workflows creates the claim of a workflow and a pod for each of its steps, and deletes the claim when the last has ended.
func TestArgo(t *testing.T) {
	const module = "github.com/argoproj/argo-workflows/v4"
	file := build(t, "argo", module+"/cmd/workflow-controller")
	manifests := filepath.Join(source(t, "argo", module), "manifests", "cluster-install")
	inModes(t, func(t *testing.T, c *cluster) {
		c.apply("{apiVersion: v1, kind: Namespace, metadata: {name: argo}}")
		c.kustomize(manifests)
		c.replace(object{"apps/v1", "Deployment", "argo", "argo-server"}, object{"apps/v1", "Deployment", "argo", "workflow-controller"})
		p := start(t, "env", "LEADER_ELECTION_IDENTITY=tester", "TASK_RESULT_TIMEOUT_DURATION=1s", file, "--kubeconfig", c.config, "--namespace", "argo",
			"--executor-image", "argoexec")
		c.apply(pipeline)
		workflow := object{"argoproj.io/v1alpha1", "Workflow", "default", "pipeline"}
		c.until(workflow, "status.phase", "Running")
		c.until(claim("pipeline-work"), "status.phase", "Bound")
		name := c.field(claim("pipeline-work"), "spec.volumeName")
		c.until(workflow, "status.phase", "Succeeded")
		require.Len(t, c.names("v1", "Pod", "default"), 2)
		c.none("v1", "PersistentVolumeClaim", "default")
		c.until(volume(name), "metadata.name", "gone")
		p.clean()
	}, "--nodes", "n1,n2", "--driver", "disk.example.com")
}
