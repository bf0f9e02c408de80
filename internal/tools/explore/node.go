package explore

import (
	"slices"

	"github.com/volsim/volsim/internal/core/engine"
)

// node is a state in the tree of runs, with the events that may come next.
type node struct {
	parent *node
	via    int // the index in parent.events of the event that leads here
	depth  int // the number of nodes before it
	n      int // the number of events that the engine chooses from
	state  digest
	events []possible
	alone  int // of events, the invisible one that is explored alone; -1 for none
	// passing: only an invisible event is explored, so there is no choice, and the state is not needed.
	passing bool
	at      int       // of events, the one that is explored or was explored last; -1 for none
	todo    []int     // of events, those to be explored after it
	asleep  []sleeper // events of which all that follows is explored elsewhere
	past    past      // of the tracker, before the event
	edge    access    // of the event that is explored, once it is known
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

// takeNext takes the next event to explore. Those before it fall asleep.
func (n *node) takeNext() {
	if n.at >= 0 {
		n.asleep = append(slices.Clip(n.asleep), sleeper{n.events[n.at].id, n.edge})
	}
	n.at, n.todo, n.edge = n.todo[0], n.todo[1:], access{}
}

// explore takes an event, and reports whether it is one of those to explore.
func (n *node) explore(event int) bool {
	i := slices.Index(n.todo, event)
	if i < 0 {
		n.at, n.edge = -1, access{}
		return false
	}
	n.at, n.todo = event, slices.Delete(n.todo, i, i+1)
	return true
}

// spare is the room for further nodes of a path.
const spare = 8

// path returns the nodes from the root to a node, and the events that lead from each to the next; from the node itself, the one at.
func (n *node) path() (nodes []*node, events []int) {
	if n == nil {
		return nil, nil
	}
	at := n.at
	nodes, events = make([]*node, n.depth+1, n.depth+spare), make([]int, n.depth+1, n.depth+spare)
	for ; n != nil; n = n.parent {
		nodes[n.depth], events[n.depth] = n, at
		at = n.via
	}
	return nodes, events
}

// prepare computes the sleep set of a node and the events to explore. It does not change the explorer.
func (x *explorer) prepare(n *node) {
	n.asleep, n.todo = nil, nil
	prune := !x.opts.NoPrune
	if n.parent != nil && prune && !x.opts.noReduction {
		// An event that depends on the one before wakes up.
		for _, s := range n.parent.asleep {
			if !dependent(&s.access, &n.parent.edge) {
				n.asleep = append(n.asleep, s)
			}
		}
	}
	before, known := x.known[n.state]
	known = known && !n.passing
	one := x.explores(n.alone)
	for i := range n.events {
		if one && i != n.alone {
			continue // only the invisible event is explored
		}
		id := n.events[i].id
		asleep := slices.ContainsFunc(n.asleep, func(s sleeper) bool { return s.id == id })
		// In a known state, events that were asleep then and are not now are unexplored.
		if !prune || !asleep && (!known || slices.Contains(before, id)) {
			if n.todo == nil {
				n.todo = make([]int, 0, len(n.events)-i)
			}
			n.todo = append(n.todo, i)
		}
	}
	if known && prune {
		n.asleep = slices.DeleteFunc(n.asleep, func(s sleeper) bool { return !slices.Contains(before, s.id) })
	}
}

// explores reports whether only an invisible delivery is explored.
func (x *explorer) explores(alone int) bool {
	return alone >= 0 && !x.opts.NoPrune && !x.opts.noReduction && !x.opts.noInvisible
}

// choices returns the choices that lead through nodes by events.
func choicesOf(nodes []*node, events []int) []engine.Choice {
	var choices []engine.Choice
	for i, n := range nodes {
		if n.n > 1 {
			choices = append(choices, engine.Choice{N: n.n, Picked: n.events[events[i]].index})
		}
	}
	return choices
}
