package engine

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// event is a task with its position in the order (time, sequence).
type event struct {
	at         time.Duration // or the number of a turn; see eventHeap
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

// number is a number that has the order of the turns.
func (a turn) number() time.Duration { return time.Duration(a.rank)<<32 | time.Duration(a.actor) }

// lastTurn comes after all passes of an instant.
var lastTurn = turn{rank: math.MaxUint8}

func (a *event) turn() turn { return turn{a.rank, a.owner.index} }

// readyList lists the events that are due now, in the order in which they became due.
type readyList struct{ fifo[event] }

// takeTo removes the ith event into the memory of the caller. For i > 0 the last event moves into its position: the order is chosen by the
// caller anyway.
func (r *readyList) takeTo(ev *event, i int) {
	if i == 0 {
		r.popTo(ev)
		return
	}
	at, last := r.head+i, len(r.items)-1
	*ev = r.items[at]
	if at != last {
		r.items[at] = r.items[last]
	}
	r.items[last] = event{}
	r.items = r.items[:last]
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

// eventHeap is a binary heap of events, by time. Passes that are due have their turn in place of the time.
type eventHeap struct{ events []event }

// before is the order of a heap, which never finds two events equal.
func (a *event) before(b *event) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// peek returns the first event, nil for none. It is valid until the heap changes.
func (h *eventHeap) peek() *event {
	if len(h.events) == 0 {
		return nil
	}
	return &h.events[0]
}

func (h *eventHeap) push(ev event) {
	if len(h.events) == cap(h.events) {
		// append would grow a long list by a quarter, and leave four times its length to the garbage collector.
		h.events = slices.Grow(h.events, max(8, len(h.events)))
	}
	h.events = append(h.events, event{})
	h.rise(len(h.events)-1, &ev)
}

// rise puts an event into the free place at i, or above it: the events there that come later move down.
func (h *eventHeap) rise(i int, ev *event) {
	for i > 0 {
		up := (i - 1) / 2
		if !ev.before(&h.events[up]) {
			break
		}
		h.events[i] = h.events[up]
		i = up
	}
	h.events[i] = *ev
}

func (h *eventHeap) pop() event {
	top := h.events[0]
	n := len(h.events) - 1
	last := h.events[n]
	h.events[n] = event{}
	h.events = h.events[:n]
	if n > 0 {
		h.refill(0, &last)
	}
	return top
}

// refill puts an event into the free place at i, or below it. The place sinks to the end of its branch first, and the event rises from there:
// it was a late one, so that takes fewer comparisons than looking for its place on the way down.
func (h *eventHeap) refill(i int, ev *event) {
	n := len(h.events)
	for child := 2*i + 1; child < n; child = 2*i + 1 {
		if child+1 < n && h.events[child+1].before(&h.events[child]) {
			child++
		}
		h.events[i] = h.events[child]
		i = child
	}
	h.rise(i, ev)
}

// drop removes the events that match.
func (h *eventHeap) drop(match func(event) bool) {
	kept := slices.DeleteFunc(h.events, match)
	h.events = kept[:0]
	for _, ev := range kept {
		h.push(ev)
	}
}

func (h *eventHeap) sorted() []event {
	events := slices.Clone(h.events)
	slices.SortFunc(events, func(a, b event) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	return events
}
