package definition

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Lists of custom objects: those of type set have no equal items, and those of type map no items with equal keys. The keys also tell which
// item of an object was which before an update.

// keys returns the fields that identify an item of a list of type map. ok is false for other lists.
func (n Schema) keys() (names []string, ok bool) {
	if n["x-kubernetes-list-type"] != "map" {
		return nil, false
	}
	list, _ := n["x-kubernetes-list-map-keys"].([]any)
	for _, name := range list {
		if text, isText := name.(string); isText {
			names = append(names, text)
		}
	}
	return names, true
}

// keyOf returns the fields of an item that identify it.
func keyOf(item map[string]any, names []string) map[string]any {
	key := map[string]any{}
	for _, name := range names {
		if value, ok := item[name]; ok {
			key[name] = value
		}
	}
	return key
}

// Duplicates returns an error for each item that a list of type set or map has twice (API-328).
func (n Schema) Duplicates(value any, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch value := value.(type) {
	case map[string]any:
		properties, others := n.Child("properties"), n.Child("additionalProperties")
		for _, name := range slices.Sorted(maps.Keys(value)) {
			child := properties.Child(name)
			if child == nil {
				child = others
			}
			if child != nil {
				errs = append(errs, child.Duplicates(value[name], childOf(path, name))...)
			}
		}
	case []any:
		items := n.Child("items")
		errs = append(errs, n.duplicateItems(value, path)...)
		for i := range value {
			if items != nil {
				errs = append(errs, items.Duplicates(value[i], path.Index(i))...)
			}
		}
	}
	return errs
}

func childOf(path *field.Path, name string) *field.Path {
	if path == nil {
		return field.NewPath(name)
	}
	return path.Child(name)
}

// duplicateItems returns an error for each value, or key, that a list has more than once.
func (n Schema) duplicateItems(list []any, path *field.Path) field.ErrorList {
	names, isMap := n.keys()
	if !isMap && n["x-kubernetes-list-type"] != "set" {
		return nil
	}
	for i, item := range list {
		if _, ok := item.(map[string]any); isMap && item != nil && !ok {
			return field.ErrorList{field.Invalid(path.Index(i), item, "must be an object for an array of list-type map")}
		}
	}
	var errs field.ErrorList
	var seen, reported []any
	for i, item := range list {
		identity := item
		if isMap {
			fields, ok := item.(map[string]any)
			if !ok {
				continue
			}
			identity = keyOf(fields, names)
		}
		same := func(other any) bool { return reflect.DeepEqual(other, identity) }
		switch {
		case !slices.ContainsFunc(seen, same):
			seen = append(seen, identity)
		// API-328: a value that appears three times is one error.
		case !slices.ContainsFunc(reported, same):
			reported = append(reported, identity)
			errs = append(errs, field.Duplicate(path.Index(i), identity))
		}
	}
	return errs
}

// Ratcheted returns the errors that an update is to blame for (API-329): those about a value that it changes, or whose value before the update
// cannot be told.
func (n Schema) Ratcheted(errs field.ErrorList, value, old map[string]any) field.ErrorList {
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		return n.unchanged(err.Field, err.Type == field.ErrorTypeRequired, value, old)
	})
}

// unchanged reports whether the value at a path, or one that contains it, is the same as before. required says that the path ends with a field
// that is missing, so that its parent is what is wrong.
func (n Schema) unchanged(path string, required bool, value, old any) bool {
	if reflect.DeepEqual(value, old) {
		return true
	}
	switch value := value.(type) {
	case map[string]any:
		before, ok := old.(map[string]any)
		name, rest := n.nextField(path, value)
		if !ok || name == "" || required && rest == "" {
			return false
		}
		was, had := before[name]
		child := n.Property(name)
		if child == nil {
			child = n.Child("additionalProperties")
		}
		// API-329: a null in place of a field that was absent changes nothing.
		return (had || value[name] == nil) && child != nil && child.unchanged(rest, required, value[name], was)
	case []any:
		names, ok := n.keys()
		index, rest, found := itemOf(path)
		items := n.Child("items")
		if !ok || !found || index >= len(value) || items == nil {
			return false // items without keys may have moved
		}
		item, isObject := value[index].(map[string]any)
		before, _ := old.([]any)
		for _, other := range before {
			was, ok := other.(map[string]any)
			if ok && isObject && reflect.DeepEqual(keyOf(was, names), keyOf(item, names)) {
				return items.unchanged(rest, required, item, was)
			}
		}
	}
	return false
}

// nextField splits a path after its first field. Fields may have dots in their names, so they are compared with those that exist.
func (n Schema) nextField(path string, value map[string]any) (name, rest string) {
	path = strings.TrimPrefix(path, ".")
	consider := func(candidate string) {
		after, ok := strings.CutPrefix(path, candidate)
		if ok && len(candidate) > len(name) && (after == "" || after[0] == '.' || after[0] == '[') {
			name, rest = candidate, after
		}
	}
	for candidate := range value {
		consider(candidate)
	}
	for candidate := range n.Child("properties") {
		consider(candidate)
	}
	return name, rest
}

// itemOf splits a path that begins with an index.
func itemOf(path string) (index int, rest string, ok bool) {
	path, ok = strings.CutPrefix(path, "[")
	digits, rest, closed := strings.Cut(path, "]")
	if !ok || !closed || digits == "" || len(digits) > 9 {
		return 0, "", false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, "", false
		}
		index = 10*index + int(c-'0')
	}
	return index, rest, true
}
