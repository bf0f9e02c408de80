package definition

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Structural schemas: each value that a schema is about has one type, outside of anyOf and the like.

// unsupportedField returns an error for the first field that a structural schema cannot have. Other errors about the same field come first.
func unsupportedField(s *jsonSchema) error {
	var found error
	visitSchemas(s, func(s *jsonSchema) {
		if found == nil {
			found = unsupportedHere(s)
		}
	})
	return found
}

func unsupportedHere(s *jsonSchema) error {
	no := func(name string) error { return fmt.Errorf("OpenAPIV3Schema '%s' is not supported", name) }
	switch {
	case s.ID != "":
		return no("id")
	case s.Schema != "":
		return no("schema")
	case s.Ref != nil && *s.Ref != "":
		return no("$ref")
	case len(s.PatternProperties) > 0:
		return no("patternProperties")
	case len(s.Dependencies) > 0:
		return no("dependencies")
	case s.AdditionalItems != nil:
		return no("additionalItems")
	case len(s.Definitions) > 0:
		return no("definitions")
	case s.XPreserveUnknownFields != nil && !*s.XPreserveUnknownFields:
		return errors.New("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined")
	case s.Items != nil && len(s.Items.JSONSchemas) > 0:
		return errors.New("OpenAPIV3Schema 'items' must be a schema, but is an array")
	}
	return nil
}

// visitSchemas calls fn with a schema and all schemas within it.
func visitSchemas(s *jsonSchema, fn func(*jsonSchema)) {
	if s == nil {
		return
	}
	fn(s)
	visitSchemas(itemsOf(s), fn)
	for _, list := range [][]jsonSchema{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			visitSchemas(&list[i], fn)
		}
	}
	visitSchemas(s.Not, fn)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		child := s.Properties[name]
		visitSchemas(&child, fn)
	}
	if s.AdditionalProperties != nil {
		visitSchemas(s.AdditionalProperties.Schema, fn)
	}
}

// place is where a schema stands.
type place int

const (
	atRoot place = iota
	ofItem
	ofField
)

// structural collects what keeps a schema from being structural (API-339).
type structural struct{ errs field.ErrorList }

// checkStructural returns what keeps a schema from being structural, in the order of the texts.
func checkStructural(s *jsonSchema, path *field.Path) field.ErrorList {
	var c structural
	c.schema(s, atRoot, path)
	c.complete(s, s, path, path)
	slices.SortStableFunc(c.errs, func(a, b *field.Error) int { return cmp.Compare(a.Error(), b.Error()) })
	return c.errs
}

func (c *structural) add(err *field.Error) { c.errs = append(c.errs, err) }

func (c *structural) schema(s *jsonSchema, at place, path *field.Path) {
	if s == nil {
		return
	}
	if s.Type == "array" && itemsOf(s) == nil {
		// API-339: each value has a type, and so have its items.
		c.add(field.Required(path.Child("items"), "must be specified"))
	}
	c.schema(itemsOf(s), ofItem, path.Child("items"))
	for name, child := range s.Properties {
		c.schema(&child, ofField, path.Child("properties").Key(name))
	}
	if s.AdditionalProperties != nil {
		if at == atRoot {
			c.add(field.Forbidden(path.Child("additionalProperties"), "must not be used at the root"))
		}
		c.schema(s.AdditionalProperties.Schema, ofField, path.Child("additionalProperties"))
	}
	c.extensions(s, path)
	c.logic(s, isIntOrString(s.AnyOf), len(s.AllOf) > 0 && isIntOrString(s.AllOf[0].AnyOf), path)
	c.typeOf(s, at, path)
	c.embedded(s, at, path)
}

func isTrue(x *bool) bool { return x != nil && *x }

func (c *structural) extensions(s *jsonSchema, path *field.Path) {
	if s.XIntOrString && isTrue(s.XPreserveUnknownFields) {
		c.add(field.Invalid(path.Child("x-kubernetes-preserve-unknown-fields"), true, "must be false if x-kubernetes-int-or-string is true"))
	}
	if s.XIntOrString && s.XEmbeddedResource {
		c.add(field.Invalid(path.Child("x-kubernetes-embedded-resource"), true, "must be false if x-kubernetes-int-or-string is true"))
	}
}

var missingType = map[place]string{
	atRoot:  "must not be empty at the root",
	ofItem:  "must not be empty for specified array items",
	ofField: "must not be empty for specified object fields",
}

func (c *structural) typeOf(s *jsonSchema, at place, path *field.Path) {
	switch {
	case s.XEmbeddedResource && s.Type != "object":
		c.errs = append(c.errs, requireType(s, "object", "must be object if x-kubernetes-embedded-resource is true", path)...)
	case s.Type == "" && !s.XIntOrString && !isTrue(s.XPreserveUnknownFields):
		c.add(field.Required(path.Child("type"), missingType[at]))
	}
	if at == atRoot && s.Type != "" && s.Type != "object" {
		c.add(field.Invalid(path.Child("type"), s.Type, "must be object at the root"))
	}
}

// embedded validates the fields that all objects have: at the root, and in embedded objects.
func (c *structural) embedded(s *jsonSchema, at place, path *field.Path) {
	if s.XEmbeddedResource && s.AdditionalProperties != nil {
		c.add(field.Forbidden(path.Child("additionalProperties"), "must not be used if x-kubernetes-embedded-resource is set"))
	}
	isObject := at == atRoot || s.XEmbeddedResource
	for _, name := range []string{"kind", "apiVersion"} {
		if child, ok := s.Properties[name]; ok && isObject && child.Type != "string" {
			c.add(field.Invalid(path.Child("properties").Key(name).Child("type"), child.Type, "must be string"))
		}
	}
	if metadata, ok := s.Properties["metadata"]; ok {
		if path := path.Child("properties").Key("metadata"); isObject && metadata.Type != "object" {
			c.add(field.Invalid(path.Child("type"), metadata.Type, "must be object"))
		}
		if at == atRoot && !onlyNames(metadata) {
			// API-339: the server knows the rest of the metadata.
			c.add(field.Forbidden(path.Child("properties").Key("metadata"),
				"must not specify anything other than name and generateName, but metadata is implicitly specified"))
		}
	}
	if s.XEmbeddedResource && !isTrue(s.XPreserveUnknownFields) && len(s.Properties) == 0 {
		c.add(field.Required(path.Child("properties"), "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"))
	}
}

// onlyNames reports whether a schema of metadata is about the names of objects only.
func onlyNames(s jsonSchema) bool {
	for name := range s.Properties {
		if name != "name" && name != "generateName" {
			return false
		}
	}
	s.Properties, s.Type, s.Default = nil, "", nil
	return reflect.DeepEqual(s, jsonSchema{})
}

// isIntOrString reports whether alternatives are a number and a string, which fields with x-kubernetes-int-or-string may have.
func isIntOrString(anyOf []jsonSchema) bool {
	return reflect.DeepEqual(anyOf, []jsonSchema{{Type: "integer"}, {Type: "string"}})
}

// logic validates the schemas that a value must or must not match besides its own.
func (c *structural) logic(s *jsonSchema, skipAnyOf, skipFirstAllOf bool, path *field.Path) {
	if !skipAnyOf {
		for i := range s.AnyOf {
			c.nested(&s.AnyOf[i], false, path.Child("anyOf").Index(i))
		}
	}
	for i := range s.AllOf {
		c.nested(&s.AllOf[i], skipFirstAllOf && i == 0, path.Child("allOf").Index(i))
	}
	for i := range s.OneOf {
		c.nested(&s.OneOf[i], false, path.Child("oneOf").Index(i))
	}
	c.nested(s.Not, false, path.Child("not"))
	if _, err := regexp.Compile(s.Pattern); err != nil {
		// API-339: patterns are those of Go.
		c.add(field.Invalid(path.Child("pattern"), s.Pattern, fmt.Sprintf("must be a valid regular expression, but isn't: %v", err)))
	}
}

// nested validates a schema of anyOf and the like, which may only restrict values.
func (c *structural) nested(s *jsonSchema, skipAnyOf bool, path *field.Path) {
	if s == nil {
		return
	}
	c.logic(s, skipAnyOf, false, path)
	c.nested(itemsOf(s), false, path.Child("items"))
	for name, child := range s.Properties {
		c.nested(&child, false, path.Child("properties").Key(name))
	}
	forbid := func(wrong bool, name, must string) {
		if wrong {
			c.add(field.Forbidden(path.Child(name), "must be "+must+" to be structural"))
		}
	}
	// API-339: what a value is does not depend on the value.
	forbid(s.Type != "", "type", "empty")
	forbid(s.AdditionalProperties != nil && (s.AdditionalProperties.Allows || s.AdditionalProperties.Schema != nil), "additionalProperties", "undefined")
	forbid(s.Default != nil, "default", "undefined")
	forbid(s.Title != "", "title", "empty")
	forbid(s.Description != "", "description", "empty")
	forbid(s.Nullable, "nullable", "false")
	forbid(isTrue(s.XPreserveUnknownFields), "x-kubernetes-preserve-unknown-fields", "false")
	forbid(s.XEmbeddedResource, "x-kubernetes-embedded-resource", "false")
	forbid(s.XIntOrString, "x-kubernetes-int-or-string", "false")
	forbid(len(s.XListMapKeys) > 0, "x-kubernetes-list-map-keys", "empty")
	forbid(s.XListType != nil, "x-kubernetes-list-type", "undefined")
	forbid(s.XMapType != nil, "x-kubernetes-map-type", "undefined")
	forbid(len(s.XValidations) > 0, "x-kubernetes-validations", "empty")
	if _, ok := s.Properties["metadata"]; ok {
		c.add(field.Forbidden(path.Child("properties").Key("metadata"), "must not be specified in a nested context"))
	}
}

// complete requires that each value that s restricts within anyOf and the like is described outside, by whole (API-339).
func (c *structural) complete(s, whole *jsonSchema, wholePath, path *field.Path) {
	add := func(child *jsonSchema, at *field.Path) { c.described(child, whole, wholePath, at) }
	add(s.Not, path.Child("not"))
	for name, list := range map[string][]jsonSchema{"allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf} {
		for i := range list {
			add(&list[i], path.Child(name).Index(i))
		}
	}
}

func (c *structural) described(s, whole *jsonSchema, wholePath, path *field.Path) {
	if s == nil {
		return
	}
	because := func(path *field.Path) string { return "because it is defined in " + path.String() }
	if whole == nil {
		c.add(field.Required(wholePath, because(path)))
		return
	}
	c.complete(s, whole, wholePath, path)
	c.described(itemsOf(s), itemsOf(whole), wholePath.Child("items"), path.Child("items"))
	for name, child := range s.Properties {
		at, wholeAt := path.Child("properties").Key(name), wholePath.Child("properties").Key(name)
		known, ok := whole.Properties[name]
		if !ok {
			// API-339: a restricted field is a known one.
			c.add(field.Required(wholeAt, because(at)))
			continue
		}
		c.described(&child, &known, wholeAt, at)
	}
}
