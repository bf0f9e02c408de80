// Package strategic applies strategic merge patches, the default of kubectl patch.
//
// It does what k8s.io/apimachinery/pkg/util/strategicpatch does for a patch that a user writes (TestLibrary compares the two). That package
// reads schemas in protocol buffers: with it the playground would load 2 MB more.
package strategic

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// The directives of a patch.
const (
	patchDirective  = "$patch"
	retainDirective = "$retainKeys"
	deletePrefix    = "$deleteFromPrimitiveList/"
	orderPrefix     = "$setElementOrder/"
)

// Apply returns the document of an object of that Go type with the patch applied. It changes neither document. A list of the result may
// be shared with them.
func Apply(doc, patch map[string]any, t reflect.Type) (map[string]any, error) {
	switch directive := patch[patchDirective]; directive {
	case nil:
	case "replace":
		return withoutDirective(patch), nil
	case "delete":
		return map[string]any{}, nil
	default:
		return nil, fmt.Errorf("unknown value %v of %s: want replace or delete", directive, patchDirective)
	}
	result, err := retained(doc, patch)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		value := patch[name]
		switch field, deletes := strings.CutPrefix(name, deletePrefix); {
		case name == retainDirective:
		case strings.HasPrefix(name, orderPrefix):
			return nil, fmt.Errorf("%s is not supported", name)
		case deletes:
			if result[field], err = deleted(result[field], value); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		case value == nil:
			delete(result, name)
		default:
			merged, keep, err := fieldOf(t, name).merge(result[name], value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if result[name] = merged; !keep {
				delete(result, name)
			}
		}
	}
	return result, nil
}

// retained returns a copy of the document, with only the fields that the patch retains, if it says so.
func retained(doc, patch map[string]any) (map[string]any, error) {
	result := make(map[string]any, len(doc)+len(patch))
	maps.Copy(result, doc)
	directive, ok := patch[retainDirective]
	if !ok {
		return result, nil
	}
	keys, ok := directive.([]any)
	for name, value := range patch {
		ok = ok && (value == nil || strings.HasPrefix(name, "$") || slices.Contains(keys, any(name)))
	}
	if !ok {
		return nil, fmt.Errorf("invalid %s: want a list with all fields of the patch", retainDirective)
	}
	maps.DeleteFunc(result, func(name string, _ any) bool { return !slices.Contains(keys, any(name)) })
	return result, nil
}

// deleted returns the list without the given scalars.
func deleted(list, scalars any) (any, error) {
	gone, ok := scalars.([]any)
	if !ok {
		return nil, errors.New("want a list")
	}
	var rest []any
	values, _ := list.([]any)
	for _, v := range values {
		if !slices.Contains(gone, v) {
			rest = append(rest, v)
		}
	}
	return rest, nil
}

func withoutDirective(patch map[string]any) map[string]any {
	result := maps.Clone(patch)
	delete(result, patchDirective)
	return result
}

// field says how a patch changes a field of an object.
type field struct {
	t        reflect.Type // of the value; nil if unknown
	strategy []string     // merge, replace, retainKeys
	key      string       // which field identifies an element of a list
}

// fieldOf returns the field of a struct with that name in JSON.
func fieldOf(t reflect.Type, name string) field {
	t = elem(t, reflect.Pointer)
	if t == nil {
		return field{}
	}
	if t.Kind() == reflect.Map {
		return field{t: t.Elem()}
	}
	if t.Kind() != reflect.Struct {
		return field{}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name {
			return field{t: f.Type, strategy: strings.Split(f.Tag.Get("patchStrategy"), ","), key: f.Tag.Get("patchMergeKey")}
		}
		if tag == "" && f.Anonymous {
			if inner := fieldOf(f.Type, name); inner.t != nil {
				return inner
			}
		}
	}
	return field{}
}

// elem returns the type of what a pointer or slice refers to.
func elem(t reflect.Type, kind reflect.Kind) reflect.Type {
	for t != nil && t.Kind() == kind {
		t = t.Elem()
	}
	return t
}

// merge returns the value of the field after the patch. keep is false if it has none.
func (f field) merge(old, patch any) (value any, keep bool, err error) {
	switch patch := patch.(type) {
	case map[string]any:
		before, ok := old.(map[string]any)
		switch {
		case ok && slices.Contains(f.strategy, "replace"):
			return patch, true, nil
		case ok:
			value, err = Apply(before, patch, f.t)
			return value, true, err
		}
	case []any:
		before, ok := old.([]any)
		switch {
		case ok && slices.Contains(f.strategy, "merge"):
			value, err = f.mergeList(before, patch)
			return value, true, err
		case ok:
			return patch, true, nil
		}
	}
	value, keep = added(patch)
	return value, keep, nil
}

// added returns a value of the patch that nothing is merged with: without nulls, and without objects that have a directive.
func added(patch any) (value any, keep bool) {
	switch patch := patch.(type) {
	case map[string]any:
		if _, directed := patch[patchDirective]; directed {
			return nil, false
		}
		result := map[string]any{}
		for name, v := range patch {
			if v, keep := added(v); keep && v != nil && !strings.HasPrefix(name, "$") {
				result[name] = v
			}
		}
		return result, true
	case []any:
		result := []any{}
		for _, v := range patch {
			if v, keep := added(v); keep {
				result = append(result, v)
			}
		}
		return result, true
	}
	return patch, true
}

// mergeList merges lists of objects by their key, or of scalars.
func (f field) mergeList(old, patch []any) ([]any, error) {
	var items []any
	replaces := false
	for _, item := range patch {
		fields, isObject := item.(map[string]any)
		if !isObject && f.key == "" {
			items = append(items, item)
			continue
		}
		if _, identified := fields[f.key]; !identified && fields[patchDirective] != "replace" {
			return nil, fmt.Errorf("element %v has no field %q, which identifies it", item, f.key)
		}
		switch directive := fields[patchDirective]; directive {
		case nil:
			items = append(items, item)
		case "replace":
			replaces = true
		case "delete":
			old = slices.DeleteFunc(slices.Clone(old), func(v any) bool { return f.same(v, item) })
		default:
			return nil, fmt.Errorf("unknown value %v of %s in a list: want replace or delete", directive, patchDirective)
		}
	}
	if replaces {
		return items, nil
	}
	element := elem(f.t, reflect.Slice)
	return f.inOrder(old, items, func(stored, item map[string]any) (map[string]any, error) { return Apply(stored, item, element) })
}

// inOrder returns the elements of both lists, and merges those that both have. Those of the patch keep their order, and each other element
// stands before the next one of the patch that followed it. New elements come first.
func (f field) inOrder(old, patch []any, merge func(stored, item map[string]any) (map[string]any, error)) ([]any, error) {
	index := func(list []any, item any) int {
		return slices.IndexFunc(list, func(v any) bool { return f.same(v, item) })
	}
	var merged []any
	for _, item := range patch {
		if index(merged, item) >= 0 {
			continue
		}
		at := index(old, item)
		for _, before := range old[:max(at, 0)] {
			if index(patch, before) < 0 && index(merged, before) < 0 {
				merged = append(merged, before)
			}
		}
		if fields, isObject := item.(map[string]any); isObject && at >= 0 {
			var err error
			if item, err = merge(old[at].(map[string]any), fields); err != nil {
				return nil, err
			}
		}
		merged = append(merged, item)
	}
	for _, rest := range old {
		if index(merged, rest) < 0 {
			merged = append(merged, rest)
		}
	}
	return merged, nil
}

// same reports whether two elements of a list have the same identity.
func (f field) same(a, b any) bool {
	if f.key == "" {
		return a == b
	}
	left, _ := a.(map[string]any)
	right, _ := b.(map[string]any)
	return left != nil && right != nil && left[f.key] == right[f.key]
}
