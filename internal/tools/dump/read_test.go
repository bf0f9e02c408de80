package dump_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/tools/dump"
)

// dumps is the folder of the dumps that the tests of the command use.
const dumps = "../../../cmd/volsim/testdata"

func read(t testing.TB, name string) *dump.Dump {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dumps, name))
	require.NoError(t, err)
	d, err := dump.Read(data)
	require.NoError(t, err)
	return d
}

func TestReadKeepsWhatItKnows(t *testing.T) {
	d := read(t, "running.yaml")
	require.Equal(t, map[string]int{"apps/v1 Deployment": 1}, d.Ignored)
	require.Empty(t, d.Dropped)
	require.Equal(t, time.Date(2026, time.November, 20, 9, 30, 0, 0, time.UTC), d.Newest())
	d = read(t, "local-volumes.yaml")
	require.Equal(t, []string{"Pod spec.workloadRef", "Pod status.conditions.certainty", "StorageClass dataProtection"}, d.Dropped)
	kinds := map[api.Kind]int{}
	for _, obj := range d.Objects {
		kinds[api.KindOf(obj)]++
	}
	require.Equal(t, map[api.Kind]int{"PersistentVolume": 3, "PersistentVolumeClaim": 1, "StorageClass": 1, "Pod": 1, "Node": 3,
		"CSINode": 3, "CSIDriver": 1}, kinds)
}

// The end of a grace period is in the future: the time of the deletion request counts.
func TestNewestIsNotAhead(t *testing.T) {
	d, err := dump.Read([]byte(`
apiVersion: v1
kind: Pod
metadata: {name: p, creationTimestamp: "2026-01-01T00:00:00Z", deletionTimestamp: "2026-01-01T01:00:30Z", deletionGracePeriodSeconds: 30}
`))
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, time.January, 1, 1, 0, 0, 0, time.UTC), d.Newest().UTC())
}

func TestReadTakesWhatKubectlPrints(t *testing.T) {
	for _, test := range []struct{ name, text string }{
		{"one object", "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"},
		{"several documents",
			"---\n# a comment\n---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\n---\napiVersion: example.com/v1\nkind: Backup\nmetadata: {name: b}\n"},
		{"a List",
			"apiVersion: v1\nkind: List\nmetadata: {resourceVersion: \"\"}\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata: {name: n1}\n"},
		{"a typed list", "apiVersion: v1\nkind: NodeList\nmetadata: {}\nitems:\n- metadata: {name: n1}\n"},
		{"JSON",
			`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "generation": 3}}]}`},
		{"items of a List, as jq prints them", `[{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}]`},
		{"a block of code from a chat", "```yaml\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\n```\n"},
		{"lines of a terminal before it", "$ kubectl get node n1 -o yaml\nE1120 09:00:00.000000   12 memcache.go:265] couldn't get current server API group list: Get \"x\": EOF\n" +
			"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"},
		{"an alias", "apiVersion: v1\nkind: Node\nmetadata: {name: &x n1, labels: {kubernetes.io/hostname: *x}}\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := dump.Read([]byte(test.text))
			require.NoError(t, err)
			require.Len(t, d.Objects, 1)
			require.IsType(t, &corev1.Node{}, d.Objects[0])
			require.Equal(t, "n1", d.Objects[0].GetName())
		})
	}
}

func TestReadRejects(t *testing.T) {
	node := "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", "read dump: no objects of simulated kinds; create it with kubectl get"},
		{"other kinds only", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n", "read dump: no objects of simulated kinds"},
		{"no YAML", "a: b: c", "read dump: yaml: "},
		{"a table", "NAME STATUS\ndata Bound\n", "read dump: want objects"},
		{"cut off", "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata: {name: n1}\n- apiVer", "read dump: list without a kind, which kubectl " +
			"writes at its end: the dump is cut off; create it again"},
		{"no name in items", `[{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}},{"apiVersion":"v1","kind":"Node","metadata":{}}]`, "read dump: Node without a name"},
		{"no kind", "apiVersion: v1\nmetadata: {name: n1}\n", "read dump: object without apiVersion or kind"},
		{"no name", "apiVersion: v1\nkind: Node\nmetadata: {}\n", "read dump: Node without a name"},
		{"the same twice", node + "---\n" + node, "read dump: duplicate Node/n1"},
		{"the same hidden name twice", strings.ReplaceAll(node+"---\n"+node, "n1", `"***"`), `several objects of kind Node are named "***", so the dump does not tell which`},
		{"a wrong type", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: shop}\nspec: {accessModes: 3}\n",
			"PersistentVolumeClaim shop/data: "},
		{"a quantity without end",
			"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: {capacity: {storage: 1e999999999}}\n", "PersistentVolume pv: "},
		{"an unknown access mode",
			"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: shop}\nspec:\n  accessModes:\n  - ReadWriteOnc\n",
			`line 6: read dump: PersistentVolumeClaim shop/data: spec.accessModes[0]: unknown value "ReadWriteOnc": want one of ` +
				`ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod; did you mean "ReadWriteOnce"`},
		{"an unknown effect",
			"kind: List\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata: {name: n1}\n  spec:\n    taints:\n    - key: a\n      effect: noSchedule\n",
			`line 10: read dump: Node n1: spec.taints[0].effect: unknown value "noSchedule": want one of NoSchedule,`},
		{"an unknown phase", "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nstatus: {phase: Free}\n",
			`line 4: read dump: PersistentVolume pv: status.phase: unknown value "Free": want one of Pending, Available, Bound, Released, Failed`},
		{"a quantity with a wrong unit",
			"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec:\n  capacity:\n    storage: 10GB\n",
			`line 6: read dump: PersistentVolume pv: spec.capacity[storage]: invalid quantity "10GB": want a number with a unit such as 10Gi or 500m; did you mean "10G"`},
		{"text after JSON", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}` + "\nerror: the server doesn't have a resource type\n",
			`line 2: read dump: want a JSON object after the one before, got "error: the server doesn't have a resource type"`},
		{"text between JSON values", "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\n\"metadata\":{\"name\":\"n1\"}}\nhello: world\n" +
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n2"}}`, `line 3: read dump: want a JSON object after the one before, got "hello: world"`},
		{"JSON without an end", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}{"apiVersion":"v1","kind":"Nod`,
			`line 1: read dump: want a JSON object after the one before, got "{\"apiVersion\":\"v1\",\"kind\":\"Nod"`},
		{"cut off JSON", "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n{\"apiVersion\": \"v1\", \"kind\": \"Nod", "line 2: read dump: the JSON is cut off here"},
		{"text after YAML in flow style", "#\n{apiVersion: v1, kind: Node, metadata: {name: n1}}\n\nhello: world\n",
			`line 4: read dump: want the end of the document after its object, got "hello: world"`},
		{"text after indented YAML", "---\n  apiVersion: v1\n  kind: Node\n  metadata: {name: n1}\nhello: world\n",
			`line 5: read dump: want the end of the document after its object, got "hello: world"`},
		{"a log without an end", node + "==== START logs for container main of pod shop/x ====\n" + node,
			`line 4: read dump: log without an end: want the line "==== END logs for container main of pod shop/x ===="`},
		{"lists without end", strings.Repeat(`{"apiVersion":"v1","kind":"List","items":[`, 20) + strings.Repeat("]}", 20),
			"read dump: lists nested deeper than 8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := dump.Read([]byte(test.text))
			require.ErrorContains(t, err, test.want)
		})
	}
}

// TestReadRenames: names that hide the true ones are read as other names, also where objects refer to them.
func TestReadRenames(t *testing.T) {
	d, err := dump.Read([]byte(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-1"}}
{"apiVersion":"v1","kind":"Node","metadata":{"name":"NODE_1"}}
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"<a>","namespace":"\u003ca\u003e"},"spec":{"nodeName":"NODE_1","hostname":"NODE_10"}}`))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"NODE_1": "node-1-2", "<a>": "a"}, d.Renamed)
	require.Equal(t, "node-1-2", d.Objects[1].GetName())
	pod := d.Objects[2].(*corev1.Pod)
	require.Equal(t, []string{"a", "a", "node-1-2", "NODE_10"}, []string{pod.Namespace, pod.Name, pod.Spec.NodeName, pod.Spec.Hostname})
}

// TestReadSkipsLogs: kubectl cluster-info dump prints the logs of containers between objects, in JSON and YAML. Errors after them name the right line.
func TestReadSkipsLogs(t *testing.T) {
	log := func(of, text string) string {
		return "==== START logs for container main of pod shop/" + of + " ====\n" + text + "==== END logs for container main of pod shop/" + of + " ====\n"
	}
	logs := log("a", "hello: world\n---\n{\"kind\":\n") + log("b", "no end of the line") + log("c", "==== START logs for container main of pod shop/a ====\n")
	for name, node := range map[string]func(string) string{
		"JSON": func(name string) string {
			return `{"apiVersion":"v1","kind":"Node","metadata":{"name":"` + name + `"}}` + "\n"
		},
		"YAML": func(name string) string { return "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: " + name + "\n" },
	} {
		t.Run(name, func(t *testing.T) {
			text := node("n1") + logs + node("n2") + node("n3")
			d, err := dump.Read([]byte(text))
			require.NoError(t, err)
			require.Len(t, d.Objects, 3)
			require.Equal(t, 3, d.Logs)
			_, err = dump.Read([]byte(text + "---\nnone\n"))
			require.ErrorContains(t, err, fmt.Sprintf("line %d: read dump: want objects", strings.Count(text, "\n")+2))
		})
	}
}

// TestReadRejectsLargeAliases: aliases of aliases are not expanded without bound.
func TestReadRejectsLargeAliases(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [" + strings.Repeat("x, ", 9) + "x]\n")
	for i := 1; i < 12; i++ {
		b.WriteString("a" + string(rune('a'+i)) + ": &a" + string(rune('a'+i)) + " [")
		before := "*a" + string(rune('a'+i-1))
		if i == 1 {
			before = "*a0"
		}
		b.WriteString(strings.Repeat(before+", ", 9) + before + "]\n")
	}
	_, err := dump.Read([]byte(b.String()))
	require.ErrorContains(t, err, "alias")
}
