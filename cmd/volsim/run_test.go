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

const runClaim = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: ""
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`

// write makes a file in a folder of the test.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// oneLine says that a command line ended with a line of explanation, and no more.
func oneLine(t *testing.T, errOut string) {
	t.Helper()
	require.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
	require.True(t, strings.HasPrefix(errOut, "volsim: "), errOut)
	require.NotContains(t, errOut, "goroutine")
	require.NotContains(t, errOut, ".go:")
}

// TestRunMalformed runs malformed scripts: each ends with one line that says where and why.
func TestRunMalformed(t *testing.T) {
	data, err := os.ReadFile("../../internal/tools/script/testdata/malformed.yaml")
	require.NoError(t, err)
	var scripts []struct {
		Name, Script, Want string
		Line               int
	}
	require.NoError(t, yaml.Unmarshal(data, &scripts))
	require.Greater(t, len(scripts), 60)
	for _, tt := range scripts {
		t.Run(tt.Name, func(t *testing.T) {
			file := write(t, t.TempDir(), "x.txtar", tt.Script)
			status, out, errOut := shell("", "run", file)
			require.Equal(t, exitFailed, status)
			require.Empty(t, out)
			oneLine(t, errOut)
			require.Contains(t, errOut, tt.Want)
		})
	}
}

func TestRunManifestMalformed(t *testing.T) {
	for _, tt := range []struct {
		name, manifest, want string
	}{
		{"empty", "", ":1: manifest contains no object"},
		{"comments only", "# nothing\n---\n# more\n", ":1: manifest contains no object"},
		{"no YAML", "kind: [", ":1: "},
		{"tabs", "kind:\n\tPod", ":"},
		{"a list", "- a\n- b\n", ":1: "},
		{"a word", "hello", ":1: "},
		{"JSON that ends early", `{"kind": "Pod"`, ":1: "},
		{"no kind", "apiVersion: v1\nmetadata: {name: a}\n", ":1: "},
		{"no version", "kind: Pod\nmetadata: {name: a}\n", ":1: "},
		{"an unknown kind", "apiVersion: apps/v1\nkind: Daemon\nmetadata: {name: a}\n", "x.yaml:2: "},
		{"the version of another kind", "apiVersion: apps/v1\nkind: Pod\nmetadata: {name: a}\n", ":1: "},
		{"the second document", runClaim + "---\nkind: Pod\n", ":9: "},
		{"an unknown field", runClaim + "  colour: red\n", "x.yaml:8: PersistentVolumeClaim data: spec.colour: unknown field"},
		{"a field twice", runClaim + "  storageClassName: a\n",
			`x.yaml:8: key "storageClassName" already set in map`},
		{"a number for a word", "apiVersion: v1\nkind: Pod\nmetadata: {name: 7}\n", `x.yaml:3: Pod 7: metadata.name: invalid value 7: want a string; write "7"`},
		{"a size that is none", strings.Replace(runClaim, "1Gi", "much", 1),
			`x.yaml:7: PersistentVolumeClaim data: spec.resources.requests[storage]: invalid quantity "much": want a number with a unit`},
		{"a size without end", strings.Replace(runClaim, "1Gi", "1e999999999", 1), `:7: PersistentVolumeClaim data: spec.resources.requests[storage]: quantity "1e999999999": the exponent`},
		{"a status that is none", runClaim + "status: 7\n", `:8: PersistentVolumeClaim data: status: invalid value "7": want an object`},
		{"refused by the API server", strings.Replace(runClaim, "name: data", "name: Data!", 1),
			`:3: create PersistentVolumeClaim/default/Data!: `},
		{"no name", strings.Replace(runClaim, "name: data", "labels: {}", 1),
			"apply PersistentVolumeClaim: missing name; use create with generateName"},
		{"a driver of an impossible name", "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: a}\nprovisioner: api\n",
			`the name "api" means the API server`},
		{"a mode in lower case", runClaim + "  volumeMode: filesystem\n", `:8: create PersistentVolumeClaim/default/data: PersistentVolumeClaim "data" is ` +
			`invalid: spec.volumeMode: Unsupported value: "filesystem": supported values: "Block", "Filesystem"; did you mean "Filesystem"`},
		{"a field of a workload", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  replica: 3\n",
			`:5: StatefulSet db: spec.replica: unknown field; did you mean "replicas"`},
		{"a size in a List", "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(strings.Replace(runClaim, "1Gi", "1GB", 1)), "\n", "\n  ") + "\n",
			`:10: PersistentVolumeClaim data: spec.resources.requests[storage]: invalid quantity "1GB"`},
		{"a zero byte", "kind: Pod\x00", ":1: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := write(t, t.TempDir(), "x.yaml", tt.manifest)
			status, _, errOut := shell("", "run", "-q", file)
			require.Equal(t, exitFailed, status)
			oneLine(t, errOut)
			require.Regexp(t, `x\.yaml:\d+: `, errOut)
			require.Contains(t, errOut, tt.want)
		})
	}
}

// TestRunDirectories: a directory is read with those below it, but for hidden ones; --nodes adds nodes to manifests.
func TestRunDirectories(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"below/further", ".hidden"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	write(t, dir, "claim.yaml", runClaim)
	write(t, filepath.Join(dir, "below/further"), "pod.yaml",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: web}]}\n")
	write(t, filepath.Join(dir, ".hidden"), "other.yaml", "not a manifest")
	status, out, errOut := shell("", "run", "--nodes=2", dir)
	require.Zero(t, status, errOut)
	require.Contains(t, out, "node-2")
	require.Regexp(t, `pod/web +1/1 +Running`, out)
	write(t, filepath.Join(dir, "below"), "a.txtar", "now\n")
	status, out, errOut = shell("", "run", "-q", dir)
	require.Zero(t, status, errOut)
	require.Equal(t, filepath.Join(dir, "below/a.txtar")+": ok, seed 0, 0s of virtual time\n", out)
}

// TestRunDump: a cluster continues from a dump. Its pods run on, and nothing is older than it is.
func TestRunDump(t *testing.T) {
	data, err := os.ReadFile("testdata/running.yaml")
	require.NoError(t, err)
	status, out, errOut := shell(string(data), "run", "--until", "1h", "-")
	require.Zero(t, status, errOut)
	require.Equal(t, shopIgnored, errOut)
	require.Contains(t, out, "> load -f stdin\n21 objects loaded, at 2026-11-20T09:30:00Z\n")
	require.Regexp(t, `pod/db-0 +1/1 +Running +0 +25h`, out)
	for _, never := range []string{"Rebooted", "FailedMount", "<invalid>"} {
		require.NotContains(t, out, never)
	}
	status, _, errOut = shell(strings.ReplaceAll(string(data), "kind: Pod\n", "kind: 7\n"), "run", "-")
	require.Equal(t, exitFailed, status)
	oneLine(t, errOut)
}

// TestRunUpdate: --update creates a file that cmp compares with.
func TestRunUpdate(t *testing.T) {
	file := write(t, t.TempDir(), "a.txtar", "get pv\ncmp stdout want.txt\n")
	status, _, errOut := shell("", "run", file)
	require.Equal(t, exitFailed, status)
	require.Contains(t, errOut, "file want.txt not found")
	status, _, errOut = shell("", "run", "--update", file)
	require.Zero(t, status, errOut)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "get pv\ncmp stdout want.txt\n-- want.txt --\nNo resources found\n", string(data))
}

func TestRunUsage(t *testing.T) {
	dir := t.TempDir()
	script := write(t, dir, "a.txtar", "now\n")
	write(t, dir, "b.txtar", "now\n")
	empty := t.TempDir()
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"nothing to run", []string{"run"}, exitUsage, "missing FILE argument"},
		{"a flag that does not exist", []string{"run", "--colour", script}, exitUsage, "unknown flag: --colour"},
		{"a format that does not exist", []string{"run", "-o", "xml", script}, exitUsage, `invalid -o "xml": want text, json or yaml`},
		{"a seed that is no number", []string{"run", "--seed", "x", script}, exitUsage, `invalid argument "x" for "--seed" flag: want a number; see`},
		{"a seed that is too large", []string{"run", "--seed", "99999999999999999999", script}, exitUsage, "the number is out of range"},
		{"a switch that is neither on nor off", []string{"run", "--quiet=x", script}, exitUsage, `for "--quiet" flag: want true or false`},
		{"time in days", []string{"run", "--until", "1d", script}, exitUsage,
			`invalid argument "1d" for "--until" flag: invalid duration "1d": the largest unit is h; write 24h`},
		{"time that runs backwards", []string{"run", "--until", "-5m", script}, exitUsage, "invalid --until -5m0s: must not be negative"},
		{"nodes in a script", []string{"run", "--nodes", "2", script}, exitUsage, `add the line "node add NAME..." to it`},
		{"too many nodes", []string{"run", "--nodes", "5001", script}, exitUsage, "invalid --nodes 5001: want a number from 0 to 5000"},
		{"one picture of several", []string{"run", "--html", "x.html", dir}, exitUsage,
			"invalid --html, --log or --trace: want one script, got 2"},
		{"a file that is not there", []string{"run", filepath.Join(dir, "none.txtar")}, exitFailed, "none.txtar: no such file or directory"},
		{"an empty folder", []string{"run", empty}, exitFailed, "directory contains no script (.txtar)"},
		{"a file that cannot be written", []string{"run", "-q", "--html", filepath.Join(empty, "none", "x.html"), script}, exitFailed,
			"x.html: no such file or directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, _, errOut := shell("", tt.args...)
			require.Equal(t, tt.status, status)
			oneLine(t, errOut)
			require.Contains(t, errOut, tt.want)
		})
	}
}

func TestRunScript(t *testing.T) {
	const script = "# A story.\nget pv\ncmp stdout want\nadvance 5s\nexpect pv/a phase=Bound\n-- want --\nNo resources found\n"
	file := write(t, t.TempDir(), "story.txtar", script)
	t.Run("text", func(t *testing.T) {
		status, out, errOut := shell("", "run", file)
		require.Equal(t, exitFailed, status)
		require.Equal(t, "volsim: "+file+":5: expect pv/a phase=Bound: persistentvolumes \"a\" not found\n", errOut)
		require.Equal(t, "# A story.\n> get pv\nNo resources found\n> cmp stdout want\n> advance 5s\n> expect pv/a phase=Bound\n"+file+
			": 1 failure, seed 0, 5s of virtual time\n", out)
	})
	t.Run("json", func(t *testing.T) {
		status, out, _ := shell("", "run", "-o", "json", "--seed", "7", "--until", "1m", file)
		require.Equal(t, exitFailed, status)
		var report runReport
		require.NoError(t, json.Unmarshal([]byte(out), &report))
		require.False(t, report.OK)
		require.Equal(t, int64(7), report.Seed)
		require.Equal(t, []failureReport{{File: file, Line: 5, Command: "expect pv/a phase=Bound",
			Error: `persistentvolumes "a" not found`}}, report.Failures)
		require.Equal(t, "No resources found\n", report.Commands[0].Output)
		require.Equal(t, "5s", report.Commands[2].At)
	})
	t.Run("yaml", func(t *testing.T) {
		_, out, _ := shell("", "run", "-o", "yaml", file)
		var report runReport
		require.NoError(t, yaml.Unmarshal([]byte(out), &report))
		require.Equal(t, file, report.Script)
		require.Len(t, report.Commands, 4)
	})
	t.Run("a diff stands above the line", func(t *testing.T) {
		status, _, errOut := shell(strings.Replace(script, "resources found", "such luck", 1), "run", "-q", "-")
		require.Equal(t, exitFailed, status)
		require.Equal(t, "- No such luck\n+ No resources found\nvolsim: stdin:3: cmp stdout want: stdout and want differ\n", errOut)
	})
	t.Run("update", func(t *testing.T) {
		file := write(t, t.TempDir(), "x.txtar", "get pv\ncmp stdout want\n-- want --\nold\n")
		status, _, errOut := shell("", "run", "-q", "--update", file)
		require.Zero(t, status, errOut)
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "get pv\ncmp stdout want\n-- want --\nNo resources found\n", string(data))
	})
	t.Run("until, log and trace", func(t *testing.T) {
		status, out, errOut := shell("apply -f c\n-- c --\n"+runClaim, "run", "-q", "--until", "1h", "--log", "-", "--trace", "-", "-")
		require.Zero(t, status, errOut)
		require.Contains(t, out, "stdin: ok, seed 0, 1h0m0s of virtual time\n")
		require.Contains(t, out, `pv_controller.go:0] "Synchronizing PersistentVolumeClaim" logger="persistentvolume-binder-controller" PVC="default/data"`)
		require.Contains(t, out, "create PersistentVolumeClaim/default/data: created\n")
	})
	t.Run("a picture", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "x.html")
		status, _, errOut := shell("now", "run", "-q", "--html", file, "-")
		require.Zero(t, status, errOut)
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(data), "<html")
	})
	t.Run("commands", func(t *testing.T) {
		status, out, errOut := shell("", "run", "--help-commands")
		require.Zero(t, status, errOut)
		require.Contains(t, out, "  advance DURATION\n")
	})
}

func TestRunManifest(t *testing.T) {
	status, out, errOut := shell(runClaim, "run", "-")
	require.Zero(t, status, errOut)
	require.Contains(t, out, "> apply -f stdin\npersistentvolumeclaim/data created\n")
	require.Contains(t, out, "persistentvolumeclaim/data   Pending")
	require.Contains(t, out, "pvc/default/data is Pending")

	// Pods without any node: one line says what to do.
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n"
	status, _, errOut = shell(pod, "run", "-")
	require.Zero(t, status, errOut)
	require.Equal(t, "volsim: pods wait for a node, and the manifests have none: --nodes 1 adds one\n", errOut)
	status, out, errOut = shell(pod, "run", "-", "--nodes", "1")
	require.Zero(t, status, errOut)
	require.Empty(t, errOut)
	require.Contains(t, out, "pod/p   1/1     Running")

	dir := t.TempDir()
	write(t, dir, "1.yaml", "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: disk.example.com\n")
	write(t, dir, "2.yaml", strings.Replace(runClaim, `""`, "fast", 1))
	status, out, errOut = shell("", "run", dir)
	require.Zero(t, status, errOut)
	require.Contains(t, out, "> backend disk.example.com\n")
	require.Regexp(t, "persistentvolumeclaim/data   Bound    pvc-", out)

	// Two files are two clusters: one line says so.
	status, _, errOut = shell("", "run", "-q", filepath.Join(dir, "1.yaml"), filepath.Join(dir, "2.yaml"))
	require.Zero(t, status, errOut)
	require.Equal(t, "volsim: each manifest has a cluster of its own; put those that belong together into a directory, and name that\n", errOut)
}

// TestRunCustomObjects: a chart has objects of custom kinds without their CustomResourceDefinitions. They are left out, and the rest runs.
func TestRunCustomObjects(t *testing.T) {
	const monitor = "---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: mon}\n"
	const definition = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: servicemonitors.monitoring.coreos.com}\n" +
		"spec:\n  group: monitoring.coreos.com\n  scope: Namespaced\n  names: {plural: servicemonitors, kind: ServiceMonitor}\n" +
		"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]\n"
	for _, tt := range []struct{ name, manifest, errOut string }{
		{"without the definition", runClaim + monitor, "volsim: left out: ServiceMonitor mon (stdin:9): the files have no CustomResourceDefinition of that kind; " +
			"everything else is simulated\n"},
		{"many", runClaim + strings.Repeat(monitor, 12), "(stdin:37) and 4 more: the files have no"},
		{"nothing else", monitor, "volsim: left out: ServiceMonitor mon (stdin:2)"},
		{"with the definition", runClaim + definition + monitor, "volsim: no controllers are simulated for ServiceMonitor.monitoring.coreos.com"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errOut := shell(tt.manifest, "run", "-")
			require.Zero(t, status, errOut)
			oneLine(t, errOut)
			require.Contains(t, errOut, tt.errOut)
			require.Equal(t, strings.Contains(tt.manifest, "PersistentVolumeClaim"), strings.Contains(out, "persistentvolumeclaim/data created"))
		})
	}
}

// TestCustomObjects: graph and sweep say which custom objects they leave out, as run does.
func TestCustomObjects(t *testing.T) {
	const monitor = "---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: mon}\n"
	for _, args := range [][]string{{"graph"}, {"sweep", "--seeds", "1..2"}, {"sweep", "--exhaustive", "--without", "kubelet"}} {
		status, _, errOut := shell(runClaim+monitor, append(args, "-")...)
		require.Zero(t, status, errOut)
		require.Contains(t, errOut, "volsim: left out: ServiceMonitor mon (stdin:9): the files have no CustomResourceDefinition of that kind", args)
	}
}

func TestRunDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.txtar", "now\n")
	write(t, dir, "b.txtar", "expect pv/a phase=Bound\n")
	write(t, dir, "c.yaml", runClaim)
	status, out, errOut := shell("", "run", "-q", dir)
	require.Equal(t, exitFailed, status)
	require.Contains(t, out, "a.txtar: ok, seed 0")
	require.Contains(t, out, "b.txtar: 1 failure")
	require.NotContains(t, out, "c.yaml")
	require.Contains(t, errOut, "b.txtar:1: expect pv/a phase=Bound: ")
	require.Contains(t, errOut, "volsim: 1 of 2 scripts failed\n")
}
