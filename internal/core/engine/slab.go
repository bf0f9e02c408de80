package engine

// slab makes values of one type in one allocation for several. Their memory is freed together, too, so it is for values of which an engine
// has few, and that it has from its start.
type slab[T any] struct{ unused []T }

// slabLen is the number of values that are made together.
const slabLen = 8

// next returns a zero value.
func (s *slab[T]) next() *T {
	if len(s.unused) == 0 {
		s.unused = make([]T, slabLen)
	}
	v := &s.unused[0]
	s.unused = s.unused[1:]
	return v
}
