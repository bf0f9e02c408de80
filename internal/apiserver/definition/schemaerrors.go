package definition

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// Violations returns what is wrong with a value at a path, in the order of the fields. What an object lacks comes after what is wrong with its fields,
// in the order of the schema (API-570).
func Violations(validator *validate.SchemaValidator, value any, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, err := range validator.Validate(value).Errors {
		errs = append(errs, schemaError(err, at))
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(orderOf(a, at), orderOf(b, at)) })
	return errs
}

// orderOf returns the path by which an error about a value at a path is sorted.
func orderOf(err *field.Error, at *field.Path) string {
	place := placeOf(err, at)
	if err.Type == field.ErrorTypeRequired {
		place = place[:strings.LastIndexByte(place, '.')+1] + "\uffff"
	}
	// The items of a list are in its order.
	return index.ReplaceAllStringFunc(place, func(i string) string { return fmt.Sprintf("%10s", i) })
}

var index = regexp.MustCompile(`\[[0-9]+\]`)

// placeOf returns the path of an error about a value at a path. Some errors have the place within the value in their text only.
func placeOf(err *field.Error, at *field.Path) string {
	place := ""
	if quoted, ok := strings.CutPrefix(err.Detail, `"`); ok {
		place, _, _ = strings.Cut(quoted, `"`)
	} else if strings.HasPrefix(err.Detail, "Checked value ") {
		place = err.Detail[strings.LastIndexByte(err.Detail, ' ')+1:]
	}
	switch {
	case place == "":
		return err.Field
	case at == nil:
		return place
	}
	return at.String() + "." + place
}

// schemaError returns an error of the validator of the value at a path as the API server reports it.
func schemaError(err error, path *field.Path) *field.Error {
	violation, ok := err.(*openapierrors.Validation)
	if !ok {
		return field.Invalid(path, "", err.Error())
	}
	if name := strings.TrimPrefix(violation.Name, "."); name != "" {
		path = child(path, name)
	}
	number := func(value any) int {
		if n, ok := value.(int64); ok {
			return int(n)
		}
		return -1
	}
	value := violation.Value
	if value == nil {
		value = ""
	}
	switch violation.Code() {
	case openapierrors.RequiredFailCode:
		return field.Required(path, "")
	case openapierrors.EnumFailCode:
		var allowed []string
		for _, v := range violation.Values {
			text, ok := v.(string)
			if !ok {
				data, _ := json.Marshal(v) // it was decoded from JSON
				text = string(data)
			}
			allowed = append(allowed, text)
		}
		return field.NotSupported(path, violation.Value, allowed)
	case openapierrors.TooLongFailCode:
		return field.TooLong(path, "", number(violation.Valid))
	case openapierrors.MaxItemsFailCode, openapierrors.TooManyPropertiesCode:
		return field.TooMany(path, number(violation.Value), number(violation.Valid))
	case openapierrors.InvalidTypeCode:
		return field.TypeInvalid(path, value, err.Error())
	}
	return field.Invalid(path, value, err.Error())
}
