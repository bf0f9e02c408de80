package script

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// TestDocuments checks that the document of each object that the lessons write is its JSON.
func TestDocuments(t *testing.T) {
	lessons, err := filepath.Glob("../../../examples/*/lesson.txtar")
	require.NoError(t, err)
	objects := 0
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
			obj := e.New.DeepCopyObject().(api.Object)
			doc := documentOf(obj)
			require.Equal(t, documentOfJSON(obj), doc, "%s: %s", name, e.Object)
		}
		result.Cluster.Close()
	}
	require.Greater(t, objects, 500)
}
