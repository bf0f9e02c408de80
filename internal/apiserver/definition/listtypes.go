package definition

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	listMap  = "map"
	listSet  = "set"
	atomic   = "atomic"
	granular = "granular"
)

// checkMapType validates x-kubernetes-map-type (API-340).
func checkMapType(s *jsonSchema, path *field.Path) field.ErrorList {
	if s.XMapType == nil {
		return nil
	}
	errs := requireType(s, "object", "must be object if x-kubernetes-map-type is specified", path)
	if kinds := []string{atomic, granular}; !slices.Contains(kinds, *s.XMapType) {
		errs = append(errs, field.NotSupported(path.Child("x-kubernetes-map-type"), *s.XMapType, kinds))
	}
	return errs
}

// requireType returns an error if a schema has another type.
func requireType(s *jsonSchema, want, detail string, path *field.Path) field.ErrorList {
	switch s.Type {
	case want:
		return nil
	case "":
		return field.ErrorList{field.Required(path.Child("type"), detail)}
	}
	return field.ErrorList{field.Invalid(path.Child("type"), s.Type, detail)}
}

// checkListType validates x-kubernetes-list-type and its keys (API-340).
func checkListType(s *jsonSchema, path *field.Path) field.ErrorList {
	kind := ""
	var errs field.ErrorList
	if s.XListType != nil {
		kind = *s.XListType
		errs = requireType(s, "array", "must be array if x-kubernetes-list-type is specified", path)
		if len(errs) == 0 && kind == listSet {
			errs = append(errs, checkSetItems(itemsOf(s), path.Child("items"))...)
		}
		if kinds := []string{atomic, listSet, listMap}; !slices.Contains(kinds, kind) {
			errs = append(errs, field.NotSupported(path.Child("x-kubernetes-list-type"), kind, kinds))
		}
	}
	const needsMap = "must be map if x-kubernetes-list-map-keys is non-empty"
	switch at := path.Child("x-kubernetes-list-type"); {
	case len(s.XListMapKeys) == 0 || kind == listMap:
	case s.XListType == nil:
		errs = append(errs, field.Required(at, needsMap))
	default:
		errs = append(errs, field.Invalid(at, kind, needsMap))
	}
	if kind == listMap {
		errs = append(errs, checkListMap(s, path)...)
	}
	return append(errs, checkItems(s, kind, path.Child("items"))...)
}

// itemsOf returns the schema of the items of a list, nil if there is none.
func itemsOf(s *jsonSchema) *jsonSchema {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// checkSetItems requires that the items of a set are compared as a whole.
func checkSetItems(items *jsonSchema, path *field.Path) field.ErrorList {
	const detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
	switch {
	case items == nil:
	case items.Type == "array" && items.XListType != nil && *items.XListType != atomic:
		return field.ErrorList{field.Invalid(path.Child("x-kubernetes-list-type"), items.XListType, detail)}
	case items.Type == "object" && (items.XMapType == nil || *items.XMapType != atomic):
		// API-340: Kubernetes shows the type of a list here.
		return field.ErrorList{field.Invalid(path.Child("x-kubernetes-map-type"), items.XListType, detail)}
	}
	return nil
}

// checkListMap validates a list whose items have keys.
func checkListMap(s *jsonSchema, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	items, keys := path.Child("items"), path.Child("x-kubernetes-list-map-keys")
	if len(s.XListMapKeys) == 0 {
		errs = append(errs, field.Required(keys, "must not be empty if x-kubernetes-list-type is map"))
	}
	item := itemsOf(s)
	switch {
	case s.Items == nil:
		return append(errs, field.Required(items, "must have a schema if x-kubernetes-list-type is map"))
	case item == nil:
		return append(errs, field.Invalid(items, shownItems(s.Items), "must only have a single schema if x-kubernetes-list-type is map"))
	case item.Type != "object":
		return append(errs, field.Invalid(items.Child("type"), item.Type, "must be object if parent array's x-kubernetes-list-type is map"))
	}
	for i, key := range s.XListMapKeys {
		property, ok := item.Properties[key]
		switch {
		case !ok:
			// API-340: a key is a field of the items, with a simple value.
			errs = append(errs, field.Invalid(keys, s.XListMapKeys, "entries must all be names of item properties"))
		case property.Type == "array" || property.Type == "object":
			errs = append(errs, field.Invalid(items.Child("properties").Key(key).Child("type"), item.Type,
				"must be a scalar type if parent array's x-kubernetes-list-type is map"))
		}
		if slices.Contains(s.XListMapKeys[:i], key) {
			errs = append(errs, field.Invalid(keys, s.XListMapKeys, "must not contain duplicate entries"))
		}
	}
	return errs
}

// checkItems requires that items of sets and maps are not null, and that their keys are always there.
func checkItems(s *jsonSchema, kind string, path *field.Path) field.ErrorList {
	item := itemsOf(s)
	if item == nil || kind != listSet && kind != listMap {
		return nil
	}
	var errs field.ErrorList
	if item.Nullable {
		errs = append(errs, field.Forbidden(path.Child("nullable"), "cannot be nullable when x-kubernetes-list-type is "+kind))
	}
	if kind != listMap {
		return errs
	}
	for _, key := range s.XListMapKeys {
		property, ok := item.Properties[key]
		at := path.Child("properties").Key(key)
		if ok && !slices.Contains(item.Required, key) && property.Default == nil {
			errs = append(errs, field.Required(at.Child("default"), "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"))
		}
		if ok && property.Nullable {
			errs = append(errs, field.Forbidden(at.Child("nullable"), "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"))
		}
	}
	return errs
}
