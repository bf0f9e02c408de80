// Package damaged makes copies of objects in which one field is missing or has another value. Its tests load clusters with such objects, which no
// API server stores, and require that no controller panics or runs for ever.
package damaged

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Copies returns copies of an object in which one field is missing or has another value, each with a name. The name has the path of the field
// without the indexes of lists, so objects of a kind share names. Others returns the values that a field gets in place of its own.
func Copies(obj map[string]any, others func(field, value any) []any) iter.Seq2[string, map[string]any] {
	data, err := json.Marshal(obj)
	index := regexp.MustCompile(` \d+`)
	return func(yield func(string, map[string]any) bool) {
		if err != nil {
			panic(err) // the object is no JSON
		}
		visit(nil, obj, others, func(path []any, name string, change func(parent any)) bool {
			var damaged map[string]any
			_ = json.Unmarshal(data, &damaged) // it was just made
			change(parentOf(damaged, path))
			return yield(index.ReplaceAllString(fmt.Sprint(path), " *")+" "+name, damaged)
		})
	}
}

// kept are fields without which an object has no identity.
var kept = [][]any{{"apiVersion"}, {"kind"}, {"metadata"}, {"metadata", "name"}, {"metadata", "namespace"}}

// visit calls damage for each value that a field, and each field within it, gets. It ends when damage returns false.
func visit(path []any, value any, others func(field, value any) []any, damage func(path []any, name string, change func(parent any)) bool) bool {
	if len(path) > 0 && !slices.ContainsFunc(kept, func(k []any) bool { return slices.Equal(k, path) }) {
		last := path[len(path)-1]
		for i, other := range others(last, value) {
			if !damage(path, fmt.Sprint(i), func(parent any) { set(parent, last, other) }) {
				return false
			}
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if !visit(append(slices.Clone(path), key), value[key], others, damage) {
				return false
			}
		}
	case []any:
		for i := range value {
			if !visit(append(slices.Clone(path), i), value[i], others, damage) {
				return false
			}
		}
	}
	return true
}

// missing removes a field.
type missing struct{}

// Values returns values of the same type for a field with a value, and one that removes the field.
func Values(field, value any) []any {
	values := []any{missing{}}
	switch value := value.(type) {
	case map[string]any:
		return append(values, map[string]any{})
	case []any:
		return append(values, []any{}, []any{map[string]any{}}, slices.Concat(value, value))
	case string:
		values = append(values, "", "x", "-1")
		if _, err := netip.ParseAddr(value); err == nil {
			values = append(values, "010.0.0.1", "::ffff:10.0.0.1", "127.0.0.1")
		} else if _, err := netip.ParsePrefix(value); err == nil {
			values = append(values, "10.0.0.1/8", "::ffff:10.0.0.0/104")
		}
		return values
	case bool:
		return append(values, !value)
	}
	values = append(values, int64(0), int64(-1), int64(1000)) // a number
	if strings.HasSuffix(fmt.Sprint(field), "econds") {
		values = append(values, int64(math.MaxInt64))
	}
	return values
}

// Types returns values of other types for a field with a value. Objects also get a field that is not theirs.
func Types(_, value any) []any {
	values := []any{nil}
	switch value := value.(type) {
	case map[string]any:
		more := maps.Clone(value)
		more["notAField"] = int64(1)
		return append(values, "x", []any{}, more)
	case []any:
		return append(values, "x", map[string]any{"a": "b"}, []any{nil}, []any{int64(1)}, []any{"x"})
	case string:
		return append(values, int64(1), true, map[string]any{}, []any{"x"})
	case bool:
		return append(values, "true", int64(1), map[string]any{})
	}
	return append(values, "1", "x", 1.5, true, 1e30, map[string]any{}) // a number
}

func set(parent, step, value any) {
	switch parent := parent.(type) {
	case map[string]any:
		parent[step.(string)] = value
		if value == (missing{}) {
			delete(parent, step.(string))
		}
	case []any:
		parent[step.(int)] = value
		if value == (missing{}) {
			parent[step.(int)] = nil
		}
	}
}

// parentOf returns what contains the field with the path.
func parentOf(value any, path []any) any {
	for _, step := range path[:len(path)-1] {
		switch step := step.(type) {
		case string:
			value = value.(map[string]any)[step]
		case int:
			value = value.([]any)[step]
		}
	}
	return value
}
