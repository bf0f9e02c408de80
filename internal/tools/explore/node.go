package explore

import (
	"fmt"
	"slices"

	"github.com/volsim/volsim/internal/core/engine"
)

// node is a state on the current path, with the events that may come next.
type node struct {
	n      int // the number of events that the engine chooses from
	state  digest
	events []possible
	at     int       // of events, the one that is explored
	todo   []int     // of events, those to be explored after it
	asleep []sleeper // events of which all that follows is explored elsewhere
	past   past      // of the tracker, before the event
	edge   access    // of the event that is explored, once it is known
}

// sleeper is an event in the sleep set. Its continuations were explored where it came earlier, so it need not be explored until a dependent
// event has happened.
type sleeper struct {
	id     digest
	access access
}

func sleeping(sleepers []sleeper) []digest {
	all := make([]digest, len(sleepers))
	for i, s := range sleepers {
		all[i] = s.id
	}
	return all
}

// back goes to the last node that has another event to explore, and takes it.
func (x *explorer) backtrack() bool {
	for len(x.path) > 0 {
		last := x.path[len(x.path)-1]
		if len(last.todo) > 0 {
			last.asleep = append(slices.Clip(last.asleep), sleeper{last.events[last.at].id, last.edge})
			last.at, last.todo = last.todo[0], last.todo[1:]
			last.edge = access{}
			return true
		}
		x.path = x.path[:len(x.path)-1]
	}
	return false
}

// next picks the next event: the one on the path, or at the end of the path the first one to explore, which extends the path.
func (x *explorer) next(n int) int {
	if x.refuted {
		panic(errRefuted)
	}
	if x.capped || n > 1 && x.opts.MaxChoices > 0 && x.choices >= x.opts.MaxChoices {
		x.cap()
		return 0
	}
	if n > 1 {
		x.choices++
	}
	x.depth++
	at := x.depth - 1
	if at >= len(x.path) {
		return x.extend(n)
	}
	node := x.path[at]
	if node.n != n {
		panic(errChanged)
	}
	if at == len(x.path)-1 {
		// The path changes here, so the tracker follows from here on.
		x.live = true
		x.tracker.now = node.past.clone()
		x.tracker.queued = len(x.tracker.engine.Footprint().Queued)
		x.tracker.lives = x.tracker.countLives()
	}
	return node.events[node.at].index
}

// cap records that MaxChoices was reached.
func (x *explorer) cap() {
	if !x.capped {
		x.capped, x.live = true, false
		x.result.Bounded = fmt.Sprintf("%d choices of a run", x.opts.MaxChoices)
		if n := len(x.path); n > 0 {
			x.path[n-1].edge = access{all: true}
		}
	}
}

// extend adds a node to the path, or ends the run if nothing new can follow.
func (x *explorer) extend(n int) int {
	t := x.tracker
	t.noteUser()
	if x.refuted {
		panic(errRefuted)
	}
	next := &node{n: n, events: t.possibilities()}
	if len(next.events) == 0 {
		x.asked = false // only stopped timers are due, so no event follows
		x.depth--
		if n > 1 {
			x.choices--
		}
		return 0
	}
	x.wake(next)
	next.state = t.state()
	before, known := x.known[next.state]
	if !known {
		x.result.States++
	}
	for _, i := range x.explored(next) {
		id := next.events[i].id
		asleep := slices.ContainsFunc(next.asleep, func(s sleeper) bool { return s.id == id })
		// In a known state, events that were asleep then and are not now are unexplored.
		if x.opts.NoPrune || !asleep && (!known || slices.Contains(before, id)) {
			next.todo = append(next.todo, i)
		}
	}
	if known && !x.opts.NoPrune {
		next.asleep = slices.DeleteFunc(next.asleep, func(s sleeper) bool { return !slices.Contains(before, s.id) })
	}
	x.known[next.state] = sleeping(next.asleep)
	if len(next.todo) == 0 {
		x.depth--
		panic(errKnown)
	}
	next.at, next.todo = next.todo[0], next.todo[1:]
	next.past = t.now.clone()
	x.path = append(x.path, next)
	return next.events[next.at].index
}

// wake computes the sleep set of the new node: the sleeping events that are independent of the event before it.
func (x *explorer) wake(next *node) {
	if len(x.path) == 0 {
		return
	}
	last := x.path[len(x.path)-1]
	last.edge = x.tracker.access
	if x.opts.NoPrune || x.opts.noReduction {
		return
	}
	for _, s := range last.asleep {
		if !dependent(&s.access, &last.edge) {
			next.asleep = append(next.asleep, s)
		}
	}
}

// explored returns the events to explore at a node unless they are asleep: all of them, or one invisible delivery.
func (x *explorer) explored(n *node) []int {
	all := make([]int, len(n.events))
	for i := range n.events {
		all[i] = i
		if !x.opts.NoPrune && !x.opts.noReduction && !x.opts.noInvisible && len(n.events) > 1 && x.invisible(n, i) {
			x.assumed = true
			if mode, _ := x.tracker.engine.RunMode(); mode == engine.Settling {
				x.assumedQuiet[x.tracker.engine.Now()] = true
			}
			return []int{i}
		}
	}
	return all
}

// invisible reports whether an event may come first because no other code can observe when it comes: it is a delivery to an independent
// actor that has no other event due, and cannot get one before the delivery. This assumes that kinds of which nothing was written so far do
// not change.
//
// During Settle a delivery is work, and Settle ends after the last work, so a background event might then come too late. Therefore no
// background event may be due at this instant; background checks those that are queued later in it.
func (x *explorer) invisible(n *node, i int) bool {
	t, d := x.tracker, n.events[i].due
	mode, _ := t.engine.RunMode()
	settling := mode == engine.Settling
	if d.Kind != engine.DueDelivery || !settling && mode != engine.Advancing && !t.waitsForTime(mode) {
		return false
	}
	if settling && x.backgroundAt[t.engine.Now()] || viewIndex(d.Actor, d.View) >= t.now.views[d.Actor.Name()] {
		return false
	}
	for j, other := range n.events {
		if j != i && other.due.Actor == d.Actor || settling && other.due.Background {
			return false
		}
	}
	for _, v := range d.Actor.Views() {
		if v != d.View && x.kinds[v.Kind()] {
			return false
		}
	}
	return true
}

// background records an instant at which a background event is queued during Settle, and refutes the assumption that there is none.
func (x *explorer) background(f *engine.Footprint) {
	now := x.tracker.engine.Now()
	if mode, _ := x.tracker.engine.RunMode(); mode != engine.Settling || len(f.Queued) == 0 || x.backgroundAt[now] {
		return
	}
	for _, d := range x.tracker.engine.Ready() {
		if d.Background && slices.Contains(f.Queued, d.Seq) {
			x.backgroundAt[now], x.refuted = true, x.refuted || x.assumedQuiet[now]
		}
	}
}
