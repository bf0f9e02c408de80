package fieldpos_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/fieldpos"
)

const pod = `apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app.kubernetes.io/name: web}
spec:
  # a comment
  containers:
  - name: a
    image: a
  - name: b
    image: b
`

// TestLine finds the lines of fields, or of the nearest field around one that does not exist.
func TestLine(t *testing.T) {
	o := fieldpos.Parse([]byte(pod), 11)
	for path, line := range map[string]int{
		"": 11, "kind": 12, "metadata.name": 14, "metadata.labels[app.kubernetes.io/name]": 15, "metadata.labels.app.kubernetes.io/name": 15,
		"spec": 16, "spec.containers": 18, "spec.containers[1]": 21, "spec.containers[1].image": 22, "spec.containers[1].ports[0]": 21,
		"spec.containers[7].image": 18, "spec.volumes[0].name": 16, "status.phase": 11, "spec.containers[": 18,
	} {
		require.Equal(t, line, o.Line(path), path)
	}
	require.Equal(t, "Pod web", o.String())
}

// TestItems finds objects in Lists, in block style and in flow style.
func TestItems(t *testing.T) {
	item := strings.ReplaceAll(strings.TrimSpace(pod), "\n", "\n  ")
	for name, doc := range map[string]string{
		"block":    "apiVersion: v1\nitems:\n- " + item + "\n- " + item + "\nkind: List\n",
		"indented": "apiVersion: v1\nitems:\n- " + item + "\n- " + item + "\n",
		"nested":   "kind: List\nitems: []\n",
	} {
		o := fieldpos.Parse([]byte(doc), 1, 1)
		if name == "nested" {
			require.Nil(t, o)
			continue
		}
		require.Equal(t, 3+12+11-1, o.Line("spec.containers[1].name"), name)
	}
	o := fieldpos.Parse([]byte("{\"items\": [\n{\"kind\": \"a\"},\n{\"items\": [\n{\"kind\": \"b\"}]}]}"), 1, 1, 0)
	require.Equal(t, 4, o.Line("kind"))
	require.Nil(t, fieldpos.Parse([]byte("a: ["), 1))
	require.Nil(t, fieldpos.Parse([]byte("a"), 1))
}

// TestExplain says what is wrong with a field, and what would be right.
func TestExplain(t *testing.T) {
	for _, row := range []struct {
		name, doc string
		line      int
		want      string
	}{
		{"unknown field", pod + "  nodename: n1\n", 13, `Pod web: spec.nodename: unknown field; did you mean "nodeName"`},
		{"a field that belongs to spec", pod + "hostNetwork: true\n", 13, "Pod web: hostNetwork: unknown field; hostNetwork is a field of spec: check the indentation"},
		{"a field that belongs to metadata", pod + "  annotations: {a: b}\n", 13, "spec.annotations: unknown field; annotations is a field of metadata: check the indentation"},
		{"a field of the object itself", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  spec: {}\n", 5,
			"metadata.spec: unknown field; spec is a field of the object itself: check the indentation"},
		{"two problems", pod + "  nodename: n1\n  priority: high\n", 13,
			`Pod web: spec.nodename: unknown field; did you mean "nodeName"; line 14: spec.priority: invalid value "high": want a whole number`},
		{"duplicate field", pod + "  nodeName: n1\n  nodeName: n2\n", 14, "Pod web: spec.nodeName: duplicate field, also in line 13"},
		{"a list", strings.Replace(pod, "  containers:", "  tolerations: all\n  containers:", 1), 8,
			`spec.tolerations: invalid value "all": want a list; write [all]`},
		{"an object", pod + "  securityContext: [1]\n", 13, "spec.securityContext: invalid value: want an object, not a list"},
		{"a boolean", pod + "  hostNetwork: maybe\n", 13, `spec.hostNetwork: invalid value "maybe": want true or false`},
		{"a number in quotes", pod + "  terminationGracePeriodSeconds: \"30\"\n", 13,
			`spec.terminationGracePeriodSeconds: invalid value "30": want a whole number; remove the quotes`},
		{"a number for a string", strings.Replace(pod, "image: b", "image: 7", 1), 12, `spec.containers[1].image: invalid value 7: want a string; write "7"`},
		{"a quantity", strings.Replace(pod, "image: b", "resources: {limits: {memory: 512mb}}", 1), 12,
			`spec.containers[1].resources.limits[memory]: invalid quantity "512mb": want a number with a unit such as 10Gi or 500m; did you mean "512M"`},
		{"a fixed value", pod + "  restartPolicy: always\n", 13,
			`spec.restartPolicy: unknown value "always": want one of Always, OnFailure, Never; did you mean "Always"`},
		{"a time", strings.Replace(pod, "  name: web\n", "  name: web\n  creationTimestamp: today\n", 1), 5,
			`metadata.creationTimestamp: invalid time "today": want a time such as 2006-01-02T15:04:05Z`},
		{"a kind", strings.Replace(pod, "kind: Pod", "kind: Pods", 1), 2, `failed; did you mean Pod (v1)`},
		{"a version", strings.Replace(pod, "apiVersion: v1", "apiVersion: core/v1", 1), 1, `failed; did you mean apiVersion v1`},
		{"a kind of a user", "apiVersion: example.com/v1\nkind: Backup\n", 2, "failed"},
		{"no problem", pod, 1, "failed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			line, err := fieldpos.Explain(fieldpos.Source{Doc: []byte(row.doc), Line: 1}, errors.New("failed"))
			require.Equal(t, row.line, line, err)
			require.ErrorContains(t, err, row.want)
		})
	}
	t.Run("the library", func(t *testing.T) {
		line, err := fieldpos.Explain(fieldpos.Source{Line: 1}, errors.New("yaml: line 7: did not find expected key"))
		require.Equal(t, 7, line)
		require.EqualError(t, err, "did not find expected key; check the indentation here and in the lines around")
	})
}

// TestExplainRequests adds the lines and hints to errors of the API server.
func TestExplainRequests(t *testing.T) {
	source := fieldpos.Source{Doc: []byte(pod), Line: 1}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "web", field.ErrorList{
		field.Required(field.NewPath("spec", "containers").Index(1).Child("image"), ""),
		field.NotSupported(field.NewPath("metadata", "name"), "wep", []string{"web", "db"}),
	})
	line, err := fieldpos.Explain(source, fmt.Errorf("create Pod: %w", invalid))
	require.Equal(t, 12, line)
	require.ErrorIs(t, err, invalid)
	require.ErrorContains(t, err, `; metadata.name is in line 4; did you mean "web"`)
	line, err = fieldpos.Explain(source, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "pods"}, "web"))
	require.Equal(t, 4, line)
	require.EqualError(t, err, `pods "web" already exists`)
}

// TestMoved: all lines in the text of an error move together, where the object is a part of a longer text.
func TestMoved(t *testing.T) {
	source := fieldpos.Source{Doc: []byte(pod + "  nodename: n1\n  priority: high\n  nodeName: n1\n  nodeName: n2\n"), Line: 1}
	line, err := fieldpos.Explain(source, errors.New("failed"))
	require.Equal(t, 13, line)
	require.ErrorContains(t, err, "; line 14: spec.priority: ")
	require.ErrorContains(t, err, "also in line 15")
	moved := fieldpos.Moved(fmt.Errorf("apply: %w", err), 100)
	require.Contains(t, moved, "; line 114: spec.priority: ")
	require.Contains(t, moved, "also in line 115")
	require.Equal(t, "other", fieldpos.Moved(errors.New("other"), 100))
}
