package strategy

import (
	"reflect"
	"slices"
)

// lazyCopy is a shared slice that is copied at the first write.
type lazyCopy[E any] struct {
	items []E
	own   bool
}

// at returns a pointer through which an item may be written. The first call copies the slice.
func (l *lazyCopy[E]) at(i int) *E {
	if !l.own {
		l.items, l.own = slices.Clone(l.items), true
	}
	return &l.items[i]
}

// sharesAll reports whether all fields of two structs are equal, and their pointers, slices and maps refer to the same memory, as in
// Shallow copies. It is cheaper than a deep comparison.
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
