package operators

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

const classes = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: now, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: disk.example.com
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: later}
provisioner: disk.example.com
volumeBindingMode: WaitForFirstConsumer`

// TestHelm: Helm 4 and 3 install a chart with claims, a hook and a test, and wait until all is ready; they upgrade it, roll it back and uninstall
// it. Helm waits in vain for a claim that waits for a pod. An upgrade that changes the template of a claim fails.
func TestHelm(t *testing.T) {
	for _, version := range []struct{ dir, pkg string }{{"helm", "helm.sh/helm/v4/cmd/helm"}, {"helm3", "helm.sh/helm/v3/cmd/helm"}} {
		t.Run(version.dir, func(t *testing.T) {
			file := build(t, version.dir, version.pkg)
			inModes(t, func(t *testing.T, c *cluster) {
				home := t.TempDir()
				helm := func(args ...string) (string, error) {
					cmd := exec.CommandContext(t.Context(), file, append(args, "--kubeconfig", c.config)...)
					cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
					out, err := cmd.CombinedOutput()
					return string(out), err
				}
				works := func(want string, args ...string) {
					out, err := helm(args...)
					require.NoError(t, err, out)
					require.Contains(t, out, want)
				}
				fails := func(want string, args ...string) {
					out, err := helm(args...)
					require.Error(t, err, out)
					require.Contains(t, out, want)
				}
				const chart = "testdata/chart"
				c.apply(classes)
				works("STATUS: deployed", "install", "web", chart, "--wait", "--wait-for-jobs", "--timeout", "1m")
				set := object{"apps/v1", "StatefulSet", "default", "web"}
				require.Equal(t, "2", c.field(set, "status.readyReplicas"))
				require.Equal(t, "Bound", c.field(claim("data-web-1"), "status.phase"))
				works("Succeeded", "test", "web", "--timeout", "1m")
				require.Equal(t, []string{"web-0", "web-1"}, c.names("v1", "Pod", "default"))

				works("REVISION: 2", "upgrade", "web", chart, "--set", "replicas=3", "--wait", "--timeout", "1m")
				require.Equal(t, "3", c.field(set, "status.readyReplicas"))
				fails("updates to statefulset spec for fields other than", "upgrade", "web", chart, "--set", "size=2Gi", "--wait", "--timeout", "1m")
				works("Rollback was a success", "rollback", "web", "1", "--wait", "--timeout", "1m")
				require.Equal(t, "2", c.field(set, "status.replicas"))
				works("Rollback to 1", "history", "web")

				works("web-backups", "uninstall", "web", "--wait", "--timeout", "1m")
				require.Empty(t, c.names("v1", "Pod", "default"))
				require.Equal(t, []string{"data-web-0", "data-web-1", "data-web-2", "web-backups"}, c.names("v1", "PersistentVolumeClaim", "default"))

				fails("context deadline exceeded", "install", "web2", chart, "--set", "backupClass=later", "--wait", "--timeout", "3s")
				require.Equal(t, "Pending", c.field(claim("web2-backups"), "status.phase"))
			}, "--nodes", "n1,n2", "--driver", "disk.example.com")
		})
	}
}
