package manifests_test

import (
	"bytes"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/manifests"
	"github.com/volsim/volsim/internal/core/store"
)

// FuzzManifests: any bytes give an error or objects, and a store accepts or rejects each object.
func FuzzManifests(f *testing.F) {
	for _, seed := range []string{"", classYAML, claimJSON, "---\n" + classYAML + "--- # x\n" + claimJSON, "a: &a [*a]", "{",
		"%YAML 1.1\n---\n~",
		`{"kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","generateName":"n-"}}]}`, "? {a: b}\n: c", "<<: {a: b}",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: b}], volumes: [{name: v, ephemeral: {}}]}\n",
		"apiVersion: v1\nkind: PersistentVolume\nmetadata: {generateName: p}\nspec: {capacity: {storage: 1e99}, hostPath: {path: /}}\n",
		"apiVersion: v1\nkind: Event\nmetadata: {name: e}\n", "!!binary x", "\xef\xbb\xbfa", "\x00", "- 1\n...\n- 2\n",
		"apiVersion: 0/\nkind: A", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n",
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n",
		"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.g.io}\n" +
			"spec: {group: g.io, scope: Namespaced, names: {kind: A, plural: as}, versions: [{name: v1, served: true, storage: true, " +
			"schema: {openAPIV3Schema: {type: object}}}]}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		found := manifests.Scan(data)
		objs, err := manifests.Read(data)
		lines := bytes.Count(data, []byte("\n")) + 1
		bad := false
		for _, m := range found {
			if m.Line < 1 || m.Line > lines {
				t.Fatalf("line %d of %d", m.Line, lines)
			}
			if (m.Err == nil) == (m.Object == nil) {
				t.Fatalf("object %v and error %v", m.Object, m.Err)
			}
			bad = bad || m.Err != nil
		}
		if bad != (err != nil) || !bad && len(objs) != len(found) {
			t.Fatalf("Read: %d objects, %v; Scan: %d", len(objs), err, len(found))
		}
		s := store.New(store.Config{})
		for _, obj := range objs {
			before := s.Version()
			stored, err := s.Create(obj)
			if err != nil {
				_, answered := err.(apierrors.APIStatus)
				if !answered && !errors.Is(err, api.ErrUnknownKind) || s.Version() != before {
					t.Fatalf("create: %T %v, version %d after %d", err, err, s.Version(), before)
				}
				_, _ = s.Load(obj)
				continue
			}
			if _, err := s.Update(stored); err != nil {
				t.Fatalf("what was taken is refused when it comes again: %v", err)
			}
			if s.Version() != before+1 {
				t.Fatalf("API-014: the same again is a write: %v", stored)
			}
		}
	})
}
