package jsonpath

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/document"
)

// Document is the JSON of an object, whose parts are decoded when they are read.
type Document struct {
	obj   api.Object // may be shared
	whole map[string]any
}

// NewDocument returns the document of an object. The object may be shared, and must not change.
func NewDocument(obj api.Object) *Document { return &Document{obj: obj} }

// All returns the whole document.
func (d *Document) All() map[string]any {
	if d.whole == nil {
		d.whole = document.Of(d.obj.DeepCopyObject().(api.Object))
	}
	return d.whole
}

// Find returns the values that a path selects.
func (d *Document) Find(p Path) []any {
	found := d.values(p)
	for i, v := range found {
		if t, ok := v.(typed); ok {
			found[i] = t.decoded()
		}
	}
	return found
}

// values is find without decoding lists, maps and structs.
func (d *Document) values(p Path) []any {
	// apiVersion and kind follow from the type.
	if encodesItself(reflect.TypeOf(d.obj)) || len(p.steps) == 0 || p.steps[0].kind != 'k' || p.steps[0].key == "apiVersion" || p.steps[0].key == "kind" {
		return p.Find(d.All())
	}
	return p.Find(typed{reflect.ValueOf(d.obj).Elem()})
}

// Value returns the selected values as text, separated by commas; "" if there are none.
func (d *Document) Value(p Path) string { return joinTexts(d.Find(p), ",") }

// ConditionStatus returns the status of the condition of that type, ignoring case like kubectl wait; "" if there is none.
func (d *Document) ConditionStatus(name string) string {
	for _, c := range d.values(conditionsPath) {
		if strings.EqualFold(typeOf(c), name) {
			return statusPath.Value(c)
		}
	}
	return ""
}

// typeOf returns the type of a condition, "" for none.
func typeOf(condition any) string {
	if t, ok := condition.(typed); ok && t.Kind() == reflect.Struct {
		if field, ok := member(t.Value, "type"); ok && field.Kind() == reflect.String {
			return field.String()
		}
	}
	if found := typePath.Find(condition); len(found) == 1 {
		return Text(found[0])
	}
	return ""
}

var conditionsPath, typePath, statusPath = Must(".status.conditions[*]"), Must(".type"), Must(".status")

// typed is a value of a document that was not decoded: a struct, a map with string keys, or a slice.
type typed struct{ reflect.Value }

// typedOf returns the JSON of a value, decoded unless it is a typed one.
func typedOf(v reflect.Value) any {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if encodesItself(v.Type()) {
		return typed{v}.decoded()
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return json.Number(strconv.FormatInt(v.Int(), 10))
	case reflect.Slice:
		if v.IsNil() {
			return nil
		}
		if v.Type().Elem().Kind() != reflect.Uint8 {
			return typed{v}
		}
	case reflect.Map:
		if v.IsNil() {
			return nil
		}
		if v.Type().Key().Kind() == reflect.String {
			return typed{v}
		}
	case reflect.Struct:
		return typed{v}
	}
	return typed{v}.decoded()
}

// decoded decodes the value.
func (t typed) decoded() any {
	v := t.Value
	if v.CanAddr() {
		v = v.Addr()
	}
	data, err := json.Marshal(v.Interface())
	if err != nil {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var decoded any
	if decoder.Decode(&decoded) != nil {
		return nil
	}
	return decoded
}

// field returns a field of a struct or an entry of a map. It is missing if the JSON omits it.
func (t typed) field(name string) (value any, ok bool) {
	switch t.Kind() {
	case reflect.Map:
		v := t.MapIndex(reflect.ValueOf(name).Convert(t.Type().Key()))
		if !v.IsValid() {
			return nil, false
		}
		return typedOf(v), true
	case reflect.Struct:
		if v, ok := member(t.Value, name); ok {
			return typedOf(v), true
		}
	}
	return nil, false
}

// member returns a field of a struct. It is missing if the JSON omits it.
func member(v reflect.Value, name string) (field reflect.Value, ok bool) {
	f, ok := fieldsOf(v.Type())[name]
	if !ok {
		return field, false
	}
	field, err := v.FieldByIndexErr(f.index)
	return field, err == nil && !f.omitted(field)
}

// lead follows the steps at the beginning of a path that are fields of structs within structs: it makes a value of the last one only. It
// returns the rest of the path; ok is false if a field is missing.
func (t typed) lead(steps []pathStep) (value any, rest []pathStep, ok bool) {
	v := t.Value
	for len(steps) > 0 && steps[0].kind == 'k' && v.Kind() == reflect.Struct {
		field, ok := member(v, steps[0].key)
		if !ok {
			return nil, nil, false
		}
		steps = steps[1:]
		if v = field; v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct || encodesItself(v.Type()) {
			return typedOf(field), steps, true
		}
	}
	return typed{v}, steps, true
}

// elements returns the elements of a list; ok is false for anything else.
func (t typed) elements() (list []any, ok bool) {
	if t.Kind() != reflect.Slice {
		return nil, false
	}
	list = make([]any, t.Len())
	for i := range list {
		list[i] = typedOf(t.Index(i))
	}
	return list, true
}

// jsonField is a field of a struct in its JSON.
type jsonField struct {
	index               []int
	omitEmpty, omitZero bool
}

// omitted reports whether the JSON omits the field if it has this value.
func (f jsonField) omitted(v reflect.Value) bool {
	if f.omitZero {
		if zero, ok := v.Addr().Interface().(interface{ IsZero() bool }); ok && (v.Kind() != reflect.Pointer || !v.IsNil()) {
			return zero.IsZero()
		}
		if v.IsZero() {
			return true
		}
	}
	if !f.omitEmpty {
		return false
	}
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// structs has the fields of each struct type that was read, by their names in JSON.
var structs sync.Map

func fieldsOf(t reflect.Type) map[string]jsonField {
	if known, ok := structs.Load(t); ok {
		return known.(map[string]jsonField)
	}
	fields := make(map[string]jsonField)
	addFields(fields, t, nil)
	known, _ := structs.LoadOrStore(t, fields)
	return known.(map[string]jsonField)
}

// addFields adds the fields of a struct at an index of another one. Those of an embedded struct that has a name in JSON are below that name.
func addFields(fields map[string]jsonField, t reflect.Type, at []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clip(at), i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
			continue
		case f.Anonymous && name == "":
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			addFields(fields, embedded, index)
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		// A field of an embedded struct is hidden by one that is embedded less deeply.
		if other, ok := fields[name]; !ok || len(index) < len(other.index) {
			fields[name] = jsonField{index, strings.Contains(options, "omitempty"), strings.Contains(options, "omitzero")}
		}
	}
}

var marshalers = []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[runtime.Unstructured]()}

// ownJSON has the answer of encodesItself for each type that was read.
var ownJSON sync.Map

// encodesItself reports whether a type has a JSON of its own.
func encodesItself(t reflect.Type) bool {
	if known, ok := ownJSON.Load(t); ok {
		return known.(bool)
	}
	own := slices.ContainsFunc(marshalers, func(m reflect.Type) bool { return t.Implements(m) || reflect.PointerTo(t).Implements(m) })
	ownJSON.Store(t, own)
	return own
}
