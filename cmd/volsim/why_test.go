package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestQuestionsOnCall: questions that people on call ask about a dump, and that are easily answered calmly and wrong. Each row has what the
// answer must say, in this order, and what it must not say.
func TestQuestionsOnCall(t *testing.T) {
	const dumps, cases = "../../internal/tools/advice/testdata/", "../../internal/tools/predict/testdata/cases/"
	for _, tt := range []struct {
		name string
		args []string
		want []string
		not  []string
	}{
		{name: "the driver is absent, and the claim has waited for a day", args: []string{"explain", "-f", dumps + "driver-absent.yaml", "pvc/data"},
			want: []string{"driver disk.example.com is not installed", "(5000 ExternalProvisioning Events)", "changes    only when you act",
				"within 10m: no change", "assumed to continue"}, not: []string{"at once"}},
		{name: "the last error of the provisioner is InvalidArgument",
			args: []string{"explain", "-f", dumps + "driver-invalidargument.yaml", "pvc/data"},
			want: []string{"has refused claim default/data 41 times since 09:12 with InvalidArgument", "changes    only when you act",
				"1. correct the request that driver disk.example.com refuses with InvalidArgument", "within 10m:", "ProvisioningFailed",
				"assumed to continue"}, not: []string{"at once"}},
		{name: "the pod has timed out in FailedMount", args: []string{"explain", "-f", dumps + "mount-timeout.yaml", "pod/p"},
			want: []string{"the kubelet has timed out 9 times since 09:12", "changes    only when you act", "within 10m:", "FailedMount"},
			not:  []string{"   300ms   pod/default/p  is Running"}},
		{name: "a claim grows", args: []string{"predict", "-f", cases + "csi-grow.yaml", "--", "patch", "pvc", "data", "-p",
			`{"spec":{"resources":{"requests":{"storage":"100Gi"}}}}`},
			want: []string{"pvc/default/data                             requests 100Gi instead of 1Gi", "grows from 1Gi to 100Gi"},
			not:  []string{"No effects"}},
		{name: "the pods of a deleted node are collected", args: []string{"predict", "-f", cases + "delete-node.yaml", "--", "delete", "node/n2"},
			want: []string{"Pods that stop:", "pod/default/db-0 is Failed", "pod/default/db-0  is scheduled to node n1"}},
		{name: "a namespace is not a claim", args: []string{"predict", "-f", cases + "delete-namespace.yaml", "--", "delete", "namespace/team"},
			want: []string{"Retained: volume vol", "claim team/data", "Pods that stop:", "pod/team/web-", "namespace/team"}},
		{name: "the node of the zone is cordoned, and another node is full",
			args: []string{"explain", "-f", dumps + "zone-b-cordoned-zone-a-full.yaml", "pod/p"},
			want: []string{"n1  Insufficient cpu: 0 free of 4, needs 1 (SCHED-024); also topology.kubernetes.io/zone=a", "n2  cordoned", "1. uncordon node n2",
				"kubectl uncordon n2", "is Running"}, not: []string{"make room", "node.kubernetes.io/unschedulable"}},
		{name: "a Released volume of the claim's name", args: []string{"explain", "-f", dumps + "released-of-this-name.yaml", "pvc/data"},
			want: []string{"1. free volume old, which an earlier claim of this name had", "kubectl patch pv old", "is Bound"}},
		{name: "the driver is not registered on the node", args: []string{"explain", "-f", dumps + "driver-not-registered.yaml", "pod/p"},
			want: []string{"is not registered on node n1", "to do      start the node plugin of driver disk.example.com on node n1",
				"1. start the node plugin of driver disk.example.com on node n1", "is Running"}},
		{name: "the claim comes from a snapshot", args: []string{"explain", "-f", dumps + "claim-from-snapshot.yaml", "pvc/data"},
			want: []string{`to do      create volumesnapshots.snapshot.storage.k8s.io "snap", or create the claim again with another source`, `without VolumeSnapshot "snap" as its source`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errOut := shell("", tt.args...)
			require.Zero(t, status, errOut)
			rest := out
			for _, text := range tt.want {
				at := strings.Index(rest, text)
				require.GreaterOrEqual(t, at, 0, "%q is missing or too early in\n%s", text, out)
				rest = rest[at:]
			}
			for _, text := range tt.not {
				require.NotContains(t, out, text)
			}
		})
	}
}

// TestDumpInScripts: a dump runs as it is, from standard input and in a script. Its nodes are not started again, its pods go on, and no time is
// before the cluster was there.
func TestDumpInScripts(t *testing.T) {
	data, err := os.ReadFile("../../internal/tools/predict/testdata/cases/csi-grow.yaml")
	require.NoError(t, err)
	status, fromInput, errOut := shell(string(data), "run", "-")
	require.Zero(t, status, errOut)
	status, inScript, errOut := shell("load -f dump.yaml\nadvance 1h\nget all -A\nevents -A\ndescribe pod -A\n-- dump.yaml --\n"+string(data), "run", "-")
	require.Zero(t, status, errOut)
	for _, out := range []string{fromInput, inScript} {
		require.Contains(t, out, "web-5996f57478-dm4zx   1/1     Running   0")
		for _, text := range []string{"Rebooted", "FailedMount", "<invalid>", "Starting kubelet"} {
			require.NotContains(t, out, text)
		}
	}
}

// TestSameInput: run, explain and predict read the same dumps: YAML, JSON in one line, several files, folders, objects of a newer version and
// of kinds that are not simulated. What is ignored is one line.
func TestSameInput(t *testing.T) {
	data, err := os.ReadFile("../../internal/tools/predict/testdata/cases/csi-grow.yaml")
	require.NoError(t, err)
	var list struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Items      []map[string]any `json:"items"`
	}
	require.NoError(t, yaml.Unmarshal(data, &list))
	line, err := json.Marshal(list)
	require.NoError(t, err)
	dir := t.TempDir()
	folder := filepath.Join(dir, "dump", "default")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for _, to := range []string{dir, folder} {
		var files [2][]string
		for i, item := range list.Items {
			doc, err := yaml.Marshal(item)
			require.NoError(t, err)
			files[i%2] = append(files[i%2], string(doc))
		}
		write(t, to, "a.yaml", strings.Join(files[0], "---\n"))
		write(t, to, "b.yml", strings.Join(files[1], "---\n"))
	}
	write(t, dir, "line.json", string(line))
	newer := strings.Replace(string(data), "apiVersion: storage.k8s.io/v1\n  kind: StorageClass",
		"apiVersion: storage.k8s.io/v2\n  encrypted: true\n  kind: StorageClass", 2)
	newer += "- apiVersion: helm.cattle.io/v1\n  kind: HelmChart\n  metadata:\n    name: chart\n"
	newer = strings.Replace(newer, "kind: List\nmetadata:\n  resourceVersion: \"\"\n- ", "- ", 1)
	write(t, dir, "newer.yaml", newer+"kind: List\n")
	at := func(names ...string) []string {
		for i := range names {
			names[i] = filepath.Join(dir, names[i])
		}
		return names
	}
	for name, files := range map[string][]string{
		"JSON in one line": at("line.json"), "several files": at("a.yaml", "b.yml"), "a folder": at("dump"), "a newer cluster": at("newer.yaml"),
	} {
		t.Run(name, func(t *testing.T) {
			flags := []string{"-f", strings.Join(files, ",")}
			for _, args := range [][]string{
				append([]string{"run"}, files...), append([]string{"explain", "pod"}, flags...), append([]string{"predict"}, append(flags, "--", "nothing")...),
			} {
				status, out, errOut := shell("", args...)
				require.Zero(t, status, errOut)
				if args[0] == "run" {
					require.Contains(t, out, "web-5996f57478-dm4zx   1/1     Running   0")
				}
				if name == "a newer cluster" {
					require.Equal(t, "volsim: ignored: 1 HelmChart (helm.cattle.io/v1), field StorageClass encrypted\n", errOut)
				} else {
					require.Empty(t, errOut)
				}
			}
		})
	}
}
