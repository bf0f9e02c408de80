package dump

import (
	"encoding/json"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
)

// types holds the Go type of each kind.
var types = map[api.Kind]reflect.Type{
	api.PersistentVolume:      reflect.TypeFor[corev1.PersistentVolume](),
	api.PersistentVolumeClaim: reflect.TypeFor[corev1.PersistentVolumeClaim](),
	api.StorageClass:          reflect.TypeFor[storagev1.StorageClass](),
	api.Pod:                   reflect.TypeFor[corev1.Pod](),
	api.Node:                  reflect.TypeFor[corev1.Node](),
	api.VolumeAttachment:      reflect.TypeFor[storagev1.VolumeAttachment](),
	api.CSIDriver:             reflect.TypeFor[storagev1.CSIDriver](),
	api.CSINode:               reflect.TypeFor[storagev1.CSINode](),
	api.VolumeAttributesClass: reflect.TypeFor[storagev1.VolumeAttributesClass](),
	api.CSIStorageCapacity:    reflect.TypeFor[storagev1.CSIStorageCapacity](),
	api.Event:                 reflect.TypeFor[corev1.Event](),
}

// pruner removes fields from decoded JSON that a type does not have, such as those of a newer API.
type pruner struct {
	fields  fieldsOf
	dropped map[string]bool
}

// fieldsOf caches the fields of struct types by their JSON names.
type fieldsOf map[reflect.Type]map[string]reflect.Type

func (f fieldsOf) of(t reflect.Type) map[string]reflect.Type {
	if known, ok := f[t]; ok {
		return known
	}
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name != "":
			fields[name] = field.Type
		case field.Anonymous:
			for name, inner := range f.of(field.Type) {
				fields[name] = inner
			}
		}
	}
	f[t] = fields
	return fields
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// prune returns the value without unknown fields. path is the path of the value in an object of the kind.
func (p *pruner) prune(value any, t reflect.Type, kind, path string) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return value
	}
	switch value := value.(type) {
	case map[string]any:
		return p.pruneMap(value, t, kind, path)
	case []any:
		if t.Kind() != reflect.Slice {
			return value
		}
		for i := range value {
			value[i] = p.prune(value[i], t.Elem(), kind, path)
		}
	}
	return value
}

func (p *pruner) pruneMap(value map[string]any, t reflect.Type, kind, path string) any {
	switch t.Kind() {
	case reflect.Map:
		for key, item := range value {
			value[key] = p.prune(item, t.Elem(), kind, path)
		}
	case reflect.Struct:
		fields := p.fields.of(t)
		for name, item := range value {
			inner := name
			if path != "" {
				inner = path + "." + name
			}
			field, known := fields[name]
			if !known {
				p.dropped[kind+" "+inner] = true
				delete(value, name)
				continue
			}
			value[name] = p.prune(item, field, kind, inner)
		}
	}
	return value
}
