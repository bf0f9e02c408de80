// Package decode decodes API objects from JSON as kube-apiserver does. It bounds the exponents of quantities first (API-080).
package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	kjson "sigs.k8s.io/json"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// Typed decodes an object from JSON as the API server does: names are case-sensitive, unknown fields are dropped.
func Typed[T api.Object](data []byte) (T, error) {
	var none T
	if err := CheckQuantities(data, reflect.TypeFor[T]()); err != nil {
		return none, err
	}
	obj := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, obj); err != nil {
		return none, err
	}
	return obj, nil
}

// Strict decodes JSON into obj. Unknown and duplicate fields are errors.
func Strict(data []byte, obj api.Object) error {
	if err := CheckQuantities(data, reflect.TypeOf(obj)); err != nil {
		return err
	}
	strict, err := kjson.UnmarshalStrict(data, obj)
	if err != nil {
		return err
	}
	return errors.Join(strict...)
}

// Object decodes a single JSON object, and keeps numbers as they are written.
func Object(data []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("unexpected data after the JSON object")
	}
	if doc == nil {
		return nil, fmt.Errorf("null is not an object")
	}
	return doc, nil
}

// maxExponent is the largest exponent of a quantity. The arithmetic of quantities computes the power of ten, which for 1e999999999 would
// not end.
const maxExponent = 999

var inExponent = regexp.MustCompile(`^[+-]?[0-9.]*[eE]([+-]?[0-9]+)$`)

// mayHideExponent reports whether the JSON contains an e followed by four or more digits, or an escape that could hide one.
func mayHideExponent(data []byte) bool {
	const digits = 4
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case 'e', 'E':
			rest := data[i+1:]
			if len(rest) > 0 && (rest[0] == '+' || rest[0] == '-') {
				rest = rest[1:]
			}
			n := 0
			for n < digits && n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
				n++
			}
			if n == digits {
				return true
			}
		case '\\':
			if i+1 < len(data) && data[i+1] == 'u' {
				return true
			}
		}
	}
	return false
}

// CheckQuantities rejects JSON for the type t with a quantity whose exponent is out of range. It decodes the JSON only if that contains
// something that could be a long exponent.
func CheckQuantities(data []byte, t reflect.Type) error {
	if !mayHideExponent(data) {
		return nil
	}
	doc, err := Object(data)
	if err != nil {
		return err
	}
	return walk(doc, t)
}

// CheckValue is CheckQuantities for JSON that was decoded into value.
func CheckValue(value any, data []byte, t reflect.Type) error {
	if !mayHideExponent(data) {
		return nil
	}
	return walk(value, t)
}

// walk checks the parts of doc that are decoded into quantities of a value of type t.
func walk(doc any, t reflect.Type) error {
	if t == reflect.TypeFor[apiresource.Quantity]() {
		return checkExponent(doc)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return walk(doc, t.Elem())
	case reflect.Slice:
		items, _ := doc.([]any)
		for _, item := range items {
			if err := walk(item, t.Elem()); err != nil {
				return err
			}
		}
	case reflect.Map:
		entries, _ := doc.(map[string]any)
		for _, key := range objects.SortedKeys(entries) {
			if err := walk(entries[key], t.Elem()); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	case reflect.Struct:
		return walkFields(doc, t)
	}
	return nil
}

func walkFields(doc any, t reflect.Type) error {
	entries, _ := doc.(map[string]any)
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		value, ok := entries[name]
		switch {
		case name == "" && t.Field(i).Anonymous:
			if err := walk(doc, t.Field(i).Type); err != nil {
				return err
			}
		case ok:
			if err := walk(value, t.Field(i).Type); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// checkExponent checks the exponent of a quantity (API-080).
func checkExponent(doc any) error {
	switch doc := doc.(type) {
	case json.Number:
		return CheckExponent(doc.String())
	case string:
		return CheckExponent(doc)
	}
	return nil
}

// CheckExponent rejects a quantity whose exponent is out of range, which parsing it would not survive.
func CheckExponent(text string) error {
	text = strings.TrimSpace(text)
	m := inExponent.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	if n, err := strconv.Atoi(m[1]); err != nil || n > maxExponent || n < -maxExponent {
		return fmt.Errorf("quantity %q: the exponent is out of range; use at most %d", text, maxExponent)
	}
	return nil
}
