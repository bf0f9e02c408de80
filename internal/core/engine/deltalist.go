package engine

import (
	"github.com/volsim/volsim/api"
)

// chunkLen is the number of changes in one chunk.
const chunkLen = 8

// chunksKept is the number of unused chunks that a list retains.
const chunksKept = 512

type chunk[T api.Object] [chunkLen]delta[T]

// deltaList is a first-in, first-out list of changes. It grows by chunks, which are reused: elements never move.
type deltaList[T api.Object] struct {
	chunks fifo[*chunk[T]]
	head   int // index of the first change in the first chunk
	n      int
	unused []*chunk[T]
}

func (l *deltaList[T]) len() int { return l.n }

// at is the ith change in the list.
func (l *deltaList[T]) at(i int) *delta[T] {
	i += l.head
	return &l.chunks.all()[i/chunkLen][i%chunkLen]
}

// push adds a zero change and returns it.
func (l *deltaList[T]) push() *delta[T] {
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
func (l *deltaList[T]) pop() {
	*l.at(0) = delta[T]{}
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
