package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/core/engine"
)

// everyOrder runs a model in every order, by the engine's choices alone, without states and events. It returns what was found. complete is
// false if there are more orders than most.
func everyOrder(t *testing.T, w Model, most int) (all []string, complete bool) {
	t.Helper()
	var path []engine.Choice
	seen := map[string]bool{}
	for range most {
		depth := 0
		run, err := w(func(n int) int {
			if depth == len(path) {
				path = append(path, engine.Choice{N: n})
			}
			depth++
			require.Equal(t, n, path[depth-1].N)
			return path[depth-1].Picked
		})
		require.NoError(t, err)
		for _, one := range found(Exploration{Report: run.report(run.Execute(), nil)}) {
			seen[one] = true
		}
		run.Engine.Close()
		for len(path) > 0 && path[len(path)-1].Picked == path[len(path)-1].N-1 {
			path = path[:len(path)-1]
		}
		if len(path) == 0 {
			for one := range seen {
				all = append(all, one)
			}
			slices.Sort(all)
			return all, true
		}
		path[len(path)-1].Picked++
	}
	return nil, false
}

// tree has the states and events of every order of a model, or of the first ones.
type tree struct {
	t         *testing.T
	nodes     []*node
	children  map[*node]map[digest]after
	invisible map[*node]digest // the invisible delivery that the reduction explores alone
	states    map[digest]bool
	runs      int
	complete  bool
}

// after is the node that follows an event.
type after struct {
	access access
	next   *node  // nil at the end of the run
	end    string // the outcome and violations there
}

func (a after) state() string {
	if a.next == nil {
		return "end " + a.end
	}
	return fmt.Sprintf("%x", a.next.state)
}

// grow explores a model without reduction.
func grow(t *testing.T, w Model, most int) *tree {
	t.Helper()
	g := &tree{t: t, children: map[*node]map[digest]after{}, invisible: map[*node]digest{}, states: map[digest]bool{}}
	first := newExplorer(w, Options{NoPrune: true, MaxRuns: most})
	require.NoError(t, first.explore())
	x := newExplorer(w, Options{NoPrune: true, MaxRuns: most})
	// The assumptions are known from the beginning.
	x.kinds, x.backgroundAt, x.actors = first.kinds, first.backgroundAt, first.actors
	for g.runs < most && !g.complete {
		batch := x.take(1)
		x.run(batch)
		require.NoError(t, x.add(batch[0]))
		g.runs++
		g.add(batch[0])
		g.complete = len(x.open) == 0
	}
	return g
}

// add adds a run.
func (g *tree) add(w *walk) {
	end := strings.Join(found(Exploration{Report: w.report}), "\n")
	for i, n := range w.path {
		if g.children[n] == nil {
			g.children[n] = map[digest]after{}
			g.nodes = append(g.nodes, n)
			g.states[n.state] = true
			if n.alone >= 0 {
				g.invisible[n] = n.events[n.alone].id
			}
		}
		a := after{access: n.edge, end: end}
		if i+1 < len(w.path) {
			a.next, a.end = w.path[i+1], ""
		}
		if id := n.events[w.events[i]].id; !has(g.children[n], id) {
			g.children[n][id] = a
		}
	}
}

func has[K comparable, V any](m map[K]V, key K) bool {
	_, ok := m[key]
	return ok
}

func (a access) String() string {
	var all []string
	for _, c := range a.cells {
		all = append(all, fmt.Sprintf("%x", uint64(c)))
	}
	slices.Sort(all)
	return fmt.Sprint(a.all, a.wide, slices.Compact(all))
}

// check requires that equal states behave equally, that the order of independent events makes no difference, and that invisible deliveries
// hide nothing.
func (g *tree) check() {
	g.t.Helper()
	g.checkStates()
	g.checkIndependence()
	if g.complete {
		g.checkInvisible()
	}
}

func idsOf(n *node) (all []string) {
	for _, p := range n.events {
		all = append(all, fmt.Sprintf("%x", p.id))
	}
	slices.Sort(all)
	return all
}

// checkStates requires that the possible events and their effects depend on the state alone.
func (g *tree) checkStates() {
	g.t.Helper()
	same := map[digest]*node{}
	follows := map[digest]map[digest]after{}
	for _, n := range g.nodes {
		if other, ok := same[n.state]; ok {
			require.Equal(g.t, idsOf(other), idsOf(n), "what may come next follows from the state")
		} else {
			same[n.state], follows[n.state] = n, map[digest]after{}
		}
		for id, a := range g.children[n] {
			if other, ok := follows[n.state][id]; ok {
				require.Equal(g.t, other.state(), a.state(), "what an event leads to follows from the state")
				require.Equal(g.t, other.access.String(), a.access.String(), "what an event reads and changes follows from the state")
			} else {
				follows[n.state][id] = a
			}
		}
	}
}

// checkIndependence requires that independent events lead to the same state in either order, with the same accesses.
func (g *tree) checkIndependence() {
	g.t.Helper()
	for _, n := range g.nodes {
		for id, a := range g.children[n] {
			for id2, b := range g.children[n] {
				if id == id2 || dependent(&a.access, &b.access) {
					continue
				}
				require.NotNil(g.t, a.next, "what ends a run depends on everything")
				require.NotNil(g.t, b.next, "what ends a run depends on everything")
				ab, ok := g.children[a.next][id2]
				require.True(g.t, ok || !g.complete, "an event does not vanish by one that it does not depend on")
				ba, ok2 := g.children[b.next][id]
				require.True(g.t, ok2 || !g.complete, "an event does not vanish by one that it does not depend on")
				if !ok || !ok2 {
					continue
				}
				require.Equal(g.t, ab.state(), ba.state(), "either order leads to the same: %v and %v", a.access, b.access)
				if !ab.access.all {
					require.Equal(g.t, b.access.String(), ab.access.String(), "an event touches the same after one that it does not depend on")
				}
			}
		}
	}
}

// checkInvisible requires that exploring an invisible delivery alone hides no outcome.
func (g *tree) checkInvisible() {
	g.t.Helper()
	for n, id := range g.invisible {
		first := g.children[n][id]
		some := map[string]bool{first.end: true}
		if first.next != nil {
			some = g.ends(first.next, map[*node]map[string]bool{})
		}
		require.Equal(g.t, g.ends(n, map[*node]map[string]bool{}), some, "what comes first hides nothing")
	}
}

// ends returns everything that may follow a node.
func (g *tree) ends(n *node, known map[*node]map[string]bool) map[string]bool {
	all := map[string]bool{}
	for _, a := range g.children[n] {
		if a.next == nil {
			all[a.end] = true
			continue
		}
		for end := range g.ends(a.next, known) {
			all[end] = true
		}
	}
	return all
}

// statesOf returns the states that an exploration visits.
func statesOf(t *testing.T, w Model, opts Options) map[digest]bool {
	t.Helper()
	opts.MaxRuns = DefaultMaxRuns
	x := newExplorer(w, opts)
	require.NoError(t, x.explore())
	all := map[digest]bool{}
	for state := range x.known {
		all[state] = true
	}
	return all
}

// exploresAll compares all ways of exploring a model with all its orders, if there are at most so many. It returns what was found, and
// whether all orders were run.
func exploresAll(t *testing.T, w Model, most int) (all []string, complete bool) {
	t.Helper()
	all, complete = everyOrder(t, w, most)
	g := grow(t, w, most)
	g.check()
	if complete {
		require.True(t, g.complete)
		for name, opts := range map[string]Options{
			"default": {}, "every order": {NoPrune: true}, "without reduction": {noReduction: true}, "with sleep sets alone": {noInvisible: true},
			"without idle actors": {noIdle: true},
		} {
			x, err := Exhaustive(w, opts)
			require.NoError(t, err)
			require.True(t, x.Finished)
			require.Equal(t, all, found(x), name)
		}
		require.True(t, maps.Equal(g.states, statesOf(t, w, Options{noReduction: true})), "merging skips no state")
		require.True(t, maps.Equal(g.states, statesOf(t, w, Options{noInvisible: true})), "sleep sets skip no state")
	}
	return all, complete
}
