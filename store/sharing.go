package store

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
)

// resourceLists are lists with storage in them and nothing else, by size, for all objects that say the same. Such a list is a map of
// several hundred bytes, the largest part of a small volume or claim, and most clusters have few sizes.
type resourceLists struct {
	bySize map[apiresource.Quantity]corev1.ResourceList
}

// maxLists bounds the memory for lists that nobody may have any more.
const maxLists = 16_384

// share is a list that says the same and is known, or else list itself, which is known from then on.
func (known *resourceLists) share(list corev1.ResourceList) corev1.ResourceList {
	size, only := onlyStorage(list)
	if !only {
		return list
	}
	if same, ok := known.bySize[size]; ok {
		return same
	}
	if known.bySize == nil || len(known.bySize) == maxLists {
		known.bySize = map[apiresource.Quantity]corev1.ResourceList{}
	}
	known.bySize[size] = list
	return list
}

// lazyCopy is a slice that belongs to somebody else until it is written to.
type lazyCopy[E any] struct {
	items []E
	own   bool
}

// at gives access to an item for writing. The first call copies the slice.
func (l *lazyCopy[E]) at(i int) *E {
	if !l.own {
		l.items, l.own = slices.Clone(l.items), true
	}
	return &l.items[i]
}

// sharesAll reports whether two structs have the same values down to where their pointers, slices and maps lead. It is the case
// for copies of a struct, and saves comparing what they share.
func sharesAll[S any](a, b *S) bool {
	return a == b || sharesFields(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
}

func sharesFields(a, b reflect.Value) bool {
	for i := range a.NumField() {
		x, y := a.Field(i), b.Field(i)
		same := false
		switch x.Kind() {
		case reflect.Pointer, reflect.Map:
			same = x.UnsafePointer() == y.UnsafePointer()
		case reflect.Slice:
			same = x.Len() == y.Len() && (x.Len() == 0 || x.UnsafePointer() == y.UnsafePointer())
		case reflect.Struct:
			same = sharesFields(x, y)
		default:
			same = x.Equal(y)
		}
		if !same {
			return false
		}
	}
	return true
}
