package definition

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DecodeNumbers decodes JSON as the API server does: whole numbers stay integers.
func DecodeNumbers(data []byte, into any) error { return utiljson.Unmarshal(data, into) }

// nodeOf returns a schema as the validation of objects reads it.
func nodeOf(s *jsonSchema) Schema {
	var node map[string]any
	if data, err := json.Marshal(s); err == nil {
		_ = DecodeNumbers(data, &node) // it was encoded
	}
	return node
}

// checkDefaults requires that the schema allows its own defaults (API-345).
func checkDefaults(s *jsonSchema, path *field.Path) field.ErrorList {
	return nodeOf(s).checkDefaults(path, true, false)
}

// checkDefaults validates the defaults in a schema. insideMeta says that it is one of the metadata or the kind of an object.
func (n Schema) checkDefaults(path *field.Path, isObject, insideMeta bool) field.ErrorList {
	isObject = isObject || n.Flag("x-kubernetes-embedded-resource")
	var errs field.ErrorList
	if preset := n["default"]; preset != nil {
		errs = append(errs, n.checkDefault(preset, path.Child("default"), isObject, insideMeta && !isObject)...)
	}
	if items := n.Child("items"); items != nil {
		errs = append(errs, items.checkDefaults(path.Child("items"), false, insideMeta && !isObject)...)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Child("properties"))) {
		meta := insideMeta && !isObject || isObject && slices.Contains(metaFields, name)
		errs = append(errs, n.Property(name).checkDefaults(path.Child("properties").Key(name), false, meta)...)
	}
	return errs
}

func (n Schema) checkDefault(preset any, path *field.Path, isObject, insideMeta bool) field.ErrorList {
	var errs field.ErrorList
	if !insideMeta {
		if pruned := runtime.DeepCopyJSONValue(preset); len(n.Prune(pruned, "", isObject)) > 0 || !reflect.DeepEqual(pruned, preset) {
			// API-345: they would be dropped.
			errs = append(errs, field.Invalid(path, preset, "must not have unknown fields"))
		}
		if wrong := n.Malformed(preset, path, isObject); wrong != nil {
			return append(errs, wrong)
		}
		if wrong := n.CheckEmbedded(preset, path, isObject); len(wrong) > 0 {
			return append(errs, wrong...)
		}
	}
	if validator := n.Validator(); validator != nil {
		if wrong := Violations(validator, preset, path); len(wrong) > 0 {
			return append(errs, wrong...)
		}
	}
	return append(errs, n.checkRules(preset, path, isObject)...)
}

// checkRules requires that a default obeys the rules of its schema (API-405), in a new object and in one that had it.
func (n Schema) checkRules(preset any, path *field.Path, isObject bool) field.ErrorList {
	text, err := json.Marshal(n)
	if err != nil {
		return nil // it was decoded from JSON
	}
	rules := ReadRules(text, isObject)
	if rules == nil {
		return nil
	}
	if errs := rules.evaluate(path, preset, preset); len(errs) > 0 {
		return errs
	}
	return rules.evaluate(path, preset, nil)
}
