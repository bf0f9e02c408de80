package explore

import (
	"errors"
	"fmt"

	"github.com/volsim/volsim/engine"
)

// DefaultMaxRuns bounds an exploration unless Options.MaxRuns says otherwise.
const DefaultMaxRuns = 100_000

// Options say how a world is explored. The zero value explores it with pruning, up to DefaultMaxRuns.
type Options struct {
	// MaxRuns is how many runs are made at most; zero is DefaultMaxRuns.
	MaxRuns int
	// MaxChoices is how many choices of a run are explored; what comes after them happens in order. Zero is all.
	MaxChoices int
	// NoPrune goes on behind states that were seen before.
	NoPrune bool
	// Progress is called after each run; nil is nobody.
	Progress func(Exploration)
}

// Exploration is what came of exploring a world.
type Exploration struct {
	Report
	// Runs is how many runs were begun, Pruned how many of them ended in a state that was known.
	Runs, Pruned int
	// States is how many different states there were at choices, as far as they can be told apart.
	States int
	// Finished is true when there is nothing more to explore: neither bound was reached.
	Finished bool
	// Bounded says which bound was reached, "" if none was.
	Bounded string
}

// Exhaustive explores all interleavings of a world, depth first: it plays the world to its end, goes back to the last choice at which there is
// another possibility, takes that, and plays on, until there is none. It stores no cluster: each run begins anew and repeats the choices up to
// there. A state that was seen before is not explored again unless Options.NoPrune says so. The same world gives the same Exploration each time.
// It refuses bounds below zero, and a world that cannot be made or is not the same each time.
func Exhaustive(w World, opts Options) (Exploration, error) {
	if opts.MaxRuns < 0 || opts.MaxChoices < 0 {
		return Exploration{}, fmt.Errorf("explore: Options.MaxRuns is %d and MaxChoices %d: give zero or more", opts.MaxRuns, opts.MaxChoices)
	}
	if opts.MaxRuns == 0 {
		opts.MaxRuns = DefaultMaxRuns
	}
	x := &explorer{world: w, opts: opts, known: map[digest]int{}}
	err := x.explore()
	return x.result, err
}

// explorer is an exploration under way.
type explorer struct {
	world  World
	opts   Options
	path   []engine.Choice // of the run at hand
	states []digest        // before each choice of the path
	known  map[digest]int  // how often the state is on the path
	result Exploration
}

func (x *explorer) explore() error {
	for {
		if err := x.run(); err != nil {
			return err
		}
		if x.opts.Progress != nil {
			x.opts.Progress(x.result)
		}
		if !x.back() {
			x.result.Finished = x.result.Bounded == ""
			return nil
		}
		if x.result.Runs >= x.opts.MaxRuns {
			x.result.Bounded = fmt.Sprintf("%d runs", x.opts.MaxRuns)
			return nil
		}
	}
}

// back goes to the last choice that has another possibility, and takes it.
func (x *explorer) back() bool {
	for len(x.path) > 0 {
		last := &x.path[len(x.path)-1]
		if last.Picked+1 < last.N {
			last.Picked++
			return true
		}
		x.known[x.states[len(x.path)-1]]--
		x.path, x.states = x.path[:len(x.path)-1], x.states[:len(x.path)-1]
	}
	return false
}

// What ends a run before its end: panics that never leave the package.
var (
	errKnown   = errors.New("the state is known")
	errChanged = errors.New("explore: the world is not the same each time: a choice that was there before is now another one")
)

// run plays the world along the path, and on from there.
func (x *explorer) run() (err error) {
	at := 0
	var states *tracker
	run, err := x.world(func(n int) int {
		i := x.choose(states, at, n)
		at++
		return i
	})
	if err != nil {
		return fmt.Errorf("explore: the world cannot be made: %w", err)
	}
	defer run.Engine.Close()
	states = newTracker(run)
	x.result.Runs++
	failure, ended, err := x.play(run)
	if err != nil || !ended {
		return err
	}
	x.result.add(Sample{
		Choices: append([]engine.Choice(nil), x.path...),
		Outcome: run.outcome(failure), Failed: failure != nil, Violations: run.violations(),
	})
	return nil
}

// play plays a run. ended is false if it came to a state that is known.
func (x *explorer) play(run *Run) (failure error, ended bool, err error) {
	defer func() {
		switch r := recover(); r {
		case nil:
		case errKnown:
			x.result.Pruned++
			ended = false
		case errChanged:
			err = errChanged
		default:
			panic(r)
		}
	}()
	return run.Play(), true, nil
}

// choose picks what happens next: at first what the path says, then the first of all there is, which makes the path longer.
func (x *explorer) choose(states *tracker, at, n int) int {
	states.refresh()
	picked := 0
	switch {
	case at < len(x.path):
		if x.path[at].N != n {
			panic(errChanged)
		}
		picked = x.path[at].Picked
	case x.opts.MaxChoices > 0 && at >= x.opts.MaxChoices:
		x.result.Bounded = fmt.Sprintf("%d choices of a run", x.opts.MaxChoices)
	default:
		x.extend(states.state(n), n)
	}
	states.picked(n, picked)
	return picked
}

// extend adds a choice to the path, unless its state is known from another one. A run is not cut short by what it has been through itself: it
// went on since, even if that cannot be seen.
func (x *explorer) extend(state digest, n int) {
	onPath, known := x.known[state]
	if known && onPath == 0 && !x.opts.NoPrune {
		panic(errKnown)
	}
	x.known[state]++
	x.result.States = len(x.known)
	x.path, x.states = append(x.path, engine.Choice{N: n}), append(x.states, state)
}
