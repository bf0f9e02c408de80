package manifests_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/manifests"
	"github.com/volsim/volsim/internal/core/store"
)

const classYAML = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: csi.example.com
`

const claimJSON = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},
 "spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"5Gi"}}}}`

// refs returns "line kind/key" for each object, or the error.
func refs(found []manifests.Entry) []string {
	var all []string
	for _, m := range found {
		if m.Err != nil {
			all = append(all, fmt.Sprintf("%d: %v", m.Line, m.Err))
			continue
		}
		all = append(all, fmt.Sprintf("%d %v", m.Line, api.RefTo(m.Object)))
	}
	return all
}

func TestManifests(t *testing.T) {
	const class, claim = "StorageClass/fast", "PersistentVolumeClaim/default/data"
	for _, test := range []struct {
		name, data string
		want       []string
	}{
		{"nothing", "", nil},
		{"comments alone", "# one\n---\n\n# two\n", nil},
		{"one document", classYAML, []string{"1 " + class}},
		{"JSON", claimJSON, []string{"1 " + claim}},
		{"JSON, one after the other", claimJSON + "\n\n" + claimJSON + claimJSON, []string{"1 " + claim, "4 " + claim, "5 " + claim}},
		{"both", "---\n" + classYAML + "--- # and\n\n# this\n" + claimJSON + "\n", []string{"2 " + class, "9 " + claim}},
		{"a document in the line of its mark", "--- {apiVersion: v1, kind: Node, metadata: {name: n1}}\n--- \n" + classYAML, []string{"1 Node/n1", "3 " + class}},
		{"the end of a document", classYAML + "...\n# over\n---\n" + classYAML, []string{"1 " + class, "8 " + class}},
		{"a directive", "%YAML 1.1\n---\n" + classYAML, []string{"3 " + class}},
		{"Windows", strings.ReplaceAll("---\n"+classYAML+"---\n"+classYAML, "\n", "\r\n"), []string{"2 " + class, "7 " + class}},
		{"a byte order mark", "\ufeff" + classYAML, []string{"1 " + class}},
		{"no line at the end", strings.TrimSpace(classYAML) + "\n---", []string{"1 " + class}},
		{"dashes that divide nothing", classYAML + "parameters: {a: ---, b: '---x'}\nmountOptions:\n- |-\n  ---\n----: x\n",
			[]string{`1: StorageClass: unknown field "----"`}},
		{"a list", "apiVersion: v1\nkind: List\nmetadata: {resourceVersion: ''}\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: n1}}\n- " +
			strings.ReplaceAll(claimJSON, "\n", " ") + "\n", []string{"1 Node/n1", "1 " + claim}},
		{"a list of lists", `{"kind":"List","items":[{"kind":"NodeList","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}]}]}`, []string{"1 Node/n1"}},
		{"an empty list", `{"apiVersion":"v1","kind":"List"}`, nil},
		{"a namespace of its own", strings.Replace(claimJSON, `"name"`, `"namespace":"team","name"`, 1), []string{"1 PersistentVolumeClaim/team/data"}},

		{"a kind that is not simulated", classYAML + "---\n\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n",
			[]string{"1 " + class, "7 Secret/default/s"}},
		{"a custom kind", "apiVersion: example.com/v1\nkind: Vault\nmetadata: {name: v}\n", []string{"1 Vault.example.com/v"}},
		{"a list of custom objects", "apiVersion: example.com/v1\nkind: VaultList\nitems: [{apiVersion: example.com/v1, kind: Vault, metadata: {name: v}}]\n",
			[]string{"1 Vault.example.com/v"}},
		{"unknown metadata", "apiVersion: v1\nkind: Secret\nmetadata: {nam: s}\n", []string{`1: Secret: unknown field "metadata.nam"`}},
		{"an unknown kind", classYAML + "---\n\napiVersion: v1\nkind: Vault\n", []string{"1 " + class, `7: no matches for kind "Vault" in version "v1"`}},
		{"a kind of another version", "apiVersion: storage.k8s.io/v1beta1\nkind: StorageClass\n",
			[]string{`1: no matches for kind "StorageClass" in version "storage.k8s.io/v1beta1"`}},
		{"a kind of another group", "apiVersion: v1\nkind: StorageClass\n", []string{`1: no matches for kind "StorageClass" in version "v1"`}},
		{"a core kind in another group", "apiVersion: storage.k8s.io/v1\nkind: PersistentVolumeClaim\n",
			[]string{`1: no matches for kind "PersistentVolumeClaim" in version "storage.k8s.io/v1"`}},
		{"no kind", "apiVersion: v1", []string{"1: kind is missing"}},
		{"no apiVersion", "kind: Pod", []string{"1: apiVersion is missing"}},
		{"neither kind nor apiVersion", "a: b", []string{"1: apiVersion and kind are missing"}},
		{"a kind that is no text", "apiVersion: v1\nkind: [Pod]", []string{"1: kind is not a string"}},
		{"no object", "just text", []string{"1: not an object; a manifest needs the fields apiVersion and kind"}},
		{"null", "---\nnull\n---\n~", []string{"2: not an object; a manifest needs the fields apiVersion and kind",
			"4: not an object; a manifest needs the fields apiVersion and kind"}},
		{"an unknown field", classYAML + "colour: red\n", []string{`1: StorageClass: unknown field "colour"`}},
		{"another case", "---\n" + strings.Replace(classYAML, "provisioner", "Provisioner", 1), []string{`2: StorageClass: unknown field "Provisioner"`}},
		{"a field that comes twice", classYAML + "---\n" + classYAML + "provisioner: other\n",
			[]string{"1 " + class, "6: yaml: unmarshal errors:\n  line 10: key \"provisioner\" already set in map"}},
		{"a field of JSON that comes twice", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","name":"b"}}`,
			[]string{`1: Node: duplicate field "metadata.name"`}},
		{"a list with a field twice", `{"kind":"List","items":[],"items":[]}`, []string{`1: List: duplicate field "items"`}},
		{"a list with a field too many", `{"kind":"List","item":[]}`, []string{`1: List: unknown field "item"`}},
		{"a bad item", `{"kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}},7,{"kind":"Pod"}]}`,
			[]string{"1 Node/n1", "1: item 1: not an object; a manifest needs the fields apiVersion and kind", "1: item 2: apiVersion is missing"}},
		{"no YAML", classYAML + "---\n# hm\na: b\nc: d: e\n", []string{"1 " + class, "7: yaml: line 8: mapping values are not allowed in this context"}},
		{"no YAML in the first line", classYAML + "---\n\t@\n", []string{"1 " + class, "6: yaml: line 6: a tab in the indentation; YAML is indented with blanks"}},
		{"a tab before a field", classYAML + "---\nkind: Pod\nmetadata:\n\tname: x\n",
			[]string{"1 " + class, "6: yaml: line 8: a tab in the indentation; YAML is indented with blanks"}},
		{"a tab after blanks", "kind: Pod\nmetadata:\n  name: x\n  \tlabels: {}\n",
			[]string{"1: yaml: line 4: a tab in the indentation; YAML is indented with blanks"}},
		{"a type that does not fit", strings.Replace(claimJSON, `["ReadWriteOnce"]`, `7`, 1),
			[]string{"1: PersistentVolumeClaim: json: cannot unmarshal number into Go struct field PersistentVolumeClaimSpec.spec.accessModes " +
				"of type []v1.PersistentVolumeAccessMode"}},
		{"not UTF-8", "a: b\n---\nc: d\ne: \xff\n", []string{"1: apiVersion and kind are missing", "3: line 4: not UTF-8"}},
		{"an alias", "apiVersion: &v v1\nkind: Node\nmetadata: {name: *v}\n", []string{"1 Node/v1"}},
		{"an alias of nothing", "a: *b", []string{"1: yaml: unknown anchor 'b' referenced"}},
		{"an alias of itself", "a: &a [*a]", []string{"1: yaml: anchor 'a' value contains itself"}},
		{"an endless quantity", strings.Replace(claimJSON, `"5Gi"`, `"1e999999999"`, 1),
			[]string{`1: PersistentVolumeClaim: spec: resources: requests: storage: quantity "1e999999999": the exponent is out of range; use at most 999`}},
		{"an endless number", strings.Replace(claimJSON, `"5Gi"`, `1E-999999999`, 1),
			[]string{`1: PersistentVolumeClaim: spec: resources: requests: storage: quantity "1E-999999999": the exponent is out of range; use at most 999`}},
		{"a number out of range", `{"apiVersion":"v1","kind":"Pod","spec":{"terminationGracePeriodSeconds":99999999999999999999}}`,
			[]string{"1: Pod: json: cannot unmarshal number 99999999999999999999 into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64"}},
		{"infinity", "apiVersion: v1\nkind: Pod\nspec: {priority: .inf}", []string{"1: json: unsupported value: +Inf"}},
		{"no quantity", strings.Replace(claimJSON, `"5Gi"`, `"lots"`, 1), []string{"1: PersistentVolumeClaim: quantities must match the regular expression " +
			`'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, refs(manifests.Scan([]byte(test.data))))
		})
	}
}

func TestReadManifests(t *testing.T) {
	objs, err := manifests.Read([]byte(classYAML + "---\n" + claimJSON))
	require.NoError(t, err)
	require.Len(t, objs, 2)
	c := objs[1].(*corev1.PersistentVolumeClaim)
	assert.Equal(t, "default", c.Namespace)
	assert.Equal(t, "5Gi", c.Spec.Resources.Requests.Storage().String())

	_, err = manifests.Read([]byte(classYAML + "---\napiVersion: v1\nkind: Vault\n"))
	require.ErrorIs(t, err, api.ErrUnknownKind)
	assert.EqualError(t, err, `line 6: no matches for kind "Vault" in version "v1"`)

	huge, err := manifests.Read([]byte(strings.Replace(claimJSON, `"5Gi"`, `1e999`, 1)))
	require.NoError(t, err, "huge, but a number")
	_, err = store.New(store.Config{}).Create(huge[0])
	require.NoError(t, err)
}

// TestBombs: a small manifest that expands to a huge one is rejected quickly.
func TestBombs(t *testing.T) {
	var aliases, texts strings.Builder
	aliases.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		fmt.Fprintf(&aliases, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	fmt.Fprintf(&texts, "a: &a %s\nb: [%s]\n", strings.Repeat("x", 1<<20), strings.TrimSuffix(strings.Repeat("*a, ", 5000), ", "))
	for name, data := range map[string]string{
		"aliases of aliases":     aliases.String(),
		"aliases of a long text": texts.String(),
		"lists of lists":         strings.Repeat(`{"kind":"List","items":[`, 9000) + strings.Repeat(`]}`, 9000),
		"lists in YAML":          strings.Repeat("[", 100_000),
		"objects in JSON":        strings.Repeat(`{"a":`, 100_000),
		"deep and valid":         strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000),
	} {
		_, err := manifests.Read([]byte(data))
		require.Error(t, err, name)
		assert.Less(t, len(err.Error()), 1000, name)
		assert.False(t, errors.Is(err, api.ErrUnknownKind), name)
	}
	_, err := manifests.Read([]byte(texts.String()))
	assert.EqualError(t, err, "line 1: aliases make the document larger than 16 MiB")
	_, err = manifests.Read([]byte(strings.Repeat(`{"kind":"List","items":[`, 10) + strings.Repeat(`]}`, 10)))
	assert.ErrorContains(t, err, "lists are nested more than 8 deep")
}

// TestTextAfterObjects: what follows an object in its document is read, or is an error in its line.
func TestTextAfterObjects(t *testing.T) {
	const node = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"%s"}}`
	one, two := fmt.Sprintf(node, "n1"), fmt.Sprintf(node, "n2")
	for _, text := range []string{one + two, one + "\n\n" + two, one + " # first\n# second\n" + two + "\n#\n"} {
		objs, err := manifests.Read([]byte(text))
		require.NoError(t, err, text)
		assert.Len(t, objs, 2, text)
	}
	for text, want := range map[string]string{
		one + "\nhello: world\n" + two: `line 2: want a JSON object after the one before, got "hello: world"`,
		one + "\n\n" + two[:20]:        `line 3: want a JSON object after the one before, got "{\"apiVersion\":\"v1\",\"`,
		"{apiVersion: v1, kind: Node, metadata: {name: n1}}\n" + two: `line 2: want the end of the document after its object, got ` +
			`"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n2\"}}"`,
		" apiVersion: v1\n kind: Node\n metadata: {name: n1}\nhello: world\n": `line 4: want the end of the document after its object, got "hello: world"`,
	} {
		_, err := manifests.Read([]byte(text))
		assert.ErrorContains(t, err, want)
	}
}

func TestManyDocuments(t *testing.T) {
	var data strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&data, "---\napiVersion: v1\nkind: Node\nmetadata: {name: n%d}\n", i)
	}
	objs, err := manifests.Read([]byte(data.String()))
	require.NoError(t, err)
	assert.Len(t, objs, 5000)
}
