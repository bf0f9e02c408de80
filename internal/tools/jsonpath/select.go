package jsonpath

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Find returns the values that the path selects. An index that a list does not have, and a step that does not fit a value, select nothing.
func (p Path) Find(doc any) []any {
	steps := p.steps
	if t, ok := doc.(typed); ok {
		if doc, steps, ok = t.lead(steps); !ok {
			return nil
		}
	}
	found, _ := follow(steps, []any{doc}, false)
	return found
}

// Select returns the values that the path selects in decoded JSON, with the errors of kubectl.
func (p Path) Select(doc any) ([]any, error) { return follow(p.steps, []any{doc}, true) }

// follow takes one step after the other. exact says that a step fails as in kubectl.
func follow(steps []pathStep, values []any, exact bool) ([]any, error) {
	for _, s := range steps {
		next, err := s.from(values, exact)
		if err != nil {
			return nil, err
		}
		values = next
	}
	return values, nil
}

// from returns what the step selects in values.
func (s pathStep) from(values []any, exact bool) (found []any, err error) {
	for _, v := range values {
		switch s.kind {
		case 'k':
			if field, ok := fieldOf(v, s.key); ok {
				found = append(found, field)
			}
		case '*':
			found = append(found, children(v)...)
		case '.':
			found = within(v, found)
		case '?':
			list, isList := elements(v)
			if !isList && exact {
				return nil, fmt.Errorf("%v is not array or slice and cannot be filtered", v)
			}
			for _, element := range list {
				holds, err := s.where.holds(element, exact)
				if err != nil {
					return nil, err
				}
				if holds {
					found = append(found, element)
				}
			}
		case 'i', ':':
			list, isList := elements(v)
			switch {
			case v == nil:
			case !exact:
				found = append(found, s.clamped(list)...)
			case !isList:
				return nil, fmt.Errorf("%s is not array or slice", goType(v))
			default:
				part, err := s.cut(list)
				if err != nil {
					return nil, err
				}
				if part == nil {
					return found, nil // as in kubectl: an empty slice is the last one
				}
				found = append(found, part...)
			}
		}
	}
	if s.kind == ',' {
		for _, one := range s.either {
			part, err := follow(one, values, exact)
			if err != nil {
				return nil, err
			}
			found = append(found, part...)
		}
	}
	return found, nil
}

// goType returns the type of a value in messages of kubectl.
func goType(v any) string {
	switch comparedAs(v) {
	case "int":
		return "int64"
	case "float":
		return "float64"
	}
	return fmt.Sprintf("%T", v)
}

// fieldOf returns a field of a value; ok is false if there is none.
func fieldOf(v any, key string) (field any, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		field, ok = v[key]
	case typed:
		return v.field(key)
	}
	return field, ok
}

// elements returns the elements of a list; ok is false for anything else.
func elements(v any) (list []any, ok bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case typed:
		return v.elements()
	}
	return nil, false
}

// children returns the values of a map, in the order of their keys, the elements of a list, or, as in kubectl, the bytes of a text.
func children(v any) []any {
	if t, ok := v.(typed); ok {
		v = t.decoded()
	}
	switch v := v.(type) {
	case map[string]any:
		values := make([]any, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			values = append(values, v[key])
		}
		return values
	case []any:
		return v
	case string:
		values := make([]any, len(v))
		for i := range len(v) {
			values[i] = json.Number(strconv.Itoa(int(v[i])))
		}
		return values
	}
	return nil
}

// within appends a value that has children, and all such values in it.
func within(v any, found []any) []any {
	if t, ok := v.(typed); ok {
		v = t.decoded()
	}
	values := children(v)
	if len(values) > 0 {
		found = append(found, v)
	}
	for _, child := range values {
		found = within(child, found)
	}
	return found
}

// clamped returns the elements of a list that an index or a slice selects. A negative index counts from the end.
func (s pathStep) clamped(list []any) []any {
	if s.kind == 'i' {
		i := s.index
		if i < 0 {
			i += len(list)
		}
		if i < 0 || i >= len(list) {
			return nil
		}
		return list[i : i+1]
	}
	from, to, step := s.bounds(len(list))
	var found []any
	for i := max(from, 0); i < min(to, len(list)) && step > 0; i += step {
		found = append(found, list[i])
	}
	return found
}

// bounds returns the limits of a slice of a list with so many elements.
func (s pathStep) bounds(count int) (from, to, step int) {
	from, to, step = 0, count, 1
	for i, at := range []*int{&from, &to, &step} {
		if s.slice[i] == nil {
			continue
		}
		if *at = *s.slice[i]; *at < 0 && i < 2 {
			*at += count
		}
	}
	return from, to, min(step, count+1)
}

// cut returns the elements of a list that an index or a slice selects as in kubectl, nil for an empty slice.
func (s pathStep) cut(list []any) ([]any, error) {
	from, to, step := s.bounds(len(list))
	if s.kind == 'i' {
		if from = s.index; from < 0 {
			from += len(list)
		}
		to = from + 1
	}
	outside := func(index int) error {
		return fmt.Errorf("array index out of bounds: index %d, length %d", index, len(list))
	}
	switch {
	case from == to:
		return nil, nil
	case from < 0 || from >= len(list):
		return nil, outside(from)
	case to < 0 || to > len(list):
		return nil, outside(to - 1)
	case from > to:
		return nil, fmt.Errorf("starting index %d is greater than ending index %d", from, to)
	case step <= 0:
		return nil, errors.New("step must be > 0")
	}
	var found []any
	for i := from; i < to; i += step {
		found = append(found, list[i])
	}
	return found, nil
}

// Value returns the selected values as text, separated by commas; "" if there are none.
func (p Path) Value(doc any) string { return joinTexts(p.Find(doc), ",") }

// joinTexts joins values as texts.
func joinTexts(found []any, separator string) string {
	if len(found) == 1 {
		return Text(found[0])
	}
	texts := make([]string, len(found))
	for i, v := range found {
		texts[i] = Text(v)
	}
	return strings.Join(texts, separator)
}

// Text formats a value for scripts: strings without quotes, everything else as compact JSON.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
