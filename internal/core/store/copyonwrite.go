package store

import (
	"reflect"
	"slices"
)

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
