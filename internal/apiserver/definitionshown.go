package apiserver

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// shownValue returns a value as errors of the API server show those that clients never see in that form: with the names of the fields in Go.
func shownValue(value any) json.RawMessage {
	var out bytes.Buffer
	show(&out, reflect.ValueOf(value))
	return out.Bytes()
}

func show(out *bytes.Buffer, value reflect.Value) {
	switch kind := value.Kind(); {
	case kind == reflect.Pointer && !value.IsNil():
		show(out, value.Elem())
	case kind == reflect.Struct:
		out.WriteByte('{')
		for i := range value.NumField() {
			separate(out, i)
			showName(out, value.Type().Field(i).Name)
			show(out, value.Field(i))
		}
		out.WriteByte('}')
	case kind == reflect.Slice && !value.IsNil() && value.Type().Elem().Kind() == reflect.Struct:
		out.WriteByte('[')
		for i := range value.Len() {
			separate(out, i)
			show(out, value.Index(i))
		}
		out.WriteByte(']')
	case kind == reflect.Map && !value.IsNil() && value.Type().Elem().Kind() == reflect.Struct:
		out.WriteByte('{')
		names := map[string]reflect.Value{}
		for entry := value.MapRange(); entry.Next(); {
			names[entry.Key().String()] = entry.Value()
		}
		for i, name := range slices.Sorted(maps.Keys(names)) {
			separate(out, i)
			showName(out, name)
			show(out, names[name])
		}
		out.WriteByte('}')
	default:
		data, err := json.Marshal(value.Interface())
		if err != nil {
			data = []byte("null") // it was decoded from JSON
		}
		out.Write(data)
	}
}

func separate(out *bytes.Buffer, i int) {
	if i > 0 {
		out.WriteByte(',')
	}
}

func showName(out *bytes.Buffer, name string) {
	data, err := json.Marshal(name)
	if err != nil {
		data = []byte(`""`) // a string has JSON
	}
	out.Write(data)
	out.WriteByte(':')
}

// setFields returns the names in Go of the fields of a struct that are not empty, in order.
func setFields(value any) []string {
	var names []string
	v := reflect.ValueOf(value).Elem()
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			names = append(names, v.Type().Field(i).Name)
		}
	}
	return names
}
