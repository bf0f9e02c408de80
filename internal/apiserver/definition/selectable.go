package definition

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxSelectable is how many fields of a kind field selectors may name.
const maxSelectable = 8

// checkSelectable validates the selectable fields that a version has for itself (API-346).
func (d *definition) checkSelectable(v *definedVersion, path *field.Path) field.ErrorList {
	switch {
	case len(v.SelectableFields) == 0:
		return nil
	case v.Schema == nil || v.Schema.OpenAPIV3Schema == nil:
		return field.ErrorList{field.Invalid(path, "", "may only be set when `version.schema.openAPIV3Schema` is not included")}
	}
	return selectableFields(v.SelectableFields, v.Schema.OpenAPIV3Schema, path)
}

// checkSharedSelectable validates those that all versions have (API-346).
func (d *definition) checkSharedSelectable(path *field.Path) field.ErrorList {
	switch {
	case len(d.selectable) == 0:
		return nil
	case d.validation == nil:
		return field.ErrorList{field.Invalid(path, "", "may only be set when validations.schema is included")}
	case d.validation.OpenAPIV3Schema == nil:
		return nil // which is another error
	}
	return selectableFields(d.selectable, d.validation.OpenAPIV3Schema, path)
}

func selectableFields(fields []apiextensions.SelectableField, s *jsonSchema, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	var known []string
	for i, f := range fields {
		at := path.Index(i).Child("jsonPath")
		if f.JSONPath == "" {
			errs = append(errs, field.Required(at, ""))
			continue
		}
		found, described, err := fieldOf(s, f.JSONPath, false)
		if err != nil {
			errs = append(errs, field.Invalid(at, f.JSONPath, fmt.Sprintf("is an invalid path: %v", err)))
			continue
		}
		// API-346: a selector compares simple values, and knows metadata anyway.
		if found.Root().String() == "metadata" {
			errs = append(errs, field.Invalid(at, f.JSONPath, "must not point to fields in metadata"))
		}
		if !slices.Contains([]string{"string", "boolean", "integer"}, described.Type) {
			errs = append(errs, field.Invalid(at, f.JSONPath, "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."))
		}
		if slices.Contains(known, found.String()) {
			errs = append(errs, field.Duplicate(at, f.JSONPath))
			continue
		}
		known = append(known, found.String())
	}
	if len(known) > maxSelectable {
		errs = append(errs, field.TooMany(path, len(known), maxSelectable))
	}
	return errs
}

var errNoField = errors.New("does not refer to a valid field")

// fieldOf returns the path and the schema of the field that a path such as .spec.names['a.b'] names. brackets says that it may have names in
// brackets.
func fieldOf(s *jsonSchema, text string, brackets bool) (*field.Path, *jsonSchema, error) {
	var path *field.Path
	tokens := pathTokens(text)
	next := func() (string, error) {
		if len(tokens) == 0 {
			return "", errors.New("unexpected end of JSON path")
		}
		token := tokens[0]
		tokens = tokens[1:]
		return token, nil
	}
	for len(tokens) > 0 {
		token, _ := next() // there is one
		name, err := "", error(nil)
		switch {
		case token == ".":
			name, err = next()
		case token == "[" && !brackets:
			err = errors.New("array notation is not allowed")
		case token == "[":
			name, err = bracketed(next)
		default:
			err = fmt.Errorf("expected [ or . but got: %s", token)
		}
		if err != nil {
			return nil, nil, err
		}
		switch property, ok := s.Properties[name]; {
		case ok:
			path, s = child(path, name), &property
		case len(s.Properties) == 0 && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
			path, s = path.Key(name), s.AdditionalProperties.Schema
		default:
			return nil, nil, errNoField
		}
	}
	return path, s, nil
}

// bracketed reads a name in brackets and quotes, after the opening bracket.
func bracketed(next func() (string, error)) (string, error) {
	name, err := next()
	if err != nil {
		return "", err
	}
	if len(name) < 2 || name[0] != '\'' || name[len(name)-1] != '\'' {
		return "", fmt.Errorf("expected single quoted string but got %s", name)
	}
	end, err := next()
	if err == nil && end != "]" {
		err = fmt.Errorf("expected ] but got %s", end)
	}
	return strings.ReplaceAll(name[1:len(name)-1], `\'`, `'`), err
}

// pathTokens splits a path into dots, brackets and what is between them. A string in single quotes is one token.
func pathTokens(text string) []string {
	var tokens []string
	for text != "" {
		n := strings.IndexAny(text, ".[]")
		switch {
		case text[0] == '\'':
			n = quoted(text)
		case n == 0:
			n = 1
		case n < 0:
			n = len(text)
		}
		tokens = append(tokens, text[:n])
		text = text[n:]
	}
	return tokens
}

// quoted returns the length of the string in single quotes at the beginning of text.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		if text[i] == '\'' && text[i-1] != '\\' {
			return i + 1
		}
	}
	return len(text)
}
