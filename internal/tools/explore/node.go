package explore

import (
	"fmt"
	"slices"

	"github.com/volsim/volsim/internal/core/engine"
)

// node is a state on the path, at which one of several events comes next, or the only one there is.
type node struct {
	n      int // how many events the engine has to choose from
	state  digest
	events []possible
	at     int       // of events, the one that is explored
	todo   []int     // of events, those to be explored after it
	asleep []sleeper // events of which all that follows is explored elsewhere
	past   past      // of the tracker, before the event
	edge   access    // of the event that is explored, once it is known
}

// sleeper is an event that need not be explored until something has happened that makes a difference to it: whatever begins with it was
// explored where it came earlier.
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
func (x *explorer) back() bool {
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

// arrive is called before each event, and picks it: at first what the path says, then the first of all there is, which makes the path longer.
func (x *explorer) arrive(n int) int {
	if x.wrong {
		panic(errWrong)
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
		// From here on it goes another way than before.
		x.live = true
		x.tracker.now = node.past.clone()
		x.tracker.queued = len(x.tracker.engine.Footprint().Queued)
		x.tracker.lives = x.tracker.livesOfAll()
	}
	return node.events[node.at].index
}

// cap notes that the bound of choices was reached.
func (x *explorer) cap() {
	if !x.capped {
		x.capped, x.live = true, false
		x.result.Bounded = fmt.Sprintf("%d choices of a run", x.opts.MaxChoices)
		if n := len(x.path); n > 0 {
			x.path[n-1].edge = access{all: true}
		}
	}
}

// extend adds a node to the path, unless nothing is left to find there.
func (x *explorer) extend(n int) int {
	t := x.tracker
	t.acted()
	if x.wrong {
		panic(errWrong)
	}
	next := &node{n: n, events: t.possibilities()}
	if len(next.events) == 0 {
		x.asked = false // only timers that were stopped: no event follows
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
		// Of a state that is known, what was asleep then and is not now is yet to be explored.
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

// wake finds out what the event before the new node depends on, and what is still asleep behind it.
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

// explored are the events to be explored at a node, if they are not asleep: all of them, or one that is quiet.
func (x *explorer) explored(n *node) []int {
	all := make([]int, len(n.events))
	for i := range n.events {
		all[i] = i
		if !x.opts.NoPrune && !x.opts.noReduction && !x.opts.noQuiet && len(n.events) > 1 && x.quiet(n, i) {
			x.relied = true
			if drive, _ := x.tracker.engine.Drive(); drive == engine.Settling {
				x.hushed[x.tracker.engine.Now()] = true
			}
			return []int{i}
		}
	}
	return all
}

// quiet reports whether an event may come first whatever else comes: it is a delivery to a discreet actor that has nothing else to do, and
// cannot get anything to do before it. Nobody but this actor sees the difference that it makes. It relies on kinds of which nothing was
// written so far to stay as they are.
//
// While the world settles it is work, and settling ends with the last work: what is background might then come too late. So there must be no
// background at this instant; see background for what comes later in it.
func (x *explorer) quiet(n *node, i int) bool {
	t, d := x.tracker, n.events[i].due
	drive, _ := t.engine.Drive()
	settling := drive == engine.Settling
	if d.Kind != engine.DueDelivery || !settling && drive != engine.Advancing && !t.patient(drive) {
		return false
	}
	if settling && x.noisy[t.engine.Now()] || viewIndex(d.Actor, d.View) >= t.now.views[d.Actor.Name()] {
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

// background looks for background that comes up at an instant at which a quiet event may have been preferred.
func (x *explorer) background(f *engine.Footprint) {
	now := x.tracker.engine.Now()
	if drive, _ := x.tracker.engine.Drive(); drive != engine.Settling || len(f.Queued) == 0 || x.noisy[now] {
		return
	}
	for _, d := range x.tracker.engine.Ready() {
		if d.Background && slices.Contains(f.Queued, d.Seq) {
			x.noisy[now], x.wrong = true, x.wrong || x.hushed[now]
		}
	}
}
