package explore

import (
	"errors"
	"fmt"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// DefaultMaxRuns bounds an exploration unless Options.MaxRuns says otherwise.
const DefaultMaxRuns = 1_000_000

// Options say how a world is explored. The zero value explores it with pruning, up to DefaultMaxRuns.
type Options struct {
	// MaxRuns is how many runs are made at most; zero is DefaultMaxRuns.
	MaxRuns int
	// MaxChoices is how many choices of a run are explored; what comes after them happens in order. Zero is all.
	MaxChoices int
	// NoPrune plays every order: it goes on behind states that were seen before, and plays two events in both orders although that makes
	// no difference.
	NoPrune bool
	// Progress is called after each run; nil is nobody.
	Progress func(Exploration)

	// noReduction takes every event at every state.
	noReduction bool
	// noQuiet takes no delivery first because nobody sees the difference.
	noQuiet bool
}

// Exploration is what came of exploring a world.
type Exploration struct {
	Report
	// Runs is how many runs were begun, Pruned how many of them ended where nothing was left to find: in a state that was known, or where
	// all that could follow does follow elsewhere in another order.
	Runs, Pruned int
	// States is how many different states there were.
	States int
	// Finished is true when there is nothing more to explore: neither bound was reached.
	Finished bool
	// Bounded says which bound was reached, "" if none was.
	Bounded string
}

// Exhaustive explores all interleavings of a world, depth first: it plays the world to its end, goes back to the last choice at which there is
// another possibility, takes that, and plays on, until there is none. It stores no cluster: each run begins anew and repeats the choices up to
// there. What follows from a state is explored once, and of orders that make no difference one is played, unless Options.NoPrune says
// otherwise. The same world gives the same Exploration each time. It refuses bounds below zero, and a world that cannot be made or is not the
// same each time.
func Exhaustive(w World, opts Options) (Exploration, error) {
	if opts.MaxRuns < 0 || opts.MaxChoices < 0 {
		return Exploration{}, fmt.Errorf("explore: Options.MaxRuns is %d and MaxChoices %d: give zero or more", opts.MaxRuns, opts.MaxChoices)
	}
	if opts.MaxRuns == 0 {
		opts.MaxRuns = DefaultMaxRuns
	}
	x := newExplorer(w, opts)
	err := x.explore()
	return x.result, err
}

// explorer is an exploration under way.
type explorer struct {
	world  World
	opts   Options
	result Exploration
	path   []*node
	known  map[digest][]digest // what was left out at a state, because it was explored elsewhere

	// What is taken for granted, see quiet. If it turns out to be wrong the exploration begins anew.
	blabs  map[string]bool    // actors that turned out not to be discreet
	kinds  map[api.Kind]bool  // of objects that change
	noisy  map[time.Time]bool // instants at which background comes up while the world settles
	hushed map[time.Time]bool // those at which it is taken for granted that it does not
	relied,
	wrong bool

	// Of the run at hand.
	tracker *tracker
	live    bool // the tracker follows
	depth   int  // nodes so far
	choices int  // those of them at which the engine asks
	asked   bool // the engine has asked which event comes next
	capped  bool // a bound was reached
}

func newExplorer(w World, opts Options) *explorer {
	x := &explorer{world: w, opts: opts, blabs: map[string]bool{}, kinds: map[api.Kind]bool{}, noisy: map[time.Time]bool{}, hushed: map[time.Time]bool{}}
	x.reset()
	return x
}

func (x *explorer) reset() {
	x.path, x.known, x.relied, x.wrong = nil, map[digest][]digest{}, false, false
	clear(x.hushed)
	x.result = Exploration{Runs: x.result.Runs}
}

// What ends a run before its end: panics that never leave the package.
var (
	errKnown   = errors.New("nothing is left to find")
	errWrong   = errors.New("what was taken for granted is wrong")
	errChanged = errors.New("explore: the world is not the same each time: a choice that was there before is now another one")
)

func (x *explorer) explore() error {
	for {
		if err := x.play(); err != nil {
			return err
		}
		if x.wrong {
			x.reset()
		} else if !x.back() {
			x.result.Finished = x.result.Bounded == ""
			return nil
		}
		if x.opts.Progress != nil {
			x.opts.Progress(x.result)
		}
		if x.result.Runs >= x.opts.MaxRuns {
			x.result.Bounded = fmt.Sprintf("%d runs", x.opts.MaxRuns)
			return nil
		}
	}
}

// play plays the world along the path, and on from there.
func (x *explorer) play() (err error) {
	x.tracker, x.live, x.depth, x.choices, x.asked, x.capped = nil, false, 0, 0, false, false
	run, err := x.world(x.Choose)
	if err != nil {
		return fmt.Errorf("explore: the world cannot be made: %w", err)
	}
	defer run.Engine.Close()
	if run.Ordered && run.Engine.Trace() == nil {
		return errors.New("explore: Run.Ordered is true but the engine has no trace, of which the order would be known: give it engine.Config.Trace")
	}
	run.Engine.Observe(x)
	x.tracker = newTracker(run, x.wrote, x.blabs)
	x.live = len(x.path) == 0
	x.result.Runs++
	failure, ended, err := x.playOn(run)
	if err != nil {
		return err
	}
	if n := len(x.path); ended && n > 0 && x.depth == n && !x.capped {
		x.path[n-1].edge = x.tracker.access
	}
	if ended {
		x.result.Add(run.report(failure, x.picked()))
	} else if !x.wrong {
		x.result.addViolations(Sample{Choices: x.picked(), Violations: run.violations()})
	}
	return nil
}

// playOn plays a run. ended is false if nothing was left to find.
func (x *explorer) playOn(run *Run) (failure error, ended bool, err error) {
	defer func() {
		switch r := recover(); r {
		case nil:
		case errKnown:
			x.result.Pruned++
			ended = false
		case errWrong:
			ended = false
		case errChanged:
			err = errChanged
		default:
			panic(r)
		}
	}()
	return run.Play(), true, nil
}

// picked are the choices of the run at hand.
func (x *explorer) picked() []engine.Choice {
	var choices []engine.Choice
	for _, n := range x.path {
		if n.n > 1 {
			choices = append(choices, engine.Choice{N: n.n, Picked: n.events[n.at].index})
		}
	}
	return choices
}

// Choose is Config.Choose.
func (x *explorer) Choose(n int) int {
	if x.tracker == nil {
		return 0
	}
	x.asked = true
	return x.arrive(n)
}

// Begin, End and Return make the explorer an engine.Observer.
func (x *explorer) Begin(d engine.Due) {
	// With one event due the engine does not ask.
	if !x.asked {
		x.tracker.taken = append(x.tracker.taken, d)
		x.arrive(1)
		x.tracker.taken = nil
	}
	x.asked = false
	if x.live {
		x.tracker.begin(d)
	}
}

// End is told of the end of an event.
func (x *explorer) End(f *engine.Footprint) {
	if x.live {
		x.tracker.end(f)
		x.background(f)
	}
}

// Return is told that the engine goes back to whoever drives it.
func (x *explorer) Return() {
	if x.live {
		x.tracker.came()
	}
}

func (x *explorer) wrote(kind api.Kind, obj api.Object) {
	if !x.kinds[kind] {
		x.kinds[kind], x.wrong = true, x.wrong || x.relied
	}
	if actor := indiscreet(obj); actor != "" && !x.blabs[actor] {
		x.blabs[actor], x.wrong = true, true
	}
}
