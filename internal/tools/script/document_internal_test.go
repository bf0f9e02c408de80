package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/document"
	"github.com/volsim/volsim/internal/tools/jsonpath"
	"github.com/volsim/volsim/trace"
)

// TestDocuments checks that the document of each object that the lessons write is its JSON, and that a path selects the same in it, whether
// it was decoded or not.
func TestDocuments(t *testing.T) {
	lessons, err := filepath.Glob("../../../examples/*/lesson.txtar")
	require.NoError(t, err)
	objects, paths := 0, 0
	for _, name := range lessons {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		s, err := Parse(name, data)
		require.NoError(t, err)
		result, _ := Run(s, Options{Continue: true})
		for e := range result.Cluster.Trace().Entries() {
			if e.Type != trace.Write || e.New == nil {
				continue
			}
			objects++
			stored := e.New.DeepCopyObject()
			doc := document.Of(e.New)
			require.Equal(t, stored, e.New.DeepCopyObject(), "what is stored is left alone")
			withType := e.New.DeepCopyObject().(api.Object)
			if withType.GetObjectKind().GroupVersionKind().Empty() {
				document.SetType(withType)
			}
			require.Equal(t, decodedJSON(t, withType), doc, "%s: %s", name, e.Object)
			typed := jsonpath.NewDocument(e.New)
			for _, text := range pathsOf("", doc, nil) {
				p, err := jsonpath.Read(text)
				require.NoError(t, err)
				require.Equal(t, p.Find(doc), typed.Find(p), "%s: %s: %s", name, e.Object, text)
				paths++
			}
			if kind := e.Object.Kind; shorthands[kind] != nil {
				for _, word := range append(fieldNames(kind), "condition.Ready", "condition.resizing") {
					read, err := fieldOf(kind, word)
					require.NoError(t, err)
					decoded := jsonpath.NewDocument(&unstructured.Unstructured{Object: doc})
					require.Equal(t, read(decoded), read(typed), "%s: %s: %s", name, e.Object, word)
				}
			}
		}
		result.Cluster.Close()
	}
	require.Greater(t, objects, 500)
	require.Greater(t, paths, 20_000)
}

// decodedJSON returns the decoded JSON of an object.
func decodedJSON(t *testing.T, obj api.Object) (doc map[string]any) {
	data, err := json.Marshal(obj)
	require.NoError(t, err)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&doc))
	return doc
}

// pathsOf returns the paths of a document, and some that it does not have.
func pathsOf(at string, v any, paths []string) []string {
	switch v := v.(type) {
	case map[string]any:
		paths = append(paths, at+".none")
		for _, key := range slices.Sorted(maps.Keys(v)) {
			next := fmt.Sprintf("%s['%s']", at, key)
			paths = pathsOf(next, v[key], append(paths, next))
		}
	case []any:
		paths = append(paths, at+"[*]", at+"[-1]", at+"[7]", at+"[*].name", at+`[?(@.type=="Ready")].status`)
		for i, element := range v {
			next := fmt.Sprintf("%s[%d]", at, i)
			paths = pathsOf(next, element, append(paths, next))
		}
	}
	return paths
}
