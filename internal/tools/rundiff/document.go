package rundiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/volsim/volsim/api"
)

// Field is a field that differs. A and B are its values as decoded JSON; nil where it is absent.
type Field struct {
	Path string `json:"path"`
	A    any    `json:"a,omitempty"`
	B    any    `json:"b,omitempty"`
}

// ignoredFields are fields that differ between any two clusters, at any level.
var ignoredFields = map[string]bool{"resourceVersion": true, "generation": true, "observedGeneration": true, "managedFields": true,
	"kubectl.kubernetes.io/last-applied-configuration": true}

// sets are lists whose order does not matter.
var sets = map[string]bool{"finalizers": true, "accessModes": true, "volumesInUse": true}

// identity is a volume attribute that begins with the start time of the provisioner.
const identity = "storage.kubernetes.io/csiProvisionerIdentity"

// someTime replaces each time in a document.
const someTime = "(a time)"

// document returns the object as decoded JSON, without ignored fields. n translates names; nil translates none.
func document(obj api.Object, n *names) (map[string]any, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", api.RefTo(obj), err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var doc map[string]any
	if err := decoder.Decode(&doc); err != nil {
		return nil, fmt.Errorf("%s: %w", api.RefTo(obj), err)
	}
	if meta, ok := doc["metadata"].(map[string]any); ok {
		delete(meta, "uid")
		delete(meta, "creationTimestamp")
	}
	delete(doc, "kind")
	delete(doc, "apiVersion")
	doc, _ = neutral("", doc, n).(map[string]any)
	return doc, nil
}

// neutral returns a value without ignored fields; nil if nothing remains.
func neutral(key string, value any, n *names) any {
	switch value := value.(type) {
	case map[string]any:
		left := map[string]any{}
		for name, inner := range value {
			if inner = neutral(name, inner, n); inner != nil && !ignoredFields[name] {
				left[name] = inner
			}
		}
		if len(left) > 0 {
			return left
		}
		return nil
	case []any:
		left := make([]any, 0, len(value))
		for _, item := range value {
			left = append(left, neutral("", item, n))
		}
		if sets[key] {
			slices.SortFunc(left, func(x, y any) int { return strings.Compare(fmt.Sprint(x), fmt.Sprint(y)) })
		}
		return left
	case string:
		if _, err := time.Parse(time.RFC3339, value); err == nil {
			return someTime
		}
		if key == identity {
			_, driver, _ := strings.Cut(value, "-")
			return someTime + "-" + driver
		}
		if n != nil {
			return n.translate(value)
		}
	}
	return value
}

// fields returns the differences between two documents, by path.
func fields(a, b map[string]any) []Field {
	var all []Field
	compareMaps("", a, b, &all)
	return all
}

func compareMaps(path string, a, b map[string]any, all *[]Field) {
	for _, key := range keysOf(a, b) {
		compareValues(dotted(path, key), a[key], b[key], all)
	}
}

// compareElements compares elements of two lists. An element that only one list has is reported as a whole.
func compareElements(path string, a, b map[string]any, all *[]Field) {
	for _, key := range keysOf(a, b) {
		if path := bracketed(path, key); a[key] != nil && b[key] != nil {
			compareValues(path, a[key], b[key], all)
		} else {
			*all = append(*all, Field{Path: path, A: a[key], B: b[key]})
		}
	}
}

func keysOf(a, b map[string]any) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

func compareValues(path string, a, b any, all *[]Field) {
	mapA, isMapA := a.(map[string]any)
	mapB, isMapB := b.(map[string]any)
	if (isMapA || a == nil) && (isMapB || b == nil) && len(mapA)+len(mapB) > 0 {
		compareMaps(path, mapA, mapB, all)
		return
	}
	listA, isListA := a.([]any)
	listB, isListB := b.([]any)
	if isListA && isListB {
		if byNameA, byNameB, ok := byName(listA, listB); ok {
			compareElements(path, byNameA, byNameB, all)
			return
		}
	}
	if !reflect.DeepEqual(a, b) {
		*all = append(*all, Field{Path: path, A: a, B: b})
	}
}

// byName returns the elements of two lists of objects by their type, name or key; if they have none and the lists have equal lengths, by
// index.
func byName(a, b []any) (byNameA, byNameB map[string]any, ok bool) {
	for _, name := range []string{"type", "name", "key"} {
		byNameA, okA := named(a, name)
		byNameB, okB := named(b, name)
		if okA && okB {
			return byNameA, byNameB, true
		}
	}
	byNameA, byNameB = map[string]any{}, map[string]any{}
	for i := range min(len(a), len(b)) {
		_, isMapA := a[i].(map[string]any)
		_, isMapB := b[i].(map[string]any)
		if !isMapA || !isMapB {
			return nil, nil, false
		}
		byNameA[strconv.Itoa(i)], byNameB[strconv.Itoa(i)] = a[i], b[i]
	}
	return byNameA, byNameB, len(a) == len(b)
}

func named(list []any, name string) (map[string]any, bool) {
	all := map[string]any{}
	for _, item := range list {
		fields, _ := item.(map[string]any)
		key, ok := fields[name].(string)
		if !ok || all[key] != nil {
			return nil, false
		}
		all[key] = item
	}
	return all, true
}

// dotted returns the path of a field, as in a manifest.
func dotted(path, key string) string {
	plain := !strings.ContainsFunc(key, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	switch {
	case !plain:
		return bracketed(path, key)
	case path == "":
		return key
	}
	return path + "." + key
}

func bracketed(path, key string) string { return path + "[" + key + "]" }
