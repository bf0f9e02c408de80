package picture

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// version is an object after a write.
type version struct {
	// Entry is the write, -1 for the version before the first one.
	Entry int `json:"entry"`
	// Full is the complete object, or Base the lane whose first version is edited; without either, the version before is edited.
	Full any  `json:"full,omitempty"`
	Base *int `json:"base,omitempty"`
	// Gone marks the deletion of the object.
	Gone bool   `json:"gone,omitempty"`
	Ops  []edit `json:"ops,omitempty"`
}

// edit sets the value at a path, or removes it: a list of keys and indexes, and the value if there is one.
type edit []any

// laneState is the state of a lane while the document is built.
type laneState struct {
	phase    int
	deleting bool
	seen     api.Object     // the newest version stored
	doc      map[string]any // the same as JSON has it
}

// version stores the object of a lane from an entry on; nil is its deletion.
func (b *builder) version(lane, entry int, obj api.Object) error {
	s, l := b.states[lane], b.doc.Lanes[lane]
	if objects.IsNil(obj) {
		if s.doc != nil {
			l.Versions = append(l.Versions, version{Entry: entry, Gone: true})
		}
		s.seen, s.doc = nil, nil
		return nil
	}
	if s.seen == obj {
		return nil
	}
	doc, err := documentOf(obj)
	if err != nil {
		return err
	}
	v := version{Entry: entry}
	switch {
	case s.doc != nil:
		v.Ops = edits(nil, s.doc, doc)
	default:
		b.first(&v, l.Kind, lane, doc)
	}
	s.seen, s.doc = obj, doc
	l.Versions = append(l.Versions, v)
	return nil
}

// first stores the first version of an object: complete, or as the difference to the first object of its kind.
func (b *builder) first(v *version, kind string, lane int, doc map[string]any) {
	v.Full = doc
	base, ok := b.bases[kind]
	if !ok {
		b.bases[kind] = prototype{lane, doc}
		return
	}
	ops := edits(nil, base.doc, doc)
	if length(ops) < length(doc) {
		v.Full, v.Base, v.Ops = nil, &base.lane, ops
	}
}

// prototype is the object to which others of its kind are compared.
type prototype struct {
	lane int
	doc  map[string]any
}

// length returns the size of a value in the page.
func length(value any) int {
	data, err := json.Marshal(value)
	if err != nil {
		return 0
	}
	return len(data)
}

// documentOf returns the object as a manifest shows it.
func documentOf(obj api.Object) (map[string]any, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", api.RefTo(obj), err)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", api.RefTo(obj), err)
	}
	return doc, nil
}

// edits returns the edits that turn a into b, in the order of paths. Lists of equal length are edited element by element.
func edits(path []any, a, b any) []edit {
	switch y := b.(type) {
	case map[string]any:
		if x, ok := a.(map[string]any); ok {
			return editsOfMaps(path, x, y)
		}
	case []any:
		if x, ok := a.([]any); ok && len(x) == len(y) {
			var all []edit
			for i := range y {
				all = append(all, edits(extended(path, i), x[i], y[i])...)
			}
			return all
		}
	}
	if reflect.DeepEqual(a, b) {
		return nil
	}
	return []edit{{path, b}}
}

func editsOfMaps(path []any, a, b map[string]any) []edit {
	var all []edit
	for _, key := range slices.Sorted(maps.Keys(a)) {
		if _, ok := b[key]; !ok {
			all = append(all, edit{extended(path, key)})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b)) {
		x, ok := a[key]
		if !ok {
			all = append(all, edit{extended(path, key), b[key]})
			continue
		}
		all = append(all, edits(extended(path, key), x, b[key])...)
	}
	return all
}

func extended(path []any, key any) []any { return append(slices.Clip(slices.Clone(path)), key) }
