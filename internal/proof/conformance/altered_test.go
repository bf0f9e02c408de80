package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/conformance"
)

// alterable is the number of scenarios that TestAltered alters.
const alterable = 25

// absentFields are values for optional fields of an observed object.
var absentFields = map[string]any{
	"namespace": "nowhere", "uid": "none", "hasMessage": true, "hasReason": true, "deleting": true,
	"claimRef": map[string]any{"namespace": "nowhere", "name": "none"}, "volumeName": "none",
	"annotations": map[string]any{"pv.kubernetes.io/none": "yes"},
	"capacity":    "3Gi", "request": "3Gi", "accessModes": []any{"ReadWriteMany"}, "storageClassName": "none", "reclaimPolicy": "Retain",
	"volumeAttributesClassName": "none",
}

// TestAltered alters recordings, one value at a time; none of the altered recordings may pass.
func TestAltered(t *testing.T) {
	files, err := filepath.Glob("testdata/pv*.jsonl.gz")
	require.NoError(t, err)
	var docs []map[string]any
	for _, file := range files {
		read, err := conformance.ReadLines[map[string]any](file)
		require.NoError(t, err)
		docs = append(docs, read...)
	}
	changes := 0
	for _, doc := range sample(docs) {
		s := decode[conformance.Scenario](t, doc)
		got, err := s.Run(conformance.Options{})
		require.NoError(t, err, s.Name)
		require.Empty(t, s.Check(got), s.Name)
		recorded := doc["observations"]
		if s.Racy {
			recorded = outcomeOf(t, s, doc, got)
		}
		for i, observation := range recorded.([]any) {
			first := true
			alter(observation.(map[string]any), func(path string) {
				changes++
				observed := decode[conformance.Observation](t, observation)
				if len(conformance.Compare([]conformance.Observation{observed}, got[i:i+1])) == 0 {
					t.Errorf("%s: passes with observations[%d]%s altered", s.Name, i, path)
				}
				if !first {
					return
				}
				first = false
				other := s
				other.Observations = decode[[]conformance.Observation](t, recorded)
				other.Outcomes = []conformance.Outcome{{Observations: other.Observations}}
				if len(other.Check(got)) == 0 {
					t.Errorf("%s: the scenario passes with observations[%d]%s altered", s.Name, i, path)
				}
			})
		}
	}
	require.Greater(t, changes, 100*alterable)
}

// outcomeOf returns the recorded outcome of a racy scenario that was seen.
func outcomeOf(t *testing.T, s conformance.Scenario, doc map[string]any, got []conformance.Observation) any {
	t.Helper()
	i := slices.IndexFunc(s.Outcomes, func(o conformance.Outcome) bool { return len(conformance.Compare(o.Observations, got)) == 0 })
	require.GreaterOrEqual(t, i, 0)
	return doc["outcomes"].([]any)[i].(map[string]any)["observations"]
}

// sample picks scenarios that together contain every sort of recorded value, and some more.
func sample(docs []map[string]any) []map[string]any {
	covered := map[string]bool{}
	var chosen, rest []map[string]any
	for _, doc := range docs {
		news := false
		for _, sort := range sorts(doc) {
			news = news || !covered[sort]
			covered[sort] = true
		}
		if news {
			chosen = append(chosen, doc)
		} else {
			rest = append(rest, doc)
		}
	}
	for i := 0; len(chosen) < alterable; i++ {
		chosen = append(chosen, rest[i*len(rest)/alterable])
	}
	return chosen
}

var index = regexp.MustCompile(`\[[0-9]+\]`)

// sorts returns the paths of the recorded values, without indexes.
func sorts(doc map[string]any) []string {
	found := map[string]bool{}
	recorded := map[string]any{"observations": doc["observations"], "outcomes": doc["outcomes"]}
	walk(recorded, "", func(path string, _ any, _ func(any)) {
		path = index.ReplaceAllString(path, "[]")
		if i := strings.Index(path, ".objectWrites."); i >= 0 {
			path = path[:i+len(".objectWrites.")]
		}
		found[path] = true
	})
	return slices.Sorted(maps.Keys(found))
}

// walk visits a JSON value and everything in it; set replaces the visited value.
func walk(node any, path string, visit func(path string, node any, set func(any))) {
	switch node := node.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			value := node[key]
			set := func(v any) { node[key] = v }
			visit(path+"."+key, value, set)
			walk(value, path+"."+key, visit)
		}
	case []any:
		for i, value := range node {
			visit(fmt.Sprintf("%s[%d]", path, i), value, func(v any) { node[i] = v })
			walk(value, fmt.Sprintf("%s[%d]", path, i), visit)
		}
	}
}

// alter calls check once for each change: another value of a leaf, a removed or added list element, a removed or added field. The
// recording ends unchanged.
func alter(doc map[string]any, check func(path string)) {
	walk(doc, "", func(path string, node any, set func(any)) {
		try := func(what string, v any) {
			set(v)
			check(path + what)
			set(node)
		}
		switch value := node.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				if !removable(key, value[key]) {
					continue
				}
				less := maps.Clone(value)
				delete(less, key)
				try(" without "+key, less)
			}
			if strings.Contains(path, ".objects[") && value["kind"] != nil {
				for _, key := range slices.Sorted(maps.Keys(absentFields)) {
					if _, has := value[key]; !has {
						more := maps.Clone(value)
						more[key] = absentFields[key]
						try(" with "+key, more)
					}
				}
			}
		case []any:
			for i := range value {
				try(fmt.Sprintf(" without [%d]", i), slices.Delete(slices.Clone(value), i, i+1))
			}
			if len(value) == 0 {
				var more any = "none"
				switch path[strings.LastIndexByte(path, '.')+1:] {
				case "events":
					more = []any{"PersistentVolume", "none", "Normal", "None"}
				case "objects", "persistentVolumes", "persistentVolumeClaims":
					more = map[string]any{"kind": "PersistentVolume"}
				}
				try(" with one more", []any{more})
			}
		default:
			try("", altered(path, value))
		}
	})
}

// removable reports whether removing the field changes the meaning of the observation. Without writes it says nothing about them, and an
// empty list means the same as none.
func removable(key string, value any) bool {
	if list, ok := value.([]any); ok && len(list) == 0 {
		return false
	}
	return key != "writes" && key != "objectWrites" && key != "step"
}

// altered returns another value of the same type.
func altered(path string, value any) any {
	switch value := value.(type) {
	case bool:
		return !value
	case float64:
		return value + 1000
	case string:
		for _, amount := range []string{".capacity", ".request", ".storage"} {
			if strings.HasSuffix(path, amount) {
				return "7" + value
			}
		}
		return value + "-altered"
	}
	return "altered"
}

// decode reads a JSON value as a T.
func decode[T any](t *testing.T, doc any) T {
	t.Helper()
	data, err := json.Marshal(doc)
	require.NoError(t, err)
	var v T
	require.NoError(t, json.Unmarshal(data, &v))
	return v
}
