package kubectl

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestExplainCluster: volsim, as a plugin of kubectl, reads a running cluster as it reads the dump that kubectl makes of it.
func TestExplainCluster(t *testing.T) {
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "kubectl-volsim"), "./cmd/volsim")
	build.Dir = filepath.Join("..", "..", "..")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, os.Symlink(program, filepath.Join(dir, "kubectl")))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))

	s := newSession(t, dir)
	manifest := filepath.Join(dir, "web.yaml")
	require.NoError(t, os.WriteFile(manifest, []byte(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: slow}
provisioner: disk.example.com
`), 0o644))
	require.Contains(t, s.run("apply -f "+manifest), "pod/web created")
	s.advance(time.Minute)

	answer := s.run("volsim explain pod web")
	require.Contains(t, answer, "pod/default/web is Pending")
	require.Contains(t, answer, `its storage class "fast" does not exist (PROV-021)`)
	// The same cluster, dumped. It has a class, so the dump lacks none.
	dump := filepath.Join(dir, "dump.yaml")
	s.run("get ns,pv,pvc,sc,pods,nodes,csinodes,events,configmaps,serviceaccounts,leases,priorityclasses -A -o yaml > " + dump)
	dumped := s.run("volsim explain -f " + dump + " pod web")
	require.Equal(t, strings.TrimSpace(dumped), strings.TrimSpace(answer))

	require.Contains(t, s.run("volsim predict -- delete pod/web"), "pod/default/web   is deleted")
	require.Contains(t, s.run("volsim explain --context nowhere"), `volsim: kubectl: error: context "nowhere" does not exist`)
}
