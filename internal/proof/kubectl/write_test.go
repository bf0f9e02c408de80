package kubectl

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// kinds are those whose objects TestWriting compares.
const kinds = "ns,nodes,pv,pvc,sc,pods,cm,secrets,sa,quota,deploy,sts,rs,ds,jobs,cj,pdb,pc,svc,backups,vs,vac"

// TestWriting carries out each command line with kubectl in one cluster and in a script in another one that equals it. The messages and the
// objects must be equal afterwards; of the objects all but status, managedFields, versions, uids and what kubectl apply notes.
func TestWriting(t *testing.T) {
	dir, err := filepath.Abs("testdata/compare")
	require.NoError(t, err)
	start := time.Now().UTC().Truncate(time.Second).Add(-age)
	theirs, ours := newPair(t, dir, start), newPair(t, dir, start)
	requireSame(t, theirs.state(t), ours.state(t))
	lines := commandLines(t, filepath.Join(dir, "writing.txt"))
	for _, line := range lines {
		t.Run(line, func(t *testing.T) {
			requireSame(t, introduced(theirs.theirs(line)), introduced(ours.ours(t, line)))
			if a, b := theirs.state(t), ours.state(t); a != b {
				requireSame(t, a, b)
				t.FailNow()
			}
		})
	}
	t.Logf("%d command lines compared", len(lines))
}

// state returns the objects of a cluster as far as TestWriting compares them.
func (p *pair) state(t *testing.T) string {
	t.Helper()
	var list struct{ Items []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(p.ours(t, "get "+kinds+" -A -o json")), &list))
	var out strings.Builder
	for _, obj := range list.Items {
		delete(obj, "status")
		meta := obj["metadata"].(map[string]any)
		for _, field := range []string{"uid", "resourceVersion", "ownerReferences"} {
			delete(meta, field)
		}
		if annotations, ok := meta["annotations"].(map[string]any); ok {
			if delete(annotations, "kubectl.kubernetes.io/last-applied-configuration"); len(annotations) == 0 {
				delete(meta, "annotations")
			}
		}
		data, err := json.MarshalIndent(obj, "", " ")
		require.NoError(t, err)
		out.Write(append(data, '\n'))
	}
	return out.String()
}
