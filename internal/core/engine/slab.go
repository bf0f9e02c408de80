package engine

// slab makes values of one type in one allocation for several. Their memory is freed together, too, so it is for values of which an engine
// has few, and that it has from its start.
type slab[T any] struct {
	unused []T
	// blocks has all blocks that were made if keeps is true: then the next engine uses them again (see Remains). The first n are in use.
	blocks [][]T
	n      int
	keeps  bool
}

// slabLen is the number of values that are made together.
const slabLen = 8

// next returns a zero value.
func (s *slab[T]) next() *T {
	if len(s.unused) == 0 {
		s.unused = s.block()
	}
	v := &s.unused[0]
	s.unused = s.unused[1:]
	return v
}

func (s *slab[T]) block() []T {
	if s.n < len(s.blocks) {
		s.n++
		return s.blocks[s.n-1]
	}
	block := make([]T, slabLen)
	if s.keeps {
		s.blocks = append(s.blocks, block)
		s.n++
	}
	return block
}

// renewed returns the slab for the next engine. Nothing uses its values any more.
func (s *slab[T]) renewed() slab[T] {
	for _, block := range s.blocks[:s.n] {
		clear(block)
	}
	return slab[T]{blocks: s.blocks, keeps: true}
}
