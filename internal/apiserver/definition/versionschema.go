package definition

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type jsonSchema = apiextensions.JSONSchemaProps

// checkVersionSchema validates a schema, and compiles its rules. status says that the kind has the subresource status.
func checkVersionSchema(given *apiextensions.CustomResourceValidation, status bool, rules *compiler, path *field.Path) field.ErrorList {
	if given == nil || given.OpenAPIV3Schema == nil {
		return nil
	}
	s, at := given.OpenAPIV3Schema, path.Child("openAPIV3Schema")
	var errs field.ErrorList
	if status {
		errs = append(errs, checkRoot(s, path)...)
	}
	if s.Nullable {
		// API-338: an object is never null.
		errs = append(errs, field.Forbidden(path.Child("openAPIV3Schema.nullable"), "nullable cannot be true at the root"))
	}
	unsupported, scope := unsupportedField(s), (*ruleScope)(nil)
	if unsupported == nil {
		wrong := checkStructural(s, at)
		if len(wrong) == 0 {
			wrong = checkDefaults(s, at)
		}
		if len(wrong) == 0 {
			scope = rules.root(s)
		}
		errs = append(errs, wrong...)
	}
	errs = append(errs, schemaCheck{scope: scope}.check(s, at, true)...)
	errs = append(errs, rules.errs...)
	if len(errs) == 0 && unsupported != nil {
		errs = append(errs, field.Invalid(at, "", unsupported.Error()))
	}
	return append(errs, rules.checkCost(at)...)
}

// fieldsAtRoot are what a schema may have at its root if the status is validated apart from it. The order is that of errors.
var fieldsAtRoot = []string{"Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum", "MaxLength", "MinLength",
	"Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items", "Properties", "ExternalDocs", "Example", "XPreserveUnknownFields",
	"XValidations"}

// checkRoot requires a root that still holds if the status is validated apart from it (API-338).
func checkRoot(s *jsonSchema, path *field.Path) field.ErrorList {
	for _, name := range setFields(s) {
		switch {
		case name == "Type" && s.Type != "object":
			return field.ErrorList{field.Invalid(path.Child("openAPIV3Schema.type"), s.Type,
				`only "object" is allowed as the type at the root of the schema if the status subresource is enabled`)}
		case name != "Type" && !slices.Contains(fieldsAtRoot, name):
			// API-338: such a field may be about the status.
			return field.ErrorList{field.Invalid(path.Child("openAPIV3Schema"), shownSchema(s),
				fmt.Sprintf("only %v fields are allowed at the root of the schema if the status subresource is enabled", fieldsAtRoot))}
		}
	}
	return nil
}

// schemaCheck validates the parts of a schema, each on its own.
type schemaCheck struct {
	noDefaults string // why there may be no defaults; "" if there may be
	insideMeta bool   // in the metadata or the kind of an object
	// scope compiles the rules of the schema; nil if they are not compiled.
	scope *ruleScope
	// uncorrelated is the schema around this one whose values cannot be found in the stored object; nil for none.
	uncorrelated *field.Path
}

var schemaTypes = []string{"array", "boolean", "integer", "number", "object", "string"}

// metaFields are the fields that all objects have.
var metaFields = []string{"metadata", "kind", "apiVersion"}

// Check validates a schema and those within it (API-338).
func (c schemaCheck) check(s *jsonSchema, path *field.Path, root bool) field.ErrorList {
	if s == nil {
		return nil
	}
	errs := append(c.checkFields(s, path), c.checkChildren(s, path, root)...)
	if x := s.XPreserveUnknownFields; x != nil && !*x {
		errs = append(errs, field.Invalid(path.Child("x-kubernetes-preserve-unknown-fields"), *x, "must be true or undefined"))
	}
	errs = append(errs, checkMapType(s, path)...)
	errs = append(errs, checkListType(s, path)...)
	errs = append(errs, checkRules(s, path)...)
	if c.scope != nil && len(errs) == 0 && len(s.XValidations) > 0 {
		c.scope.compile(path, c.uncorrelated)
	}
	return errs
}

// checkFields refuses the parts of JSON schema that Kubernetes does not have.
func (c schemaCheck) checkFields(s *jsonSchema, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	forbid := func(wrong bool, name, detail string) {
		if wrong {
			errs = append(errs, field.Forbidden(path.Child(name), detail))
		}
	}
	// API-338: what is mistyped or unknown would mean nothing.
	if s.Type != "" && !slices.Contains(schemaTypes, s.Type) {
		errs = append(errs, field.NotSupported(path.Child("type"), s.Type, schemaTypes))
	}
	forbid(s.Default != nil && c.noDefaults != "", "default", "must not be set "+c.noDefaults)
	forbid(s.ID != "", "id", "id is not supported")
	forbid(s.AdditionalItems != nil, "additionalItems", "additionalItems is not supported")
	forbid(len(s.PatternProperties) > 0, "patternProperties", "patternProperties is not supported")
	forbid(len(s.Definitions) > 0, "definitions", "definitions is not supported")
	forbid(s.Dependencies != nil, "dependencies", "dependencies is not supported")
	forbid(s.Ref != nil, "$ref", "$ref is not supported")
	forbid(s.Type == "null", "type", "type cannot be set to null, use nullable as an alternative")
	forbid(s.Items != nil && len(s.Items.JSONSchemas) > 0, "items", "items must be a schema object and not an array")
	forbid(c.insideMeta && s.XEmbeddedResource, "x-kubernetes-embedded-resource", "must not be used inside of resource meta")
	forbid(s.UniqueItems, "uniqueItems", "uniqueItems cannot be set to true since the runtime complexity becomes quadratic")
	return errs
}

// checkChildren validates the schemas within a schema.
func (c schemaCheck) checkChildren(s *jsonSchema, path *field.Path, root bool) field.ErrorList {
	var errs field.ErrorList
	add := func(c schemaCheck, scope *ruleScope, child *jsonSchema, at *field.Path) {
		c.scope = scope
		errs = append(errs, c.check(child, at, false)...)
	}
	if others := s.AdditionalProperties; others != nil {
		if len(s.Properties) > 0 && (!others.Allows || others.Schema != nil) {
			// API-338: an object has either known fields or any names.
			errs = append(errs, field.Forbidden(path.Child("additionalProperties"), "additionalProperties and properties are mutual exclusive"))
		}
		sub := c
		if c.insideMeta {
			sub.noDefaults = "inside additionalProperties applying to object metadata"
		}
		add(sub, c.scope.values(others.Schema), others.Schema, path.Child("additionalProperties"))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		sub, child := c, s.Properties[name]
		if meta := slices.Contains(metaFields, name); meta && (root || s.XEmbeddedResource) {
			sub.insideMeta = true
			if root {
				sub.noDefaults = "in top-level " + name
			}
		}
		add(sub, c.scope.property(name, &child), &child, path.Child("properties").Key(name))
	}
	add(c, nil, s.Not, path.Child("not"))
	list := func(name string, schemas []jsonSchema) {
		for i := range schemas {
			add(c, nil, &schemas[i], path.Child(name).Index(i))
		}
	}
	list("allOf", s.AllOf)
	list("oneOf", s.OneOf)
	list("anyOf", s.AnyOf)
	for _, name := range slices.Sorted(maps.Keys(s.Definitions)) {
		child := s.Definitions[name]
		add(c, nil, &child, path.Child("definitions").Key(name))
	}
	if s.Items != nil {
		sub := c
		if keyed := s.XListType != nil && *s.XListType == "map"; !keyed && c.uncorrelated == nil {
			sub.uncorrelated = path // API-402
		}
		add(sub, c.scope.items(s.Items.Schema), s.Items.Schema, path.Child("items"))
		list("items", s.Items.JSONSchemas)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
		add(c, nil, s.Dependencies[name].Schema, path.Child("dependencies").Key(name))
	}
	return errs
}

var lineBreak = regexp.MustCompile(`[\n\r]`)

var ruleReasons = []apiextensions.FieldValueErrorReason{"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"}

// checkRules validates rules in CEL, apart from their expressions (API-341), which a compiler compiles.
func checkRules(s *jsonSchema, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, rule := range s.XValidations {
		at := path.Child("x-kubernetes-validations").Index(i)
		text, message := strings.TrimSpace(rule.Rule), strings.TrimSpace(rule.Message)
		switch {
		// API-341: a rule has a text, and an error about it has one line.
		case text == "":
			errs = append(errs, field.Required(at.Child("rule"), "rule is not specified"))
		case rule.Message != "" && message == "":
			errs = append(errs, field.Invalid(at.Child("message"), rule.Message, "must be non-empty if specified"))
		case lineBreak.MatchString(message):
			errs = append(errs, field.Invalid(at.Child("message"), rule.Message, "must not contain line breaks"))
		case lineBreak.MatchString(text) && message == "":
			errs = append(errs, field.Required(at.Child("message"), "message must be specified if rule contains line breaks"))
		}
		if rule.MessageExpression != "" && strings.TrimSpace(rule.MessageExpression) == "" {
			errs = append(errs, field.Required(at.Child("messageExpression"), "messageExpression must be non-empty if specified"))
		}
		if rule.Reason != nil && !slices.Contains(ruleReasons, *rule.Reason) {
			errs = append(errs, field.NotSupported(at.Child("reason"), *rule.Reason, ruleReasons))
		}
		if rule.FieldPath == "" {
			continue
		}
		if strings.TrimSpace(rule.FieldPath) == "" {
			errs = append(errs, field.Invalid(at.Child("fieldPath"), rule.FieldPath, "must be non-empty if specified"))
		}
		if lineBreak.MatchString(rule.FieldPath) {
			errs = append(errs, field.Invalid(at.Child("fieldPath"), rule.FieldPath, "must not contain line breaks"))
		}
		if _, _, err := fieldOf(s, rule.FieldPath, true); err != nil && unsupportedField(s) == nil {
			errs = append(errs, field.Invalid(at.Child("fieldPath"), rule.FieldPath, "must be a valid path"))
		}
	}
	return errs
}
