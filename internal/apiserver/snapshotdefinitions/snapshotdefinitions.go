// Package snapshotdefinitions has the CustomResourceDefinitions of external-snapshotter, which say what the kinds of snapshots look like in a
// served cluster. They take effect without being stored.
package snapshotdefinitions

import (
	"bytes"
	_ "embed"
	"fmt"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/internal/core/plain"
)

//go:embed snapshot.yaml
var snapshot []byte

//go:embed groupsnapshot.yaml
var groupSnapshot []byte

// Of returns the definition with a name such as volumesnapshots.snapshot.storage.k8s.io, or nil if the name is another. Callers must not
// change it.
func Of(name string) *plain.Object { return definitions()[name] }

var definitions = sync.OnceValue(func() map[string]*plain.Object {
	byName := map[string]*plain.Object{}
	for _, file := range [][]byte{snapshot, groupSnapshot} {
		for _, document := range bytes.Split(file, []byte("\n---\n"))[1:] {
			var obj plain.Object
			if err := yaml.Unmarshal(document, &obj); err != nil {
				panic(fmt.Sprintf("snapshotdefinitions: %v", err)) // TestDefinitions reads both files
			}
			byName[obj.Name] = &obj
		}
	}
	return byName
})
