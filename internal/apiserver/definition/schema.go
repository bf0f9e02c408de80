package definition

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

// Schema is a structural schema, as in a CustomResourceDefinition.
type Schema map[string]any

// Child returns the schema in a field of the schema, nil if there is none.
func (n Schema) Child(name string) Schema {
	child, _ := n[name].(map[string]any)
	return child
}

// Flag returns a field of the schema that is true or false.
func (n Schema) Flag(name string) bool {
	value, _ := n[name].(bool)
	return value
}

// Property returns the schema of a field of an object, nil if it names none.
func (n Schema) Property(name string) Schema { return n.Child("properties").Child(name) }

// Prune removes the fields that the schema does not know from a value, and returns their paths.
func (n Schema) Prune(value any, path string, isObject bool) []string {
	return n.prune(value, path, isObject, n.keeps())
}

// keeps reports whether the schema keeps fields that it does not know: of an object, or of the items of a list.
func (n Schema) keeps() bool { return n.Flag("x-kubernetes-preserve-unknown-fields") }

func (n Schema) prune(value any, path string, isObject, keep bool) []string {
	var unknown []string
	switch value := value.(type) {
	case map[string]any:
		others, anything := n.Child("additionalProperties"), n.Flag("additionalProperties")
		isObject = isObject || n.Flag("x-kubernetes-embedded-resource")
		for _, name := range slices.Sorted(maps.Keys(value)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			property := n.Property(name)
			switch {
			case isObject && (name == "apiVersion" || name == "kind" || name == "metadata"):
			case property != nil:
				unknown = append(unknown, property.Prune(value[name], at, false)...)
			case others != nil:
				unknown = append(unknown, others.Prune(value[name], at, false)...)
			case !keep && !anything:
				unknown = append(unknown, at)
				delete(value, name)
			}
		}
	case []any:
		items := n.Child("items")
		for i := range value {
			if items != nil {
				// API-570: what a list keeps, its items keep.
				unknown = append(unknown, items.prune(value[i], fmt.Sprintf("%s[%d]", path, i), false, keep || items.keeps())...)
			}
		}
	}
	return unknown
}

// Complete drops nulls that a value cannot have, and sets its defaults (API-313).
func (n Schema) Complete(value any) {
	n.DropNulls(value)
	n.SetDefaults(value)
}

// SetDefaults sets the fields of a value that are absent, or null where the schema forbids that (API-313).
func (n Schema) SetDefaults(value any) {
	if fields, ok := value.(map[string]any); ok {
		properties := n.Child("properties")
		for name := range properties {
			property := properties.Child(name)
			if given, found := fields[name]; found && (given != nil || property.Flag("nullable")) {
				continue
			}
			if preset, ok := property["default"]; ok && preset != nil {
				fields[name] = runtime.DeepCopyJSONValue(integers(preset))
			}
		}
	}
	n.descend(value, Schema.SetDefaults)
}

// DropNulls removes the fields of a value that are null where the schema forbids that and has no default (API-313).
func (n Schema) DropNulls(value any) {
	if fields, ok := value.(map[string]any); ok {
		properties, others := n.Child("properties"), n.Child("additionalProperties")
		for name, field := range fields {
			schema := properties.Child(name)
			if schema == nil {
				schema = others
			}
			if schema != nil && field == nil && !schema.Flag("nullable") && schema["default"] == nil {
				delete(fields, name)
			}
		}
	}
	n.descend(value, Schema.DropNulls)
}

// descend calls visit with the schema and the value of each field or item that has a schema.
func (n Schema) descend(value any, visit func(Schema, any)) {
	switch value := value.(type) {
	case map[string]any:
		properties, others := n.Child("properties"), n.Child("additionalProperties")
		for name, field := range value {
			if property := properties.Child(name); property != nil {
				visit(property, field)
			} else if others != nil {
				visit(others, field)
			}
		}
	case []any:
		if items := n.Child("items"); items != nil {
			for _, item := range value {
				visit(items, item)
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
	NormalizeNumbers(document)
	return document["v"]
}

// Validator returns a validator of values, nil if the schema cannot be read.
func (n Schema) Validator() *validate.SchemaValidator {
	typed := &spec.Schema{}
	data, err := json.Marshal(n)
	if err != nil || json.Unmarshal(data, typed) != nil {
		return nil
	}
	return validate.NewSchemaValidator(typed, nil, "", strfmt.Default)
}

// WithIntOrString returns a schema whose fields with x-kubernetes-int-or-string have both types, as the validator expects it.
func WithIntOrString(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, v := range value {
			out[name] = WithIntOrString(v)
		}
		if both, _ := value["x-kubernetes-int-or-string"].(bool); both {
			out["type"] = []any{"integer", "string"}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = WithIntOrString(value[i])
		}
		return out
	}
	return value
}

// NormalizeNumbers makes whole numbers in decoded YAML integers, as those of JSON are.
func NormalizeNumbers(doc map[string]any) {
	for key, value := range doc {
		doc[key] = normalizedNumber(value)
	}
}

func normalizedNumber(value any) any {
	switch value := value.(type) {
	case map[string]any:
		NormalizeNumbers(value)
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
