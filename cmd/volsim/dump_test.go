package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/tools/dump"
)

var updateAnswers = flag.Bool("update-answers", false, "write the expected answers of explain and predict anew")

// answers are command lines on dumps, and the files that hold what they print.
var answers = []struct {
	name, errOut string
	args         []string
}{
	{name: "explain-pvc", args: []string{"explain", "-f", "waiting-claims.yaml", "pvc/shop/typo"}},
	{name: "explain-pod-multiattach", args: []string{"explain", "-f", "dead-node.yaml", "pod/shop/cart-7c6d9f5b8-m4n7q"}},
	{name: "explain-pod-local", args: []string{"explain", "-f", "local-volumes.yaml", "pod/shop/queue-0"},
		errOut: "volsim: ignored: field Pod spec.workloadRef, field Pod status.conditions.certainty, field StorageClass dataProtection\n"},
	{name: "explain-pod-full", args: []string{"explain", "-f", "full-nodes.yaml", "pod/shop/c-0", "--ahead", "0s"}},
	{name: "explain-all-released", args: []string{"explain", "-f", "released.yaml"}},
	{name: "explain-all-deleted", args: []string{"explain", "-f", "deleted-in-use.yaml"}},
	{name: "explain-all-waiting", args: []string{"explain", "-f", "waiting-claims.yaml"}},
	{name: "explain-all-well", args: []string{"explain", "-f", "k3s.yaml"}, errOut: "volsim: ignored: 1 HelmChart (helm.cattle.io/v1)\n"},
	{name: "predict-delete", errOut: shopIgnored, args: []string{"predict", "-f", "running.yaml", "--", "delete", "pvc/shop/data-db-0"}},
	{name: "predict-delete-both", errOut: shopIgnored,
		args: []string{"predict", "-f", "running.yaml", "--", "delete", "pvc/shop/data-db-0", "pod/shop/db-0"}},
	{name: "predict-drain", errOut: shopIgnored,
		args: []string{"predict", "-f", "running.yaml", "--for", "5m", "--", "drain", "node/ip-10-0-1-20"}},
	{name: "predict-lose", errOut: shopIgnored,
		args: []string{"predict", "-f", "running.yaml", "--", "lose", "ip-10-0-1-21", "then", "wait", "10m", "then", "out-of-service",
			"ip-10-0-1-21"}},
	{name: "predict-force", args: []string{"predict", "-f", "dead-node.yaml", "--", "delete", "--force", "pod/shop/cart-7c6d9f5b8-9k2lp"}},
	{name: "predict-retain",
		args: []string{"predict", "-f", "released.yaml", "--", "patch", "pv/pvc-d5a7b088-1074-4753-93b0-7580b20c5eda",
			`{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`}},
	{name: "explain-policy", args: []string{"explain", "-f", "refused-binding.yaml", "pvc/shop/data"}},
	{name: "predict-policy", errOut: shopIgnored,
		args: []string{"predict", "-f", "running.yaml", "--for", "5m", "--", "apply", "-f", "policies/no-bindings.yaml", "then", "drain", "node/ip-10-0-1-20"}},
	{name: "predict-nothing", errOut: shopIgnored, args: []string{"predict", "-f", "running.yaml", "--", "nothing"}},
}

const shopIgnored = "volsim: ignored: 1 Deployment (apps/v1)\n"

// inTestdata has the argument after -f name a file in testdata.
func inTestdata(args []string) []string {
	args = append([]string(nil), args...)
	for i := 1; i < len(args); i++ {
		if args[i-1] == "-f" && args[i] != "-" {
			args[i] = filepath.Join("testdata", args[i])
		}
	}
	return args
}

func TestAnswers(t *testing.T) {
	for _, tt := range answers {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errOut := shell("", inTestdata(tt.args)...)
			require.Zero(t, status, errOut)
			require.Equal(t, tt.errOut, errOut)
			file := filepath.Join("testdata", "answers", tt.name+".txt")
			if *updateAnswers {
				require.NoError(t, os.WriteFile(file, []byte(out), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), out)
		})
	}
}

// TestPredictList: -o yaml prints the predicted objects as a List, as kubectl does.
func TestPredictList(t *testing.T) {
	status, out, errOut := shell("", "predict", "-o", "yaml", "-f", "testdata/running.yaml", "--", "delete", "pod/shop/db-0", "pvc/shop/data-db-0")
	require.Zero(t, status, errOut)
	d, err := dump.Read([]byte(out))
	require.NoError(t, err)
	for _, obj := range d.Objects {
		require.False(t, api.KindOf(obj) == api.PersistentVolume && obj.GetName() == "pvc-ff924e10-1316-4f21-9f63-008564ace015", "it is deleted")
		require.Empty(t, obj.GetManagedFields())
	}
	require.Greater(t, len(d.Objects), 10)
}

// JSON and YAML contain the same answer; a prediction in YAML is a list of objects.
func TestAnswersForPrograms(t *testing.T) {
	for _, tt := range answers {
		// The others have nothing that these have not.
		if !strings.HasPrefix(tt.name, "explain-pod") && tt.name != "explain-all-well" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			read := func(format string, unmarshal func([]byte, any) error) any {
				args := inTestdata(tt.args)
				status, out, errOut := shell("", append([]string{args[0], "-o", format}, args[1:]...)...)
				require.Zero(t, status, errOut)
				var value any
				require.NoError(t, unmarshal([]byte(out), &value), out)
				return value
			}
			asJSON := read("json", json.Unmarshal)
			require.Equal(t, asJSON, read("yaml", func(data []byte, v any) error { return yaml.Unmarshal(data, v) }))
			require.NotEmpty(t, asJSON)
		})
	}
}

func TestDumpFromStandardInput(t *testing.T) {
	data, err := os.ReadFile("testdata/dead-node.yaml")
	require.NoError(t, err)
	status, out, errOut := shell(string(data), "explain", "-f", "-", "--ahead", "0s", "--now", "2026-11-20T10:00:00Z", "-o", "json",
		"pod/shop/cart-7c6d9f5b8-m4n7q")
	require.Zero(t, status, errOut)
	require.Contains(t, out, `"now": "2026-11-20T10:00:00Z"`)
	require.Contains(t, out, `"rule": "ATT-070"`)
}

// badSize is a dump with a claim of a wrong size.
const badSize = `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: data, namespace: shop}
  spec:
    accessModes: [ReadWriteOnce]
    resources: {requests: {storage: 1GB}}
`

func TestDumpMistakes(t *testing.T) {
	const dump = "testdata/running.yaml"
	for _, tt := range []struct {
		name   string
		status int
		args   []string
		stdin  string
		want   string
	}{
		{name: "no dump", status: exitUsage, args: []string{"explain", "pvc/a"}, want: "missing -f DUMP; use -f - for standard input"},
		{name: "no dump to predict on", status: exitUsage, args: []string{"predict", "--", "nothing"}, want: "missing -f DUMP"},
		{name: "a dump that is not there", status: exitFailed, args: []string{"explain", "-f", "none.yaml"}, want: "none.yaml"},
		{name: "a dump of nothing", status: exitFailed, args: []string{"explain", "-f", "-"}, stdin: "{}",
			want: "stdin:1: read dump: object without apiVersion or kind"},
		{name: "a zip archive", status: exitFailed, args: []string{"explain", "-f", "-"}, stdin: "PK\x03\x04", want: "stdin: a zip archive: unpack it first"},
		{name: "a file of xz", status: exitFailed, args: []string{"explain", "-f", "-"}, stdin: "\xfd7zXZ\x00", want: "stdin: compressed with xz: unpack it first"},
		{name: "manifests that were never applied", status: exitFailed, args: []string{"explain", "-f", "-"}, stdin: runClaim,
			want: "these are manifests that were never applied: no object has a uid or a status. Simulate them with volsim run FILE, or dump the cluster with kubectl get"},
		{name: "a change of manifests", status: exitFailed, args: []string{"predict", "-f", "-", "--", "delete", "pvc", "data"}, stdin: runClaim,
			want: "these are manifests that were never applied"},
		{name: "a format that is none", status: exitUsage, args: []string{"explain", "-f", dump, "-o", "wide"},
			want: `invalid -o "wide": want text, json or yaml`},
		{name: "a time that is none", status: exitUsage, args: []string{"explain", "-f", dump, "--now", "soon"}, want: `invalid --now "soon"`},
		{name: "an object that is none", status: exitUsage, args: []string{"explain", "-f", dump, "data"}, want: `unknown kind "data": want pvc, pv`},
		{name: "an object that is not there", status: exitFailed, args: []string{"explain", "-f", dump, "pvc/shop/none"},
			want: "pvc/shop/none is not in the dump"},
		{name: "an object that is not explained", status: exitFailed, args: []string{"explain", "-f", dump, "node/ip-10-0-1-20"},
			want: "want a claim (pvc), pod, volume (pv), attachment (va), namespace or workload"},
		{name: "an object of another namespace", status: exitFailed, args: []string{"explain", "-f", dump, "pvc", "data-db-0"},
			want: "pvc/default/data-db-0 is not in the dump; it exists in namespace shop: add -n shop"},
		{name: "a misspelt object", status: exitFailed, args: []string{"explain", "-f", dump, "-n", "shop", "pvc/data-db0"},
			want: `pvc/shop/data-db0 is not in the dump; did you mean "data-db-0"`},
		{name: "a misspelt kind", status: exitUsage, args: []string{"explain", "-f", dump, "pvcc", "data-db-0"}, want: `; did you mean "pvc"`},
		{name: "a misspelt kind before a slash", status: exitFailed, args: []string{"explain", "-f", dump, "deploymentt/web"},
			want: `which has no namespace deploymentt; or unknown kind "deploymentt": want pvc, pv, pod`},
		{name: "a name without a kind", status: exitUsage, args: []string{"explain", "-f", dump, "db-0"},
			want: `unknown kind "db-0": want pvc, pv, pod, va, namespace or a workload such as deployment; an object is KIND/NAME`},
		{name: "a misspelt namespace", status: exitFailed, args: []string{"explain", "-f", dump, "-n", "shopp", "pvc", "none"},
			want: `pvc/shopp/none is not in the dump, which has no namespace shopp; did you mean "shop"`},
		{name: "a name in all namespaces", status: exitUsage, args: []string{"explain", "-f", dump, "-A", "pvc", "data-db-0"},
			want: "a resource cannot be retrieved by name across all namespaces; use -n NAMESPACE"},
		{name: "a namespace and all", status: exitUsage, args: []string{"explain", "-f", dump, "-A", "-n", "shop"}, want: "-n and -A exclude each other"},
		{name: "a size that is none", status: exitFailed, args: []string{"explain", "-f", "-"}, stdin: badSize,
			want: `stdin:9: read dump: PersistentVolumeClaim shop/data: spec.resources.requests[storage]: invalid quantity "1GB": want a number`},
		{name: "an assumption about a misspelt word", status: exitFailed, args: []string{"explain", "-f", dump, "--assume", "drivr=healthy"},
			want: `invalid assumption about driver/drivr: the dump has no driver "drivr"; did you mean "driver"`},
		{name: "an assumption about a misspelt driver", status: exitFailed, args: []string{"explain", "-f", dump, "--assume", "driver/ebs.csi.aws.comm=absent"},
			want: `the dump has no driver "ebs.csi.aws.comm"; did you mean "ebs.csi.aws.com"`},
		{name: "an assumption about no node", status: exitFailed, args: []string{"predict", "-f", dump, "--assume", "node/zz=silent", "--", "nothing"},
			want: `the dump has no node "zz"`},
		{name: "an assumption about a misspelt controller", status: exitFailed, args: []string{"explain", "-f", dump, "--assume", "controller/kube-schedulr=absent"},
			want: `there is no controller "kube-schedulr"; did you mean "kube-scheduler"`},
		{name: "an assumption about no pod", status: exitFailed, args: []string{"explain", "-f", dump, "--assume", "pod/shop/db-00=healthy"},
			want: `the dump has no pod "shop/db-00"; did you mean "shop/db-0"`},
		{name: "back in time", status: exitUsage, args: []string{"explain", "-f", dump, "--ahead", "-1s"}, want: "invalid --ahead -1s"},
		{name: "no step", status: exitUsage, args: []string{"predict", "-f", dump}, want: "missing STEP argument: want one of: delete"},
		{name: "a step that is none", status: exitUsage, args: []string{"predict", "-f", dump, "--", "conquer"}, want: `unknown step "conquer"`},
		{name: "a step that cannot be done", status: exitFailed, args: []string{"predict", "-f", dump, "--", "drain", "nowhere"},
			want: `drain nowhere: nodes "nowhere" not found`},
		{name: "no time to look at", status: exitUsage, args: []string{"predict", "-f", dump, "--for", "0s", "--", "nothing"},
			want: "invalid --for 0s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errOut := shell(tt.stdin, tt.args...)
			require.Equal(t, tt.status, status, errOut)
			require.Empty(t, out)
			lines := strings.Split(strings.TrimSuffix(errOut, "\n"), "\n")
			require.Contains(t, lines[len(lines)-1], tt.want)
			for _, line := range lines[:len(lines)-1] {
				require.Contains(t, line, "volsim: ignored: ")
			}
		})
	}
}

// A step that is refused makes the exit status 1, as with kubectl; the answer is there.
func TestPredictRefused(t *testing.T) {
	status, out, errOut := shell("", "predict", "-f", "testdata/running.yaml", "--", "create", "ns", "shop!", "then", "cordon", "ip-10-0-1-20")
	require.Equal(t, exitFailed, status)
	require.Contains(t, out, "Refused: create ns shop!: ")
	require.Contains(t, out, "is cordoned")
	require.Contains(t, errOut, "volsim: refused: create ns shop!: ")
}

// archive writes an archive of files, compressed if its name says so, and returns its name.
func archive(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, entry := range slices.Sorted(maps.Keys(files)) {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: entry, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(files[entry]))}))
		_, err := w.Write([]byte(files[entry]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	name = filepath.Join(t.TempDir(), name)
	if filepath.Ext(name) == ".tar" {
		require.NoError(t, os.WriteFile(name, text.Bytes(), 0o600))
		return name
	}
	return compressed(t, name, text.Bytes())
}

// compressed writes a file that is compressed with gzip, and returns its name.
func compressed(t *testing.T, name string, data []byte) string {
	t.Helper()
	var text bytes.Buffer
	w := gzip.NewWriter(&text)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(name, text.Bytes(), 0o600))
	return name
}

// utf16File writes a file as PowerShell does with the operator >, and returns its name.
func utf16File(t *testing.T, text string) string {
	t.Helper()
	data := []byte("\xff\xfe")
	for _, unit := range utf16.Encode([]rune(text)) {
		data = binary.LittleEndian.AppendUint16(data, unit)
	}
	name := filepath.Join(t.TempDir(), "dump.yaml")
	require.NoError(t, os.WriteFile(name, data, 0o600))
	return name
}

// TestDumpArchive: a bundle for support is read as it is. What is no object in it is skipped, and named.
func TestDumpArchive(t *testing.T) {
	data, err := os.ReadFile("testdata/dead-node.yaml")
	require.NoError(t, err)
	explain := func(file string) (int, string, string) {
		return shell("", "explain", "-f", file, "--ahead", "0s", "--now", "2026-11-20T10:00:00Z", "pod/shop/cart-7c6d9f5b8-m4n7q")
	}
	_, want, notes := explain("testdata/dead-node.yaml")
	bundle := map[string]string{
		"./bundle/cluster.yaml": string(data), "bundle/version.yaml": "versionNumber: 1", "bundle/errors.json": `["no such resource"]`,
		"bundle/web.log": "[", "bundle/.cache/x.yaml": "[",
	}
	for _, name := range []string{"bundle.tar", "bundle.tar.gz", "bundle.tgz"} {
		file := archive(t, name, bundle)
		status, out, errOut := explain(file)
		require.Zero(t, status, errOut)
		require.Equal(t, want, out)
		require.Equal(t, notes+"volsim: ignored: what is no object in "+file+"/bundle/errors.json, "+file+"/bundle/version.yaml\n", errOut)
	}
	status, out, errOut := explain(compressed(t, filepath.Join(t.TempDir(), "dump.yaml.gz"), data))
	require.Zero(t, status, errOut)
	require.Equal(t, want, out)

	// The standard input has no name.
	for _, file := range []string{archive(t, "b.tgz", bundle), archive(t, "b.tar", bundle), compressed(t, filepath.Join(t.TempDir(), "d.yaml.gz"), data), utf16File(t, string(data))} {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		status, out, errOut := shell(string(content), "explain", "-f", "-", "--ahead", "0s", "--now", "2026-11-20T10:00:00Z", "pod/shop/cart-7c6d9f5b8-m4n7q")
		require.Zero(t, status, errOut)
		require.Equal(t, want, out)
	}
	status, out, errOut = explain(utf16File(t, string(data)))
	require.Zero(t, status, errOut)
	require.Equal(t, want, out)

	for _, tt := range []struct{ file, want string }{
		{archive(t, "empty.tar", map[string]string{"a.log": "x"}), "empty.tar: archive contains no manifest (.yaml, .yml, .json)"},
		{archive(t, "bad.tgz", map[string]string{"claims.yaml": badSize}), "bad.tgz/claims.yaml:9: read dump:"},
		{archive(t, "item.tar", map[string]string{"a.yaml": "{apiVersion: v1, kind: List, items: [{metadata: {name: a}}]}"}), "item.tar/a.yaml:1: read dump: object without apiVersion or kind"},
		{"testdata/none.tar.gz", "none.tar.gz: no such file"},
	} {
		status, _, errOut := explain(tt.file)
		require.Equal(t, exitFailed, status)
		require.Contains(t, errOut, tt.want)
	}
	broken := filepath.Join(t.TempDir(), "broken.tar.gz")
	require.NoError(t, os.WriteFile(broken, []byte("kind: List"), 0o600))
	status, _, errOut = explain(broken)
	require.Equal(t, exitFailed, status)
	require.Contains(t, errOut, "broken.tar.gz: not compressed with gzip")
}
