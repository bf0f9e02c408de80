package engine

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// event is a task with its position in the order (time, sequence).
type event struct {
	at         time.Duration
	seq        uint64
	task       task
	owner      *Actor
	background bool
	rank       uint8 // see TickerConfig.Rank
}

// turn is a position among the passes of one instant: by rank, then in the order of the actors. Zero comes before all passes.
type turn struct {
	rank  uint8
	actor int
}

func (a turn) compare(b turn) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.actor, b.actor))
}

// lastTurn comes after all passes of an instant.
var lastTurn = turn{rank: math.MaxUint8}

func (a *event) turn() turn { return turn{a.rank, a.owner.index} }

// readyList lists the events that are due now, in the order in which they became due.
type readyList struct{ fifo[event] }

// take removes the ith event. For i > 0 the last event moves into its position: the order is chosen by the caller anyway.
func (r *readyList) take(i int) event {
	if i == 0 {
		return r.pop()
	}
	at, last := r.head+i, len(r.items)-1
	ev := r.items[at]
	r.items[at] = r.items[last]
	r.items[last] = event{}
	r.items = r.items[:last]
	return ev
}

// lastFirst moves the last event before all others.
func (r *readyList) lastFirst() {
	last := len(r.items) - 1
	ev := r.items[last]
	r.items[last] = event{}
	r.items = r.items[:last]
	if r.head > 0 {
		r.head--
		r.items[r.head] = ev
		return
	}
	r.items = slices.Insert(r.items, 0, ev)
}

// drop removes the events that match and keeps the order of the rest.
func (r *readyList) drop(match func(event) bool) {
	n := copy(r.items, slices.DeleteFunc(r.all(), match))
	clear(r.items[n:])
	r.items, r.head = r.items[:n], 0
}

// byTurn is the order of the passes that are due now.
type byTurn struct{}

func (byTurn) before(a, b *event) bool {
	return cmp.Or(a.turn().compare(b.turn()), cmp.Compare(a.seq, b.seq)) < 0
}

// byTime is the order of the events that are due later.
type byTime struct{}

func (byTime) before(a, b *event) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.seq < b.seq
}

// eventHeap is a binary heap of events. Its order, an O, never finds two events equal.
type eventHeap[O interface{ before(a, b *event) bool }] struct{ events []event }

func before[O interface{ before(a, b *event) bool }](a, b *event) bool {
	var order O
	return order.before(a, b)
}

func (h *eventHeap[O]) peek() (event, bool) {
	if len(h.events) == 0 {
		return event{}, false
	}
	return h.events[0], true
}

func (h *eventHeap[O]) push(ev event) {
	if len(h.events) == cap(h.events) {
		// append would grow a long list by a quarter, and leave four times its length to the garbage collector.
		h.events = slices.Grow(h.events, max(8, len(h.events)))
	}
	h.events = append(h.events, ev)
	i := len(h.events) - 1
	// The event is compared where it is: the order is called through an interface, so a pointer to ev would put it on the heap.
	for i > 0 {
		up := (i - 1) / 2
		if !before[O](&h.events[i], &h.events[up]) {
			break
		}
		h.events[i], h.events[up] = h.events[up], h.events[i]
		i = up
	}
}

func (h *eventHeap[O]) pop() event {
	top := h.events[0]
	n := len(h.events) - 1
	last := h.events[n]
	h.events[n] = event{}
	h.events = h.events[:n]
	if n > 0 {
		h.events[0] = last
		h.sink(0)
	}
	return top
}

// sink moves the event at i down to its position.
func (h *eventHeap[O]) sink(i int) {
	n := len(h.events)
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && before[O](&h.events[child+1], &h.events[child]) {
			child++
		}
		if !before[O](&h.events[child], &h.events[i]) {
			break
		}
		h.events[i], h.events[child] = h.events[child], h.events[i]
		i = child
	}
}

// drop removes the events that match.
func (h *eventHeap[O]) drop(match func(event) bool) {
	h.events = slices.DeleteFunc(h.events, match)
	for i := len(h.events)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}

func (h *eventHeap[O]) sorted() []event {
	events := slices.Clone(h.events)
	slices.SortFunc(events, func(a, b event) int {
		if before[O](&a, &b) {
			return -1
		}
		return 1
	})
	return events
}
