package store

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	kjson "sigs.k8s.io/json"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/decode"
	"github.com/volsim/volsim/internal/core/plain"
)

// mergeFields applies a JSON merge patch to the fields of a struct that the patch names. The other fields stay shared with the original.
// It replaces values of fields and never writes to what they refer to. It returns false, with the struct in any state, for a patch that
// it cannot apply; then the caller merges JSON documents.
//
// It does what Table.mergeDocuments does (TestMergeTyped compares the two), without encoding and decoding the whole object. That halves
// the processor time of pods: BenchmarkLifecycle/pods=1000 takes 1.04 ms per pod with it, and 2.12 ms without.
func mergeFields(target reflect.Value, patch map[string]any) bool {
	return merger{}.fields(target, patch)
}

// MergeKnown returns a copy of an object of a Go type with a JSON merge patch applied to its fields. The copy shares what the patch does not
// name. ok is false for a patch that needs documents: it names unknown fields, or has values about whose JSON decoders disagree, or is wrong.
func MergeKnown(obj api.Object, patch map[string]any) (merged api.Object, ok bool) {
	for _, name := range [...]string{"apiVersion", "kind"} {
		if _, has := patch[name]; has {
			return nil, false
		}
	}
	if !simple(patch, true) {
		return nil, false
	}
	merged = plain.Shallow(obj)
	return merged, merger{known: true}.fields(reflect.ValueOf(merged).Elem(), patch)
}

// simple reports whether a value of a patch has one meaning only: it has no numbers but int64, and no null in a list.
func simple(value any, null bool) bool {
	switch value := value.(type) {
	case nil:
		return null
	case float64:
		return false
	case []any:
		return !slices.ContainsFunc(value, func(item any) bool { return !simple(item, false) })
	case map[string]any:
		for _, inner := range value {
			if !simple(inner, null) {
				return false
			}
		}
	}
	return true
}

// merger applies merge patches to fields. With known it cannot apply a patch that names unknown fields.
type merger struct{ known bool }

func (m merger) fields(target reflect.Value, patch map[string]any) bool {
	fields := fieldsOf(target.Type())
	for name, value := range patch {
		path, known := fields[name]
		if !known {
			// API-016: unknown fields are dropped.
			if m.known {
				return false
			}
			continue
		}
		if !m.field(target.FieldByIndex(path), value) {
			return false
		}
	}
	return true
}

func (m merger) field(target reflect.Value, value any) bool {
	t := target.Type()
	inner, isObject := value.(map[string]any)
	switch {
	case value == nil:
		target.SetZero()
		return true
	case decodesItself(t):
		return m.decode(target, value)
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && isObject:
		if decodesItself(t.Elem()) {
			return m.decode(target, value)
		}
		next := reflect.New(t.Elem())
		if !target.IsNil() {
			next.Elem().Set(target.Elem())
		}
		target.Set(next)
		return m.fields(next.Elem(), inner)
	case t.Kind() == reflect.Struct && isObject:
		return m.fields(target, inner)
	case t == reflect.TypeFor[map[string]string]() && isObject:
		return mergeStrings(target, inner)
	case t.Kind() == reflect.Map && isObject:
		return m.entries(target, inner)
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
	return m.decode(target, value)
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

// entries applies a patch to any other map, such as resources. It returns false for values that are objects, which would have to be
// merged as well.
func (m merger) entries(target reflect.Value, patch map[string]any) bool {
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
		if _, isObject := value.(map[string]any); isObject || !m.decode(fresh, value) {
			return false
		}
		merged.SetMapIndex(key, fresh)
	}
	target.Set(merged)
	return true
}

// decode decodes a value that replaces that of the field.
func (m merger) decode(target reflect.Value, value any) bool {
	data, err := json.Marshal(value)
	if err != nil || decode.CheckValue(value, data, target.Type()) != nil {
		return false
	}
	fresh := reflect.New(target.Type())
	read := kjson.UnmarshalCaseSensitivePreserveInts
	if m.known {
		read = strictly
	}
	if err := read(data, fresh.Interface()); err != nil {
		return false
	}
	target.Set(fresh.Elem())
	return true
}

// strictly decodes JSON without unknown fields.
func strictly(data []byte, into any) error {
	unknown, err := kjson.UnmarshalStrict(data, into)
	return errors.Join(append(unknown, err)...)
}

// decodesItself reports whether the type implements json.Unmarshaler, as times and quantities do.
func decodesItself(t reflect.Type) bool {
	if t.PkgPath() == "" && t.Kind() != reflect.Pointer && t.Kind() != reflect.Struct {
		return false // such types have no methods; looking for them takes longer
	}
	return t.Implements(reflect.TypeFor[json.Unmarshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// knownFields caches fieldsOf.
var knownFields sync.Map

// fieldsOf returns the index of each field of a struct by its name in JSON, including those of embedded structs.
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
