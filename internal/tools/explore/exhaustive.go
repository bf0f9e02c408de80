package explore

import (
	"errors"
	"fmt"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// DefaultMaxRuns is the default of Options.MaxRuns.
const DefaultMaxRuns = 1_000_000

// Options configure an exploration. The zero value explores with reduction, up to DefaultMaxRuns.
type Options struct {
	// MaxRuns limits the number of runs; zero is DefaultMaxRuns.
	MaxRuns int
	// MaxChoices limits the choices of a run that are explored; later ones pick the first event. Zero is no limit.
	MaxChoices int
	// NoPrune switches all reduction off: it explores every interleaving.
	NoPrune bool
	// Progress is called after each run, if not nil.
	Progress func(Exploration)

	// noReduction explores every event at every state; states that were seen before still end a run.
	noReduction bool
	// noInvisible explores invisible deliveries like other events.
	noInvisible bool
}

// Exploration is the result of exploring a model.
type Exploration struct {
	Report
	// Runs is the number of runs that were started. Pruned is the number of those that ended early, because nothing new could follow: in a
	// known state, or in one whose events are all in the sleep set.
	Runs, Pruned int
	// States is the number of distinct states.
	States int
	// Finished is true if everything was explored, without reaching a bound.
	Finished bool
	// Bounded names the bound that was reached, "" if none was.
	Bounded string
}

// Exhaustive explores all interleavings of a model, depth first: it runs the model to its end, goes back to the last choice with an
// unexplored possibility, takes that, and continues, until there is none. It stores no clusters: each run begins anew and repeats the
// choices up to that point. It applies the reduction that the package comment describes, unless Options.NoPrune is set. The same model
// gives the same Exploration each time. It returns an error for negative bounds, for a model that cannot be made, and for one that is not
// the same each time.
func Exhaustive(model Model, opts Options) (Exploration, error) {
	if opts.MaxRuns < 0 || opts.MaxChoices < 0 {
		return Exploration{}, fmt.Errorf("explore: Options.MaxRuns is %d and MaxChoices %d: set zero or more", opts.MaxRuns, opts.MaxChoices)
	}
	if opts.MaxRuns == 0 {
		opts.MaxRuns = DefaultMaxRuns
	}
	x := newExplorer(model, opts)
	err := x.explore()
	return x.result, err
}

// explorer is a running exploration.
type explorer struct {
	model  Model
	opts   Options
	result Exploration
	path   []*node
	known  map[digest][]digest // the visited states, each with its sleep set

	// Assumptions of invisible. If one is refuted, the exploration begins anew.
	dependentActors map[string]bool    // actors that turned out not to be independent
	kinds           map[api.Kind]bool  // of objects that change
	backgroundAt    map[time.Time]bool // instants at which background events are queued during Settle
	assumedQuiet    map[time.Time]bool // instants at which none is assumed to be
	// assumed is set when the exploration uses an assumption, refuted when one turns out to be false.
	assumed, refuted bool

	// The current run.
	tracker *tracker
	live    bool // the tracker follows the events; false while the path is repeated
	depth   int  // the number of nodes so far
	choices int  // the number of those with several events
	asked   bool // the engine has called Choose for the next event
	capped  bool // MaxChoices was reached
}

func newExplorer(model Model, opts Options) *explorer {
	x := &explorer{
		model: model, opts: opts, dependentActors: map[string]bool{}, kinds: map[api.Kind]bool{},
		backgroundAt: map[time.Time]bool{}, assumedQuiet: map[time.Time]bool{},
	}
	x.reset()
	return x
}

func (x *explorer) reset() {
	x.path, x.known, x.assumed, x.refuted = nil, map[digest][]digest{}, false, false
	clear(x.assumedQuiet)
	x.result = Exploration{Runs: x.result.Runs}
}

// These errors end a run early, as panics that never leave the package.
var (
	errKnown   = errors.New("nothing new can follow")
	errRefuted = errors.New("an assumption was refuted")
	errChanged = errors.New("explore: the model is not the same each time: a choice has another number of events than before")
)

func (x *explorer) explore() error {
	for {
		if err := x.run(); err != nil {
			return err
		}
		if x.refuted {
			x.reset()
		} else if !x.backtrack() {
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

// run makes one run: it repeats the path and explores from its end on.
func (x *explorer) run() (err error) {
	x.tracker, x.live, x.depth, x.choices, x.asked, x.capped = nil, false, 0, 0, false, false
	run, err := x.model(x.Choose)
	if err != nil {
		return fmt.Errorf("explore: make the model: %w", err)
	}
	defer run.Engine.Close()
	if run.Ordered && run.Engine.Trace() == nil {
		return errors.New("explore: Run.Ordered is true but the engine has no trace; set engine.Config.Trace")
	}
	run.Engine.Observe(x)
	x.tracker = newTracker(run, x.wrote, x.dependentActors)
	x.live = len(x.path) == 0
	x.result.Runs++
	failure, ended, err := x.execute(run)
	if err != nil {
		return err
	}
	if n := len(x.path); ended && n > 0 && x.depth == n && !x.capped {
		x.path[n-1].edge = x.tracker.access
	}
	if ended {
		x.result.Add(run.report(failure, x.picked()))
	} else if !x.refuted {
		x.result.addViolations(sample{Choices: x.picked(), Violations: run.violations()})
	}
	return nil
}

// execute executes a run. ended is false if the run ended early.
func (x *explorer) execute(run *Run) (failure error, ended bool, err error) {
	defer func() {
		switch r := recover(); r {
		case nil:
		case errKnown:
			x.result.Pruned++
			ended = false
		case errRefuted:
			ended = false
		case errChanged:
			err = errChanged
		default:
			panic(r)
		}
	}()
	return run.Execute(), true, nil
}

// picked returns the choices of the current run.
func (x *explorer) picked() []engine.Choice {
	var choices []engine.Choice
	for _, n := range x.path {
		if n.n > 1 {
			choices = append(choices, engine.Choice{N: n.n, Picked: n.events[n.at].index})
		}
	}
	return choices
}

// Choose is for engine.Config.Choose.
func (x *explorer) Choose(n int) int {
	if x.tracker == nil {
		return 0
	}
	x.asked = true
	return x.next(n)
}

// Begin, End and Return make the explorer an engine.Observer.
func (x *explorer) Begin(d engine.Due) {
	// With a single event due the engine does not call Choose.
	if !x.asked {
		x.tracker.taken = append(x.tracker.taken, d)
		x.next(1)
		x.tracker.taken = nil
	}
	x.asked = false
	if x.live {
		x.tracker.begin(d)
	}
}

// End handles the end of an event.
func (x *explorer) End(f *engine.Footprint) {
	if x.live {
		x.tracker.end(f)
		x.background(f)
	}
}

// Return handles the engine's return to the driver of the run.
func (x *explorer) Return() {
	if x.live {
		x.tracker.returned()
	}
}

func (x *explorer) wrote(kind api.Kind, obj api.Object) {
	if !x.kinds[kind] {
		x.kinds[kind], x.refuted = true, x.refuted || x.assumed
	}
	if actor := dependentActor(obj); actor != "" && !x.dependentActors[actor] {
		x.dependentActors[actor], x.refuted = true, true
	}
}
