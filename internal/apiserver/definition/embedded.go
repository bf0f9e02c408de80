package definition

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metavalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// Objects within custom objects (x-kubernetes-embedded-resource): they have a kind, and their metadata is that of any object.

// eachEmbedded calls fn with each embedded object in a value, and its path. isObject says that the value itself is one.
func (n Schema) eachEmbedded(value any, at *field.Path, isObject bool, fn func(map[string]any, *field.Path)) {
	switch value := value.(type) {
	case map[string]any:
		if isObject || n.Flag("x-kubernetes-embedded-resource") {
			fn(value, at)
		}
		others := n.Child("additionalProperties")
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if property := n.Property(name); property != nil {
				property.eachEmbedded(value[name], child(at, name), false, fn)
			} else if others != nil {
				others.eachEmbedded(value[name], at.Key(name), false, fn)
			}
		}
	case []any:
		if items := n.Child("items"); items != nil {
			for i := range value {
				items.eachEmbedded(value[i], at.Index(i), false, fn)
			}
		}
	}
}

// Child is path.Child for a path that may be nil.
func child(at *field.Path, name string) *field.Path {
	if at == nil {
		return field.NewPath(name)
	}
	return at.Child(name)
}

// Malformed returns an error for the first embedded object whose kind or metadata has another type (API-344).
func (n Schema) Malformed(value any, at *field.Path, isObject bool) *field.Error {
	var found *field.Error
	n.eachEmbedded(value, at, isObject, func(obj map[string]any, at *field.Path) {
		for _, name := range []string{"apiVersion", "kind"} {
			// API-344: the server reads these fields before it validates the object.
			if _, ok := obj[name].(string); found == nil && obj[name] != nil && !ok {
				found = field.Invalid(child(at, name), obj[name], "must be a string")
			}
		}
		if _, err := metadataIn(obj); err != nil && found == nil {
			found = field.Invalid(child(at, "metadata"), obj["metadata"], err.Error())
		}
	})
	return found
}

// ReadMetadata replaces the metadata of embedded objects by what is known of it, and returns the paths of the other fields. None is malformed.
func (n Schema) ReadMetadata(value any) []string {
	var unknown []string
	n.eachEmbedded(value, nil, false, func(obj map[string]any, at *field.Path) {
		meta, err := metadataIn(obj)
		if meta == nil || err != nil {
			return
		}
		unknown = append(unknown, UnknownMetadata(obj["metadata"], child(at, "metadata"))...)
		if known, err := runtime.DefaultUnstructuredConverter.ToUnstructured(meta); err == nil {
			obj["metadata"] = known
		}
	})
	return unknown
}

// UnknownMetadata returns the paths of the fields that metadata at a path cannot have.
func UnknownMetadata(metadata any, at *field.Path) []string {
	data, err := json.Marshal(metadata)
	if err != nil {
		return nil // it was decoded from JSON
	}
	strict, err := kjson.UnmarshalStrict(data, &metav1.ObjectMeta{})
	var unknown []string
	for _, e := range strict {
		if named, ok := e.(kjson.FieldError); ok && err == nil {
			unknown = append(unknown, at.String()+"."+named.FieldPath())
		}
	}
	return unknown
}

// metadataIn returns the metadata of an object, nil if it has none.
func metadataIn(obj map[string]any) (*metav1.ObjectMeta, error) {
	if _, ok := obj["metadata"]; !ok {
		return nil, nil
	}
	data, err := json.Marshal(obj["metadata"])
	if err != nil {
		return nil, err
	}
	meta := &metav1.ObjectMeta{}
	return meta, DecodeNumbers(data, meta)
}

// CheckEmbedded returns what is wrong with the kinds and the metadata of embedded objects (API-344).
func (n Schema) CheckEmbedded(value any, at *field.Path, isObject bool) field.ErrorList {
	var errs field.ErrorList
	n.eachEmbedded(value, at, isObject, func(obj map[string]any, at *field.Path) {
		for _, name := range []string{"apiVersion", "kind"} {
			if _, ok := obj[name]; !ok {
				// API-344: an object without a kind is none.
				errs = append(errs, field.Required(child(at, name), ""))
			}
		}
		for _, name := range []string{"apiVersion", "kind"} {
			if given, ok := obj[name]; ok {
				errs = append(errs, checkTypeMeta(name, given, child(at, name))...)
			}
		}
		switch meta, err := metadataIn(obj); {
		case err != nil:
			errs = append(errs, field.Invalid(child(at, "metadata"), obj["metadata"], err.Error()))
		case meta != nil:
			if meta.Name == "" {
				meta.Name = "any" // an embedded object needs no name
			}
			errs = append(errs, metavalidation.ValidateObjectMeta(meta, meta.Namespace != "", segment, child(at, "metadata"))...)
		}
	})
	return errs
}

// segment validates the name of an embedded object.
func segment(name string, prefix bool) []string {
	if prefix {
		return path.IsValidPathSegmentPrefix(name)
	}
	return path.IsValidPathSegmentName(name)
}

// checkTypeMeta validates the apiVersion or the kind of an embedded object.
func checkTypeMeta(name string, given any, at *field.Path) field.ErrorList {
	text, ok := given.(string)
	switch {
	case !ok:
		return field.ErrorList{field.Invalid(at, given, "must be a string")}
	case text == "":
		return field.ErrorList{field.Invalid(at, text, "must not be empty")}
	}
	if name == "apiVersion" {
		if _, err := schema.ParseGroupVersion(text); err != nil {
			return field.ErrorList{field.Invalid(at, text, err.Error())}
		}
		return nil
	}
	if wrong := validation.IsDNS1035Label(strings.ToLower(text)); len(wrong) > 0 {
		return field.ErrorList{field.Invalid(at, text, "may have mixed case, but should otherwise match: "+strings.Join(wrong, ","))}
	}
	return nil
}
