package engine

import "slices"

// fifoKept is the capacity that an empty list retains. Bursts up to that size cost no memory of their own.
const fifoKept = 16 * 1024

// fifo is a first-in, first-out list whose memory follows its length.
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
		// Moving the items to the front costs no more than growing, and bounds a list that never runs empty.
		n := copy(f.items, f.items[f.head:])
		clear(f.items[n:])
		f.items, f.head = f.items[:n], 0
	}
	if len(f.items) == cap(f.items) {
		// append would grow a long list by a quarter only, and leave four times its length to the garbage collector.
		f.items = slices.Grow(f.items, max(8, len(f.items)))
	}
	f.items = append(f.items, item)
}

// pop removes the first element. The list must not be empty.
func (f *fifo[T]) pop() (item T) {
	f.popTo(&item)
	return item
}

// popTo is pop into the memory of the caller.
func (f *fifo[T]) popTo(item *T) {
	var none T
	*item = f.items[f.head]
	f.items[f.head] = none
	f.head++
	if f.head == len(f.items) && cap(f.items) > fifoKept {
		// The memory of a burst is released.
		f.items, f.head = nil, 0
	}
}

// all lists the elements, oldest first.
func (f *fifo[T]) all() []T { return f.items[f.head:] }
