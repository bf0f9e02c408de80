package explore

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
)

// grown is a model with a driver, a node and a pod.
const grown = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: disk.example.com
---
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec:
  storageClassName: fast
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec:
  containers: [{name: web, image: web, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// TestOutcome checks that an outcome has the relations between objects, and nothing that differs between equivalent runs.
func TestOutcome(t *testing.T) {
	w, err := Manifest{Data: []byte(grown)}.Model()
	require.NoError(t, err)
	run, outcome, err := Replay(w, []engine.Choice{})
	require.NoError(t, err)
	defer run.Engine.Close()
	for _, want := range []string{
		"PersistentVolumeClaim/default/data finalizer=kubernetes.io/pvc-protection phase=Bound size=1Gi volume=pvc-",
		"attached=true", "node=n1", "phase=Running", "disk.example.com: 1 volumes, 0 deleted", "published=n1:default/web",
	} {
		require.Contains(t, string(outcome), want)
	}
	for _, not := range []string{"resourceVersion", "2026-", "Event/"} {
		require.NotContains(t, string(outcome), not)
	}
	require.Len(t, outcome.ID(), 8)
	require.False(t, strings.HasSuffix(string(outcome), "\n"))
}

// TestDependentActor checks that a volume to be recycled makes the PersistentVolume controller a dependent actor.
func TestDependentActor(t *testing.T) {
	for policy, want := range map[string]bool{"Retain": false, "Recycle": true} {
		data := strings.Replace(one, "hostPath: {path: /tmp/only}", "persistentVolumeReclaimPolicy: "+policy+"\n  hostPath: {path: /tmp/only}", 1)
		w, err := Manifest{Data: []byte(data), Without: idle}.Model()
		require.NoError(t, err)
		x := newExplorer(w, Options{MaxRuns: 20})
		require.NoError(t, x.explore())
		require.Equal(t, want, x.actors.dependent[actors.PersistentVolume], policy)
		require.Equal(t, 20, x.result.Runs, "it continues after the restart")
		require.NotEmpty(t, x.result.Outcomes)
	}
}
