package store

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"sync"

	kjson "sigs.k8s.io/json"
)

// mergeFields applies a JSON merge patch to the fields of a struct that the patch names, and leaves all others alone: what is shared
// stays shared. What a field holds is never written to. It reports false, with the struct in any state, when the patch is not as
// plain as that; then the documents have to be merged.
func mergeFields(target reflect.Value, patch map[string]any) bool {
	fields := fieldsOf(target.Type())
	for name, value := range patch {
		path, known := fields[name]
		// API-016: what is unknown is dropped.
		if known && !mergeField(target.FieldByIndex(path), value) {
			return false
		}
	}
	return true
}

func mergeField(target reflect.Value, value any) bool {
	t := target.Type()
	inner, isObject := value.(map[string]any)
	switch {
	case value == nil:
		target.SetZero()
		return true
	case decodesItself(t):
		return decodeField(target, value)
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && isObject:
		if decodesItself(t.Elem()) {
			return decodeField(target, value)
		}
		next := reflect.New(t.Elem())
		if !target.IsNil() {
			next.Elem().Set(target.Elem())
		}
		target.Set(next)
		return mergeFields(next.Elem(), inner)
	case t.Kind() == reflect.Struct && isObject:
		return mergeFields(target, inner)
	case t == reflect.TypeFor[map[string]string]() && isObject:
		return mergeStrings(target, inner)
	case t.Kind() == reflect.Map && isObject:
		return mergeMap(target, inner)
	case isObject:
		return false
	}
	switch value := value.(type) {
	case string:
		if t.Kind() == reflect.String {
			target.SetString(value)
			return true
		}
	case bool:
		if t.Kind() == reflect.Bool {
			target.SetBool(value)
			return true
		}
	}
	return decodeField(target, value)
}

// mergeStrings applies a patch to a map of strings, such as labels.
func mergeStrings(target reflect.Value, patch map[string]any) bool {
	old := target.Interface().(map[string]string)
	merged := maps.Clone(old)
	if merged == nil {
		merged = make(map[string]string, len(patch))
	}
	for key, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(merged, key)
		case string:
			merged[key] = value
		default:
			return false
		}
	}
	target.Set(reflect.ValueOf(merged))
	return true
}

// mergeMap applies a patch to a map of anything else, such as resources. Values that are objects would have to be merged as well.
func mergeMap(target reflect.Value, patch map[string]any) bool {
	t := target.Type()
	merged := reflect.MakeMapWithSize(t, target.Len()+len(patch))
	for entries := target.MapRange(); entries.Next(); {
		merged.SetMapIndex(entries.Key(), entries.Value())
	}
	for name, value := range patch {
		key := reflect.ValueOf(name).Convert(t.Key())
		if value == nil {
			merged.SetMapIndex(key, reflect.Value{})
			continue
		}
		fresh := reflect.New(t.Elem()).Elem()
		if _, isObject := value.(map[string]any); isObject || !decodeField(fresh, value) {
			return false
		}
		merged.SetMapIndex(key, fresh)
	}
	target.Set(merged)
	return true
}

// decodeField reads a value that takes the place of what the field has.
func decodeField(target reflect.Value, value any) bool {
	data, err := json.Marshal(value)
	if err != nil || mayHideExponent(data) && walkQuantities(value, target.Type()) != nil {
		return false
	}
	fresh := reflect.New(target.Type())
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, fresh.Interface()); err != nil {
		return false
	}
	target.Set(fresh.Elem())
	return true
}

// decodesItself reports whether the type reads JSON in a way of its own, as times and quantities do.
func decodesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Unmarshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// knownFields caches fieldsOf.
var knownFields sync.Map

// fieldsOf is where the fields of a struct are, by their names in JSON, those of embedded structs included.
func fieldsOf(t reflect.Type) map[string][]int {
	if known, ok := knownFields.Load(t); ok {
		return known.(map[string][]int)
	}
	fields := map[string][]int{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && f.Anonymous:
			for inner, path := range fieldsOf(f.Type) {
				fields[inner] = append([]int{i}, path...)
			}
		case name != "":
			fields[name] = []int{i}
		}
	}
	knownFields.Store(t, fields)
	return fields
}
