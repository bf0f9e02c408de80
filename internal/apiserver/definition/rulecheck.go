package definition

import (
	"bytes"
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	limits "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/warning"
)

// Rules evaluates the rules of a schema.
type Rules struct {
	schema *schema.Structural
	rules  *cel.Validator
}

// ReadRules returns the rules of a schema in JSON, nil if there are none. isObject says that it is the schema of a whole object.
func ReadRules(text []byte, isObject bool) *Rules {
	var s jsonSchema
	if !bytes.Contains(text, []byte(rulesField)) || DecodeNumbers(text, &s) != nil {
		return nil
	}
	structural, err := schema.NewStructural(internalSchema(&s))
	if err != nil {
		return nil // the definition was not validated
	}
	rules := cel.NewValidator(structural, isObject, limits.PerCallLimit)
	if rules == nil {
		return nil
	}
	return &Rules{structural, rules}
}

// Check evaluates the rules for an object; old is nil for a new one. errs are the errors of the schema. A rule that the stored object breaks already
// is a warning as long as the value does not change.
func (v *Rules) Check(obj, old map[string]any, errs field.ErrorList) (broken field.ErrorList, warnings []string) {
	if slices.ContainsFunc(errs, blocksRules) {
		// API-403: rules would meet values that they do not expect.
		return field.ErrorList{field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation")}, nil
	}
	if old == nil {
		return v.evaluate(nil, obj, nil), nil
	}
	// API-404: what was wrong before may stay as it is.
	same := cel.WithRatcheting(common.NewCorrelatedObject(obj, old, &model.Structural{Structural: v.schema}))
	var found recorder
	broken, _ = v.rules.Validate(warning.WithWarningRecorder(context.Background(), &found), nil, v.schema, obj, old, limits.RuntimeCELCostBudget, same)
	v.sort(broken)
	v.sortWarnings(found)
	return broken, found
}

// evaluate returns the rules that a value breaks: first those of the value, in their order, then those of its fields, by their names.
func (v *Rules) evaluate(path *field.Path, value, old any) field.ErrorList {
	errs, _ := v.rules.Validate(context.Background(), path, v.schema, value, old, limits.RuntimeCELCostBudget)
	v.sort(errs)
	return errs
}

// recorder collects warnings.
type recorder []string

// AddWarning implements warning.Recorder.
func (r *recorder) AddWarning(_, text string) { *r = append(*r, text) }

// blocksRules reports that rules are not evaluated after an error.
func blocksRules(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	}
	return false
}

// sort puts errors in order. Validators visit fields in a random order.
func (v *Rules) sort(errs field.ErrorList) {
	if len(errs) < 2 {
		return
	}
	at := make(map[*field.Error][]string, len(errs))
	for _, err := range errs {
		at[err] = v.placeOf(err.Field, err.Detail)
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return comparePlaces(at[a], at[b]) })
}

// sortWarnings does the same for the texts of errors.
func (v *Rules) sortWarnings(texts []string) {
	place := func(text string) []string {
		at, detail, _ := strings.Cut(text, ": ")
		return v.placeOf(at, detail)
	}
	slices.SortStableFunc(texts, func(a, b string) int { return comparePlaces(place(a), place(b)) })
}

// fieldParts matches the names, indexes and keys in the path of a field.
var fieldParts = regexp.MustCompile(`\[[^]]*\]|[^.[]+`)

// placeOf returns the path of the value whose rule has failed, in its parts. An error may be about a field of that value.
func (v *Rules) placeOf(at, detail string) []string {
	if at == "<nil>" {
		return nil
	}
	parts, node := fieldParts.FindAllString(at, -1), v.schema
	for i := range parts {
		if owns(node, strings.Join(parts[i:], "."), detail) {
			return parts[:i]
		}
		if node = within(node, parts[i]); node == nil {
			break
		}
	}
	return parts
}

// owns reports that a rule of a schema may have reported an error about a field.
func owns(s *schema.Structural, at, detail string) bool {
	return slices.ContainsFunc(s.XValidations, func(rule apiextensions.ValidationRule) bool {
		path, _, err := cel.ValidFieldPath(rule.FieldPath, s)
		if rule.FieldPath == "" || err != nil || path.String() != at {
			return false
		}
		message := cmp.Or(strings.TrimSpace(rule.Message), strings.TrimSpace(rule.Rule))
		return rule.MessageExpression != "" || strings.Contains(detail, message)
	})
}

// within returns the schema of a part of a value, nil if it is not known.
func within(s *schema.Structural, part string) *schema.Structural {
	if property, ok := s.Properties[part]; ok {
		return &property
	}
	if s.Items != nil {
		return s.Items
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

// comparePlaces orders values: those around others come first, fields by their names, items by their indexes.
func comparePlaces(a, b []string) int {
	return slices.CompareFunc(a, b, func(a, b string) int {
		if len(a) != len(b) && strings.HasPrefix(a, "[") && strings.HasPrefix(b, "[") && isIndex(a) && isIndex(b) {
			return cmp.Compare(len(a), len(b))
		}
		return strings.Compare(a, b)
	})
}

func isIndex(part string) bool { return strings.Trim(part, "[0123456789]") == "" }
