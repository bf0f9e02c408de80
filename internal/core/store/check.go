package store

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The checks here take the path of the parent and the name of the field, so that a good value costs no path.

// required returns a Required error for each empty value; fields are pairs of a field's name and its value.
func required(path *field.Path, fields ...string) field.ErrorList {
	var errs field.ErrorList
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i+1] == "" {
			errs = append(errs, field.Required(path.Child(fields[i]), ""))
		}
	}
	return errs
}

// subdomain wants a DNS-1123 subdomain.
func subdomain(value string, path *field.Path, child string) field.ErrorList {
	if isSubdomain(value) {
		return nil
	}
	return appendInvalid(nil, path.Child(child), value, validation.IsDNS1123Subdomain(value))
}

// dnsLabel wants a DNS-1123 label.
func dnsLabel(value string, path *field.Path, child string) field.ErrorList {
	if isDNSLabel(value) {
		return nil
	}
	return appendInvalid(nil, path.Child(child), value, validation.IsDNS1123Label(value))
}

// labelKey wants the key of a label.
func labelKey(value string, path *field.Path, child string) field.ErrorList {
	if isQualifiedName(value) {
		return nil
	}
	return appendInvalid(nil, path.Child(child), value, validation.IsQualifiedName(value))
}

// oneOf wants one of the allowed values, which are in ascending order.
func oneOf[V ~string](value V, path *field.Path, child string, allowed []V) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Child(child), value, allowed)}
}

// within255 wants a number from 0 to 255.
func within255(n int32, path *field.Path, child string) field.ErrorList {
	if n >= 0 && n <= 255 {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child(child), n, validation.InclusiveRangeError(0, 255))}
}

// quantityCheck looks for a fault in a quantity and gives the value to show with it; no fault is "".
type quantityCheck func(q apiresource.Quantity) (value any, fault string)

// notNegative wants a number of bytes, counted as an int64, that is not below zero.
func notNegative(q apiresource.Quantity) (value any, fault string) {
	if n := q.Value(); n < 0 {
		return n, "must be a valid resource quantity"
	}
	return nil, ""
}

// positive wants more than nothing.
func positive(q apiresource.Quantity) (value any, fault string) {
	if q.Sign() <= 0 {
		return q.String(), "must be greater than zero"
	}
	return nil, ""
}

// eachQuantity applies the checks to every quantity of a list; errors come in the order of the keys.
func eachQuantity(list corev1.ResourceList, path *field.Path, checks ...quantityCheck) field.ErrorList {
	if q, only := onlyStorage(list); only {
		return checkQuantity(corev1.ResourceStorage, q, path, checks)
	}
	var errs field.ErrorList
	for name, q := range list {
		errs = append(errs, checkQuantity(name, q, path, checks)...)
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return errs
}

func checkQuantity(name corev1.ResourceName, q apiresource.Quantity, path *field.Path, checks []quantityCheck) field.ErrorList {
	var errs field.ErrorList
	for _, check := range checks {
		if value, fault := check(q); fault != "" {
			errs = append(errs, field.Invalid(path.Key(string(name)), value, fault))
		}
	}
	return errs
}

// sortedKeys are the keys of a map, in an order that may reach a caller.
func sortedKeys[M ~map[K]V, K ~string, V any](m M) []K {
	if len(m) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}

// sameMap reports whether both are one piece of memory, or empty.
func sameMap[M ~map[K]V, K comparable, V any](a, b M) bool {
	return len(a) == len(b) && (len(a) == 0 || reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer())
}

// equalMaps reports whether both hold the same; nil is empty.
func equalMaps[M ~map[K]V, K, V comparable](a, b M) bool { return sameMap(a, b) || maps.Equal(a, b) }
