package strategy

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

// These functions take the path of the parent and the name of the field separately, so that a valid value allocates no path.

// Required returns a Required error for each empty value. fields lists pairs of a name and a value.
func Required(path *field.Path, fields ...string) field.ErrorList {
	var errs field.ErrorList
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i+1] == "" {
			errs = append(errs, field.Required(path.Child(fields[i]), ""))
		}
	}
	return errs
}

// Subdomain requires a DNS-1123 subdomain.
func Subdomain(value string, path *field.Path, child string) field.ErrorList {
	if IsSubdomain(value) {
		return nil
	}
	return AppendInvalid(nil, path.Child(child), value, validation.IsDNS1123Subdomain(value))
}

// DNSLabel requires a DNS-1123 label.
func DNSLabel(value string, path *field.Path, child string) field.ErrorList {
	if IsDNSLabel(value) {
		return nil
	}
	return AppendInvalid(nil, path.Child(child), value, validation.IsDNS1123Label(value))
}

// LabelKey requires the key of a label.
func LabelKey(value string, path *field.Path, child string) field.ErrorList {
	if IsQualifiedName(value) {
		return nil
	}
	return AppendInvalid(nil, path.Child(child), value, validation.IsQualifiedName(value))
}

// OneOf requires one of the allowed values, which must be in ascending order.
func OneOf[V ~string](value V, path *field.Path, child string, allowed []V) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Child(child), value, allowed)}
}

// within255 requires a number from 0 to 255.
func within255(n int32, path *field.Path, child string) field.ErrorList {
	if n >= 0 && n <= 255 {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child(child), n, validation.InclusiveRangeError(0, 255))}
}

// quantityCheck returns what is wrong with a quantity, and the value to report with it. fault is "" for a valid quantity.
type quantityCheck func(q apiresource.Quantity) (value any, fault string)

// notNegative requires a quantity that is not negative as an int64.
func notNegative(q apiresource.Quantity) (value any, fault string) {
	if n := q.Value(); n < 0 {
		return n, "must be a valid resource quantity"
	}
	return nil, ""
}

// positive requires a quantity above zero.
func positive(q apiresource.Quantity) (value any, fault string) {
	if q.Sign() <= 0 {
		return q.String(), "must be greater than zero"
	}
	return nil, ""
}

// eachQuantity applies the checks to every quantity of a list. Errors are in the order of the keys.
func eachQuantity(list corev1.ResourceList, path *field.Path, checks ...quantityCheck) field.ErrorList {
	if q, only := OnlyStorage(list); only {
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

// SameMap reports whether a and b are the same map, or both empty.
func SameMap[M ~map[K]V, K comparable, V any](a, b M) bool {
	return len(a) == len(b) && (len(a) == 0 || reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer())
}

// equalMaps reports whether the maps have equal entries. A nil map is empty.
func equalMaps[M ~map[K]V, K, V comparable](a, b M) bool { return SameMap(a, b) || maps.Equal(a, b) }
