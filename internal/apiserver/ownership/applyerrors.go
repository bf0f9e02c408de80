package ownership

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

const (
	wrongConfiguration = "failed to create typed patch object ("
	notDeclared        = "field not declared in schema"
)

// inOrder returns the error of an apply in an order of its own (API-567). structured-merge-diff visits the fields of the configuration in the order
// of a Go map, stops at the first one that is unknown, and lists errors as it finds them. sample is an object of the kind.
func inOrder(err error, converter managedfields.TypeConverter, sample runtime.Object, configuration *unstructured.Unstructured) error {
	if !strings.HasPrefix(err.Error(), wrongConfiguration) {
		return err
	}
	head, details, _ := strings.Cut(err.Error(), "): ")
	if !strings.Contains(details, notDeclared) {
		lines := strings.Split(details, "\n")
		slices.SortStableFunc(lines[1:], comparePaths)
		return errors.New(head + "): " + strings.Join(lines, "\n"))
	}
	typed, convertErr := converter.ObjectToTyped(sample)
	if convertErr != nil {
		return err
	}
	lines := unknownFields{typed.Schema()}.in(configuration.Object, typed.TypeRef(), nil)
	switch len(lines) {
	case 0:
		return err
	case 1:
		details = lines[0]
	default:
		details = "errors:\n  " + strings.Join(lines, "\n  ")
	}
	return errors.New(head + "): " + details)
}

// comparePaths compares lines that begin with paths by the names of fields. Items of a list keep the order that they have.
func comparePaths(a, b string) int {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	if strings.Count(a[:same], "[") > strings.Count(a[:same], "]") {
		return 0
	}
	return strings.Compare(a[same:], b[same:])
}

// unknownFields finds fields that a schema does not declare: in each object the first one.
type unknownFields struct{ schema *schema.Schema }

// in returns an error for each of them in a value.
func (u unknownFields) in(value any, ref schema.TypeRef, path fieldpath.Path) (lines []string) {
	atom, _ := u.schema.Resolve(ref)
	switch value := value.(type) {
	case map[string]any:
		if atom.Map == nil {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			at := append(path[:len(path):len(path)], fieldpath.PathElement{FieldName: &name})
			of := atom.Map.ElementType
			if known, ok := atom.Map.FindField(name); ok {
				of = known.Type
			} else if of == (schema.TypeRef{}) {
				return []string{at.String() + ": " + notDeclared} // nothing else is visited
			}
			lines = append(lines, u.in(value[name], of, at)...)
		}
	case []any:
		if atom.List == nil {
			return nil
		}
		for i, item := range value {
			at := append(path[:len(path):len(path)], u.element(atom.List, i, item))
			lines = append(lines, u.in(item, atom.List.ElementType, at)...)
		}
	}
	return lines
}

// element names the ith item of a list: by its keys, which may have defaults, if the list has any.
func (u unknownFields) element(list *schema.List, i int, item any) fieldpath.PathElement {
	fields, ok := item.(map[string]any)
	atom, _ := u.schema.Resolve(list.ElementType)
	if list.ElementRelationship != schema.Associative || !ok || atom.Map == nil {
		return fieldpath.PathElement{Index: &i}
	}
	var keys []any
	for _, key := range list.Keys {
		value := fields[key]
		if known, ok := atom.Map.FindField(key); ok && value == nil {
			value = known.Default
		}
		if value != nil {
			keys = append(keys, key, value)
		}
	}
	return fieldpath.PathElement{Key: fieldpath.KeyByFields(keys...)}
}
