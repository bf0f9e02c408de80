package engine

import (
	"github.com/volsim/volsim/api"
)

// chunkLen is the number of changes in one chunk.
const chunkLen = 8

// chunksKept is the number of unused chunks that a pool retains.
const chunksKept = 512

type chunk[T api.Object] [chunkLen]delta[T]

// chunkPool has the unused chunks of the lists of one kind, which are empty.
type chunkPool[T api.Object] struct{ unused []*chunk[T] }

func (p *chunkPool[T]) get() *chunk[T] {
	last := len(p.unused) - 1
	if last < 0 {
		return new(chunk[T])
	}
	c := p.unused[last]
	p.unused = p.unused[:last]
	return c
}

func (p *chunkPool[T]) put(c *chunk[T]) {
	if len(p.unused) < chunksKept {
		p.unused = append(p.unused, c)
	}
}

// deltaList is a first-in, first-out list of changes. It grows by chunks, which are reused: elements never move. An empty list has none.
type deltaList[T api.Object] struct {
	chunks fifo[*chunk[T]]
	head   int // index of the first change in the first chunk
	n      int
	pool   *chunkPool[T]
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
		l.chunks.push(l.pool.get())
	}
	l.n++
	return l.at(l.n - 1)
}

// pop removes the first change.
func (l *deltaList[T]) pop() {
	*l.at(0) = delta[T]{}
	l.head++
	l.n--
	if l.head == chunkLen || l.n == 0 {
		l.head = 0
		l.pool.put(l.chunks.pop())
	}
}

// drop removes all changes.
func (l *deltaList[T]) drop() {
	for l.n > 0 {
		l.pop()
	}
}
