package damaged

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// damage is a copy of an object in which one field is missing or has another value.
type damage struct {
	at     int // index of the object
	object map[string]any
}

// damages returns every nth damage of the objects by name. Objects of a kind have the same fields, so only the first one with a field is damaged
// there.
func damages(t *testing.T, objs []*unstructured.Unstructured) iter.Seq2[string, damage] {
	return func(yield func(string, damage) bool) {
		known := map[string]bool{}
		for at, obj := range objs {
			for name, damaged := range damagesOf(t, obj.Object) {
				if name = obj.GetKind() + " " + name; known[name] {
					continue
				}
				known[name] = true
				if len(known)%*every == 0 && !yield(name, damage{at, damaged}) {
					return
				}
			}
		}
	}
}

// damagesOf returns copies of an object in which one field is missing or has another value, each with a name that all objects of the kind share.
func damagesOf(t *testing.T, obj map[string]any) iter.Seq2[string, map[string]any] {
	data, err := json.Marshal(obj)
	require.NoError(t, err)
	index := regexp.MustCompile(` \d+`)
	return func(yield func(string, map[string]any) bool) {
		visit(nil, obj, func(path []any, name string, change func(parent any)) bool {
			var damaged map[string]any
			require.NoError(t, json.Unmarshal(data, &damaged))
			change(parentOf(damaged, path))
			return yield(index.ReplaceAllString(fmt.Sprint(path), " *")+" "+name, damaged)
		})
	}
}

// kept are fields without which an object has no identity.
var kept = [][]any{{"apiVersion"}, {"kind"}, {"metadata"}, {"metadata", "name"}, {"metadata", "namespace"}}

// visit calls damage for each value that a field, and each field within it, gets. It ends when damage returns false.
func visit(path []any, value any, damage func(path []any, name string, change func(parent any)) bool) bool {
	if len(path) > 0 && !slices.ContainsFunc(kept, func(k []any) bool { return slices.Equal(k, path) }) {
		last := path[len(path)-1]
		for name, other := range others(last, value) {
			if !damage(path, name, func(parent any) { set(parent, last, other) }) {
				return false
			}
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if !visit(append(slices.Clone(path), key), value[key], damage) {
				return false
			}
		}
	case []any:
		for i := range value {
			if !visit(append(slices.Clone(path), i), value[i], damage) {
				return false
			}
		}
	}
	return true
}

// missing removes a field.
type missing struct{}

// others are values that a field gets in place of its own.
func others(field, value any) iter.Seq2[string, any] {
	values := []any{missing{}}
	switch value := value.(type) {
	case map[string]any:
		values = append(values, map[string]any{})
	case []any:
		values = append(values, []any{}, []any{map[string]any{}}, slices.Concat(value, value))
	case string:
		values = append(values, "", "x", "-1")
	case bool:
		values = append(values, !value)
	default: // a number
		values = append(values, int64(0), int64(-1), int64(1000))
		if strings.HasSuffix(fmt.Sprint(field), "econds") {
			values = append(values, int64(math.MaxInt64))
		}
	}
	return func(yield func(string, any) bool) {
		for i, v := range values {
			if !yield(fmt.Sprint(i), v) {
				return
			}
		}
	}
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
