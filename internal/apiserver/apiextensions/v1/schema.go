package v1

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/json"
)

// JSONSchemaProps is a schema.
type JSONSchemaProps struct {
	ID                     string                     `json:"id,omitempty"`
	Schema                 JSONSchemaURL              `json:"$schema,omitempty"`
	Ref                    *string                    `json:"$ref,omitempty"`
	Description            string                     `json:"description,omitempty"`
	Type                   string                     `json:"type,omitempty"`
	Nullable               bool                       `json:"nullable,omitempty"`
	Format                 string                     `json:"format,omitempty"`
	Title                  string                     `json:"title,omitempty"`
	Default                *any                       `json:"default,omitempty"`
	Maximum                *float64                   `json:"maximum,omitempty"`
	ExclusiveMaximum       bool                       `json:"exclusiveMaximum,omitempty"`
	Minimum                *float64                   `json:"minimum,omitempty"`
	ExclusiveMinimum       bool                       `json:"exclusiveMinimum,omitempty"`
	MaxLength              *int64                     `json:"maxLength,omitempty"`
	MinLength              *int64                     `json:"minLength,omitempty"`
	Pattern                string                     `json:"pattern,omitempty"`
	MaxItems               *int64                     `json:"maxItems,omitempty"`
	MinItems               *int64                     `json:"minItems,omitempty"`
	UniqueItems            bool                       `json:"uniqueItems,omitempty"`
	MultipleOf             *float64                   `json:"multipleOf,omitempty"`
	Enum                   []any                      `json:"enum,omitempty"`
	MaxProperties          *int64                     `json:"maxProperties,omitempty"`
	MinProperties          *int64                     `json:"minProperties,omitempty"`
	Required               []string                   `json:"required,omitempty"`
	Items                  *JSONSchemaPropsOrArray    `json:"items,omitempty"`
	AllOf                  []JSONSchemaProps          `json:"allOf,omitempty"`
	OneOf                  []JSONSchemaProps          `json:"oneOf,omitempty"`
	AnyOf                  []JSONSchemaProps          `json:"anyOf,omitempty"`
	Not                    *JSONSchemaProps           `json:"not,omitempty"`
	Properties             map[string]JSONSchemaProps `json:"properties,omitempty"`
	AdditionalProperties   *JSONSchemaPropsOrBool     `json:"additionalProperties,omitempty"`
	PatternProperties      map[string]JSONSchemaProps `json:"patternProperties,omitempty"`
	Dependencies           JSONSchemaDependencies     `json:"dependencies,omitempty"`
	AdditionalItems        *JSONSchemaPropsOrBool     `json:"additionalItems,omitempty"`
	Definitions            JSONSchemaDefinitions      `json:"definitions,omitempty"`
	ExternalDocs           *ExternalDocumentation     `json:"externalDocs,omitempty"`
	Example                *any                       `json:"example,omitempty"`
	XPreserveUnknownFields *bool                      `json:"x-kubernetes-preserve-unknown-fields,omitempty"`
	XEmbeddedResource      bool                       `json:"x-kubernetes-embedded-resource,omitempty"`
	XIntOrString           bool                       `json:"x-kubernetes-int-or-string,omitempty"`
	XListMapKeys           []string                   `json:"x-kubernetes-list-map-keys,omitempty"`
	XListType              *string                    `json:"x-kubernetes-list-type,omitempty"`
	XMapType               *string                    `json:"x-kubernetes-map-type,omitempty"`
	XValidations           ValidationRules            `json:"x-kubernetes-validations,omitempty"`
}

// JSONSchemaURL is the address of a schema.
type JSONSchemaURL string

// JSONSchemaDefinitions are named schemas.
type JSONSchemaDefinitions map[string]JSONSchemaProps

// JSONSchemaDependencies are schemas or names that other fields require.
type JSONSchemaDependencies map[string]JSONSchemaPropsOrStringArray

// ExternalDocumentation refers to a document.
type ExternalDocumentation struct {
	Description string `json:"description,omitempty"`
	URL         string `json:"url,omitempty"`
}

// ValidationRules are rules in CEL.
type ValidationRules []ValidationRule

// ValidationRule is a rule in CEL.
type ValidationRule struct {
	Rule              string                 `json:"rule"`
	Message           string                 `json:"message,omitempty"`
	MessageExpression string                 `json:"messageExpression,omitempty"`
	Reason            *FieldValueErrorReason `json:"reason,omitempty"`
	FieldPath         string                 `json:"fieldPath,omitempty"`
	OptionalOldSelf   *bool                  `json:"optionalOldSelf,omitempty"`
}

// FieldValueErrorReason is the reason of an error that a rule causes.
type FieldValueErrorReason string

// JSONSchemaPropsOrArray is one schema or a list of schemas.
type JSONSchemaPropsOrArray struct {
	Schema      *JSONSchemaProps
	JSONSchemas []JSONSchemaProps
}

// MarshalJSON implements json.Marshaler.
func (s JSONSchemaPropsOrArray) MarshalJSON() ([]byte, error) {
	if len(s.JSONSchemas) > 0 {
		return json.Marshal(s.JSONSchemas)
	}
	return json.Marshal(s.Schema)
}

// UnmarshalJSON implements json.Unmarshaler. Anything but an object or a list is ignored, as Kubernetes does.
func (s *JSONSchemaPropsOrArray) UnmarshalJSON(data []byte) error {
	*s = JSONSchemaPropsOrArray{}
	switch first(data) {
	case '{':
		s.Schema = &JSONSchemaProps{}
		return json.Unmarshal(data, s.Schema)
	case '[':
		return json.Unmarshal(data, &s.JSONSchemas)
	}
	return nil
}

// JSONSchemaPropsOrBool is a schema, or says whether anything is allowed.
type JSONSchemaPropsOrBool struct {
	Allows bool
	Schema *JSONSchemaProps
}

// MarshalJSON implements json.Marshaler.
func (s JSONSchemaPropsOrBool) MarshalJSON() ([]byte, error) {
	if s.Schema != nil {
		return json.Marshal(s.Schema)
	}
	return json.Marshal(s.Allows)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *JSONSchemaPropsOrBool) UnmarshalJSON(data []byte) error {
	*s = JSONSchemaPropsOrBool{}
	switch text := string(data); {
	case first(data) == '{':
		s.Allows, s.Schema = true, &JSONSchemaProps{}
		return json.Unmarshal(data, s.Schema)
	case text == "true":
		s.Allows = true
	case text != "false":
		return errors.New("boolean or JSON schema expected")
	}
	return nil
}

// JSONSchemaPropsOrStringArray is a schema or a list of names.
type JSONSchemaPropsOrStringArray struct {
	Schema   *JSONSchemaProps
	Property []string
}

// MarshalJSON implements json.Marshaler.
func (s JSONSchemaPropsOrStringArray) MarshalJSON() ([]byte, error) {
	if len(s.Property) > 0 {
		return json.Marshal(s.Property)
	}
	return json.Marshal(s.Schema)
}

// UnmarshalJSON implements json.Unmarshaler. Anything but an object or a list is ignored, as Kubernetes does.
func (s *JSONSchemaPropsOrStringArray) UnmarshalJSON(data []byte) error {
	*s = JSONSchemaPropsOrStringArray{}
	switch first(data) {
	case '{':
		s.Schema = &JSONSchemaProps{}
		return json.Unmarshal(data, s.Schema)
	case '[':
		return json.Unmarshal(data, &s.Property)
	}
	return nil
}

// first returns the first byte of data, 0 if there is none.
func first(data []byte) byte {
	if len(data) == 0 {
		return 0
	}
	return data[0]
}
