package trace

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/volsim/volsim/api"
)

// FieldChange is one field that differs between two versions of an object.
type FieldChange struct {
	// Path of the field as in a manifest: spec.claimRef.name, status.conditions[0].type, or
	// metadata.annotations[pv.kubernetes.io/bind-completed] for a key with special characters.
	Path string
	// Old and New are the values as compact JSON; "" if the field is absent.
	Old, New string
}

// String returns the change as "path old -> new". Plain words have no quotes; an absent value is "none".
func (c FieldChange) String() string { return c.Path + " " + plain(c.Old) + " -> " + plain(c.New) }

// plain removes the quotes of a JSON string that is unambiguous without them.
func plain(value string) string {
	if value == "" {
		return "none"
	}
	if len(value) < 3 || value[0] != '"' || value == `"none"` {
		return value
	}
	word := value[1 : len(value)-1]
	if json.Valid([]byte(word)) || strings.ContainsAny(word, " \\,") {
		return value
	}
	return word
}

// Changes returns the fields that differ between two versions of an object, sorted by path. Either may be nil: then all fields of the
// other are added, or removed. Lists of objects of equal length are compared element by element; other lists are one value. The
// resourceVersion and managedFields are ignored, because they differ after every write.
func Changes(old, new api.Object) []FieldChange {
	if old == new {
		return nil
	}
	a, b := document(old), document(new)
	withoutVersion(a)
	withoutVersion(b)
	var changes []FieldChange
	compareMaps("", a, b, &changes)
	slices.SortStableFunc(changes, func(x, y FieldChange) int { return strings.Compare(x.Path, y.Path) })
	return changes
}

func compareMaps(path string, a, b map[string]any, changes *[]FieldChange) {
	for key, x := range a {
		y, ok := b[key]
		compare(join(path, key), x, y, true, ok, changes)
	}
	for key, y := range b {
		if _, ok := a[key]; !ok {
			compare(join(path, key), nil, y, false, true, changes)
		}
	}
}

// compare appends the differences between two values; hasA and hasB say whether they exist.
func compare(path string, a, b any, hasA, hasB bool, changes *[]FieldChange) {
	mapA, isMapA := a.(map[string]any)
	mapB, isMapB := b.(map[string]any)
	if (isMapA || !hasA) && (isMapB || !hasB) && len(mapA)+len(mapB) > 0 {
		compareMaps(path, mapA, mapB, changes)
		return
	}
	listA, isListA := a.([]any)
	listB, isListB := b.([]any)
	if isListA && isListB && len(listA) == len(listB) && objects(listA) && objects(listB) {
		for i := range listA {
			compare(path+"["+strconv.Itoa(i)+"]", listA[i], listB[i], true, true, changes)
		}
		return
	}
	if hasA == hasB && reflect.DeepEqual(a, b) {
		return
	}
	change := FieldChange{Path: path}
	if hasA {
		change.Old = compact(a)
	}
	if hasB {
		change.New = compact(b)
	}
	*changes = append(*changes, change)
}

// objects reports whether all elements are JSON objects.
func objects(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool { _, ok := v.(map[string]any); return !ok })
}

func join(path, key string) string {
	for i := range len(key) {
		if c := key[i]; c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return path + "[" + key + "]"
		}
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// patchBetween returns the JSON merge patch (RFC 7386) from a to b. It may share values with b: read only.
func patchBetween(a, b map[string]any) map[string]any {
	patch := map[string]any{}
	for key, y := range b {
		x, ok := a[key]
		mapX, isMapX := x.(map[string]any)
		mapY, isMapY := y.(map[string]any)
		if isMapX && isMapY {
			if inner := patchBetween(mapX, mapY); len(inner) > 0 {
				patch[key] = inner
			}
		} else if !ok || !reflect.DeepEqual(x, y) {
			patch[key] = y
		}
	}
	for key := range a {
		if _, ok := b[key]; !ok {
			patch[key] = nil
		}
	}
	return patch
}

// document returns the object as decoded JSON, nil for nil.
func document(obj api.Object) map[string]any {
	if obj == nil {
		return nil
	}
	data, err := json.Marshal(obj)
	if err != nil {
		panic("trace: an object of the API cannot be written as JSON: " + err.Error())
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var doc map[string]any
	if err := decoder.Decode(&doc); err != nil {
		panic("trace: an object of the API is no JSON object: " + err.Error())
	}
	return doc
}

func withoutVersion(doc map[string]any) {
	if meta, ok := doc["metadata"].(map[string]any); ok {
		delete(meta, "resourceVersion")
		delete(meta, "managedFields")
	}
}

// compact returns the value as JSON on one line, with sorted keys and without HTML escapes.
func compact(value any) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic("trace: what came from JSON cannot be written as JSON: " + err.Error())
	}
	return strings.TrimSuffix(out.String(), "\n")
}
