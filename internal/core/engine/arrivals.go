package engine

import (
	"github.com/volsim/volsim/api"
)

// chunkLen is how many changes are kept in one piece of memory.
const chunkLen = 32

// chunksKept is how many pieces of memory a list keeps for later.
const chunksKept = 16

type chunk[T api.Object] [chunkLen]arrival[T]

// arrivals is a list of changes, first in, first out. It grows in pieces, which are used again: what is in the list never moves.
type arrivals[T api.Object] struct {
	chunks fifo[*chunk[T]]
	head   int // of the first change in the first chunk
	n      int
	unused []*chunk[T]
}

func (l *arrivals[T]) len() int { return l.n }

// at is the ith change in the list.
func (l *arrivals[T]) at(i int) *arrival[T] {
	i += l.head
	return &l.chunks.all()[i/chunkLen][i%chunkLen]
}

// push makes room for one more change at the end.
func (l *arrivals[T]) push() *arrival[T] {
	if l.head+l.n == chunkLen*l.chunks.len() {
		var fresh *chunk[T]
		if last := len(l.unused) - 1; last >= 0 {
			fresh, l.unused = l.unused[last], l.unused[:last]
		} else {
			fresh = new(chunk[T])
		}
		l.chunks.push(fresh)
	}
	l.n++
	return l.at(l.n - 1)
}

// pop removes the first change.
func (l *arrivals[T]) pop() {
	*l.at(0) = arrival[T]{}
	l.head++
	l.n--
	if l.head < chunkLen {
		return
	}
	l.head = 0
	if used := l.chunks.pop(); len(l.unused) < chunksKept {
		l.unused = append(l.unused, used)
	}
}
