package engine

// fifoKept is how many places an empty list keeps.
const fifoKept = 1024

// fifo is a first-in, first-out list. Its memory follows the number of elements in it.
type fifo[T any] struct {
	items []T
	head  int
}

func (f *fifo[T]) len() int { return len(f.items) - f.head }

func (f *fifo[T]) push(item T) {
	switch {
	case f.head == len(f.items):
		f.items, f.head = f.items[:0], 0
	case f.head > len(f.items)/2 && len(f.items) == cap(f.items):
		// Making room in front costs no more than growing, and keeps a list that never runs empty from growing for ever.
		n := copy(f.items, f.items[f.head:])
		clear(f.items[n:])
		f.items, f.head = f.items[:n], 0
	}
	f.items = append(f.items, item)
}

// pop removes the first element. There must be one.
func (f *fifo[T]) pop() T {
	var none T
	item := f.items[f.head]
	f.items[f.head] = none
	f.head++
	if f.head == len(f.items) && cap(f.items) > fifoKept {
		// What one burst needed is not kept for ever.
		f.items, f.head = nil, 0
	}
	return item
}

// all is what is in the list, first in first.
func (f *fifo[T]) all() []T { return f.items[f.head:] }
