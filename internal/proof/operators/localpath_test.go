package operators

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	localPath       = "github.com/rancher/local-path-provisioner"
	localPathSpace  = "local-path-storage"
	localPathLogged = "unable to retrieve in cluster config" // it reads the log of a helper pod only with the configuration of a pod
	localPathGone   = "in work queue no longer exists"       // what its library says of a claim that is deleted while a change of it waits

	// user is a claim, and a pod that uses it.
	user = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: local-path
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 128Mi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: web, volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]`
)

// startLocalPath applies the manifests of local-path-provisioner, and starts it in the place of their Deployment. alter alters the template of its
// helper pods.
func startLocalPath(t *testing.T, c *cluster, alter func(string) string) *program {
	t.Helper()
	file := build(t, "localpath", localPath)
	c.applyFile(filepath.Join(source(t, "localpath", localPath), "deploy", "local-path-storage.yaml"))
	c.replace(object{"apps/v1", "Deployment", localPathSpace, "local-path-provisioner"})
	settings := object{"v1", "ConfigMap", localPathSpace, "local-path-config"}
	return start(t, file, "--debug", "start", "--kubeconfig", c.config, "--provisioner-name", "rancher.io/local-path", "--namespace", localPathSpace,
		"--service-account-name", "local-path-provisioner-service-account", "--configmap-name", "local-path-config",
		"--config", write(t, "config.json", c.entry(settings, "config.json")),
		"--helper-pod-file", write(t, "helper.yaml", alter(c.entry(settings, "helperPod.yaml"))))
}

// TestLocalPath: local-path-provisioner creates a directory with a pod for a claim whose pod is scheduled, and removes it with another one.
func TestLocalPath(t *testing.T) {
	inModes(t, func(t *testing.T, c *cluster) {
		p := startLocalPath(t, c, func(helper string) string {
			// Containers do not run: the annotation says that those of the helper pods end.
			altered := strings.Replace(helper, "name: helper-pod\n", "name: helper-pod\n  annotations: {volsim.dev/run-for: 100ms}\n", 1)
			require.NotEqual(t, helper, altered)
			return altered
		})
		c.apply(user)
		c.until(pod("web"), "status.phase", "Running")
		require.Equal(t, "Bound", c.field(claim("data"), "status.phase"))
		name, node := c.field(claim("data"), "spec.volumeName"), c.field(pod("web"), "spec.nodeName")
		require.Equal(t, "/opt/local-path-provisioner/"+name+"_default_data", c.field(volume(name), "spec.hostPath.path"))
		require.Contains(t, c.field(volume(name), "spec.nodeAffinity"), node)
		require.Contains(t, p.output(), "Volume "+name+" has been created on "+node)

		c.delete(pod("web"))
		c.delete(claim("data"))
		c.until(volume(name), "metadata.name", "gone")
		c.none("v1", "Pod", localPathSpace)
		require.Contains(t, p.output(), "Volume "+name+" has been deleted on "+node)
		p.clean(localPathLogged, localPathGone)
	}, "--nodes", "n1,n2")
}

// TestLocalPathHelper: a helper pod whose template has no annotation ends with one that it gets while it runs.
func TestLocalPathHelper(t *testing.T) {
	c := serve(t, "--nodes", "n1")
	p := startLocalPath(t, c, func(helper string) string { return helper })
	c.apply(user)
	helper := object{"v1", "Pod", localPathSpace, ""}
	require.Eventually(t, func() bool {
		for _, name := range c.names("v1", "Pod", localPathSpace) {
			helper.name = name
		}
		return helper.name != ""
	}, patience, tick)
	c.until(helper, "status.phase", "Running")
	require.Equal(t, "Pending", c.field(claim("data"), "status.phase"))
	c.patch(helper, `{"metadata":{"annotations":{"volsim.dev/run-for":"1s"}}}`)
	c.until(pod("web"), "status.phase", "Running")
	p.clean(localPathLogged, localPathGone)
}
