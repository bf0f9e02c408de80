package operators

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	// misspelt is a claim whose class does not exist, and a pod that waits for it.
	misspelt = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: fst, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: web, volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]`

	collectors = `
apiVersion: troubleshoot.sh/v1beta2
kind: SupportBundle
metadata: {name: all}
spec: {collectors: [{clusterResources: {}}, {clusterInfo: {}}]}`
)

// TestSupportBundle: volsim explains the objects in the archive that support-bundle collects.
func TestSupportBundle(t *testing.T) {
	file := build(t, "supportbundle", "github.com/replicatedhq/troubleshoot/cmd/troubleshoot")
	volsim := build(t, "../../..", "github.com/volsim/volsim/cmd/volsim")
	inModes(t, func(t *testing.T, c *cluster) {
		c.apply(misspelt)
		archive := filepath.Join(t.TempDir(), "bundle.tar.gz")
		run := func(file string, args ...string) string {
			out, err := exec.CommandContext(t.Context(), file, args...).CombinedOutput()
			require.NoError(t, err, string(out))
			return string(out)
		}
		run(file, write(t, "collectors.yaml", collectors), "--interactive=false", "--kubeconfig", c.config, "--output", archive)
		why := run(volsim, "explain", "-f", archive, "pod/web")
		require.Contains(t, why, `root cause pvc/default/data: no volume fits, and its storage class "fst" does not exist (PROV-021)`)
		require.Contains(t, why, archive+"/bundle/analysis.json")
	}, "--nodes", "n1")
}
