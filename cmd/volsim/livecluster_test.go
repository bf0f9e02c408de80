package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeKubectl puts a kubectl into PATH that prints resources for api-resources, and the dump for get. It returns the file with the command lines that
// it was given.
func fakeKubectl(t *testing.T, resources, dump, last string) (calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	script := "#!/bin/sh\necho \"$@\" >> " + calls + "\nif [ \"$1\" = api-resources ]; then echo '" + resources + "'; exit; fi\ncat " + dump + "\n" + last + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kubectl"), []byte(script), 0o755))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return calls
}

func TestExplainCluster(t *testing.T) {
	dump, err := filepath.Abs("testdata/waiting-claims.yaml")
	require.NoError(t, err)
	calls := fakeKubectl(t, "events\npods\nsecrets\npersistentvolumeclaims\nwidgets.example.com", dump, "")
	status, out, errOut := shell("", "explain", "--context", "prod", "--kubeconfig", "k.yaml", "pvc/shop/typo")
	require.Zero(t, status, errOut)
	require.Empty(t, errOut)
	_, want, _ := shell("", "explain", "-f", dump, "pvc/shop/typo")
	require.Equal(t, want, out)
	called, err := os.ReadFile(calls)
	require.NoError(t, err)
	require.Equal(t, "api-resources --verbs=list -o name --context prod --kubeconfig k.yaml\n"+
		"get persistentvolumeclaims,pods,events --all-namespaces -o json --context prod --kubeconfig k.yaml\n", string(called),
		"what the cluster serves of a dump, and no Secrets")

	status, out, errOut = shell("", "predict", "--cluster", "--", "nothing")
	require.Zero(t, status, errOut)
	require.Contains(t, out, "nothing, at ")
}

// TestWholeCluster: a kind that a cluster has no objects of is not lacking, as in a dump.
func TestWholeCluster(t *testing.T) {
	dump := write(t, t.TempDir(), "dump.yaml", `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default, uid: u-1, creationTimestamp: "2026-01-02T12:00:00Z"}
spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
status: {phase: Pending}
`)
	_, out, _ := shell("", "explain", "-f", dump)
	require.Contains(t, out, "The dump has no storageclasses")
	fakeKubectl(t, "persistentvolumeclaims", dump, "")
	status, out, errOut := shell("", "explain", "--cluster")
	require.Zero(t, status, errOut)
	require.Contains(t, out, `its storage class "fast" does not exist`)
	require.Contains(t, out, "the commands: volsim explain --cluster pvc/default/data")
	require.NotContains(t, out, "The dump has no")
	_, out, _ = shell("", "explain", "--cluster", "sts")
	require.Equal(t, "The cluster has no StatefulSets.\n", out)
	// What may not be listed is missing, as in a dump.
	fakeKubectl(t, "persistentvolumeclaims", dump, "echo 'Error from server (Forbidden): nodes is forbidden' >&2; exit 1")
	status, out, errOut = shell("", "explain", "--cluster")
	require.Zero(t, status, errOut)
	require.Equal(t, "volsim: the cluster was not read completely: kubectl: Error from server (Forbidden): nodes is forbidden\n", errOut)
	require.Contains(t, out, "The dump has no storageclasses")
}

func TestClusterMistakes(t *testing.T) {
	status, _, errOut := shell("", "explain", "--cluster", "-f", "dump.yaml")
	require.Equal(t, exitUsage, status)
	require.Equal(t, "volsim: -f and --cluster exclude each other\n", errOut)
	fakeKubectl(t, "pods", "/dev/null", `echo 'E0102 12:00:00.000000 1 memcache.go:265] "Unhandled Error"
The connection to the server was refused' >&2; exit 1`)
	status, _, errOut = shell("", "explain", "--cluster")
	require.Equal(t, exitFailed, status)
	require.Equal(t, "volsim: kubectl: The connection to the server was refused\n", errOut)
	fakeKubectl(t, "widgets.example.com", "/dev/null", "")
	_, _, errOut = shell("", "explain", "--cluster")
	require.Equal(t, "volsim: kubectl api-resources: the cluster serves none of the resources of a dump\n", errOut)
	t.Setenv("PATH", t.TempDir())
	status, _, errOut = shell("", "predict", "--cluster", "--", "nothing")
	require.Equal(t, exitFailed, status)
	require.True(t, strings.HasPrefix(errOut, "volsim: --cluster needs kubectl, which is not in PATH; install it, or read a dump with -f: kubectl get"), errOut)
}

func TestPlugin(t *testing.T) {
	require.True(t, isPlugin("/usr/local/bin/kubectl-volsim"))
	require.False(t, isPlugin("/usr/local/bin/volsim"))
}
