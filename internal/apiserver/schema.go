package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// schemaNode is a structural schema, as in a CustomResourceDefinition.
type schemaNode map[string]any

func (n schemaNode) child(name string) schemaNode {
	child, _ := n[name].(map[string]any)
	return child
}

func (n schemaNode) flag(name string) bool {
	value, _ := n[name].(bool)
	return value
}

func (n schemaNode) property(name string) schemaNode { return n.child("properties").child(name) }

// prune removes the fields that the schema does not know from a value, and returns their paths.
func (n schemaNode) prune(value any, path string, isObject bool) []string {
	var unknown []string
	switch value := value.(type) {
	case map[string]any:
		keep := n.flag("x-kubernetes-preserve-unknown-fields")
		others, anything := n.child("additionalProperties"), n.flag("additionalProperties")
		isObject = isObject || n.flag("x-kubernetes-embedded-resource")
		for _, name := range slices.Sorted(maps.Keys(value)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			property := n.property(name)
			switch {
			case isObject && (name == "apiVersion" || name == "kind" || name == "metadata"):
			case property != nil:
				unknown = append(unknown, property.prune(value[name], at, false)...)
			case others != nil:
				unknown = append(unknown, others.prune(value[name], at, false)...)
			case !keep && !anything:
				unknown = append(unknown, at)
				delete(value, name)
			}
		}
	case []any:
		items := n.child("items")
		for i := range value {
			if items != nil {
				unknown = append(unknown, items.prune(value[i], fmt.Sprintf("%s[%d]", path, i), false)...)
			}
		}
	}
	return unknown
}

// setDefaults sets the fields of a value that are absent, or null where the schema forbids that, and removes such nulls without a default
// (API-313).
func (n schemaNode) setDefaults(value any) {
	switch value := value.(type) {
	case map[string]any:
		properties := n.child("properties")
		for name := range properties {
			property := properties.child(name)
			given, found := value[name]
			if found && (given != nil || property.flag("nullable")) {
				continue
			}
			if preset, ok := property["default"]; ok && preset != nil {
				value[name] = runtime.DeepCopyJSONValue(integers(preset))
			} else if found {
				delete(value, name)
			}
		}
		others := n.child("additionalProperties")
		for name := range value {
			if property := properties.child(name); property != nil {
				property.setDefaults(value[name])
			} else if others != nil {
				others.setDefaults(value[name])
			}
		}
	case []any:
		items := n.child("items")
		for i := range value {
			if items != nil {
				items.setDefaults(value[i])
			}
		}
	}
}

// integers returns a copy of decoded JSON in which whole numbers are integers.
func integers(value any) any {
	data, err := json.Marshal(value)
	if err != nil {
		return value
	}
	var document map[string]any
	if err := json.Unmarshal([]byte(`{"v":`+string(data)+`}`), &document); err != nil {
		return value
	}
	normalizeNumbers(document)
	return document["v"]
}

// validator returns a validator of values, nil if the schema cannot be read.
func (n schemaNode) validator() *validate.SchemaValidator {
	typed := &spec.Schema{}
	data, err := json.Marshal(n)
	if err != nil || json.Unmarshal(data, typed) != nil {
		return nil
	}
	return validate.NewSchemaValidator(typed, nil, "", strfmt.Default)
}

// withIntOrString returns a schema whose fields with x-kubernetes-int-or-string have both types, as the validator expects it.
func withIntOrString(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, v := range value {
			out[name] = withIntOrString(v)
		}
		if both, _ := value["x-kubernetes-int-or-string"].(bool); both {
			out["type"] = []any{"integer", "string"}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = withIntOrString(value[i])
		}
		return out
	}
	return value
}

// normalizeNumbers makes whole numbers in decoded YAML integers, as those of JSON are.
func normalizeNumbers(doc map[string]any) {
	for key, value := range doc {
		doc[key] = normalizedNumber(value)
	}
}

func normalizedNumber(value any) any {
	switch value := value.(type) {
	case map[string]any:
		normalizeNumbers(value)
	case []any:
		for i := range value {
			value[i] = normalizedNumber(value[i])
		}
	case float64:
		if whole := int64(value); float64(whole) == value {
			return whole
		}
	}
	return value
}
