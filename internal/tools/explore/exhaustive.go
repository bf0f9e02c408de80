package explore

import (
	"fmt"
	"sync"
	"time"

	"github.com/volsim/volsim/api"
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
	// Others are models that make the same cluster. For each of them, one more run is made at the same time. The result does not depend
	// on their number. A model that is safe for concurrent use may occur several times.
	Others []Model

	// noReduction explores every event at every state; states that were seen before still end a run.
	noReduction bool
	// noInvisible explores invisible deliveries like other events.
	noInvisible bool
	// noIdle takes no actor to be idle.
	noIdle bool
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

// Exhaustive explores all interleavings of a model, depth first: it runs the model to its end, goes back to the last choices with an
// unexplored possibility, takes those, and continues, until there is none. It stores no clusters: each run begins anew and repeats the
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

// explorer is an exploration. It makes runs in batches: those of a batch may be made at the same time, because they only read the explorer.
// Then their results are added in order.
type explorer struct {
	opts    Options
	models  []Model
	result  Exploration
	started bool                // the first run was made
	open    []*node             // the nodes with events to explore; the last ones are explored first
	known   map[digest][]digest // the visited states, each with its sleep set
	// trackers are those of the runs of each model.
	trackers []tracker

	// Assumptions of invisible. If one is refuted, the exploration begins anew.
	actors       actorSets
	kinds        map[api.Kind]bool  // of objects that change
	backgroundAt map[time.Time]bool // instants at which background events are queued during Settle
	assumedQuiet map[time.Time]bool // instants at which none is assumed to be
	// assumed is set when the exploration uses an assumption, learned when a run of this batch found a kind that changes, refuted when an
	// assumption turns out to be false.
	assumed, learned, refuted bool
}

func newExplorer(model Model, opts Options) *explorer {
	x := &explorer{
		models: append([]Model{model}, opts.Others...), opts: opts, kinds: map[api.Kind]bool{},
		actors:       actorSets{dependent: map[string]bool{}, awake: map[string]bool{}},
		backgroundAt: map[time.Time]bool{}, assumedQuiet: map[time.Time]bool{},
	}
	x.trackers = make([]tracker, len(x.models))
	x.reset()
	return x
}

func (x *explorer) reset() {
	x.open, x.known, x.started, x.assumed, x.refuted = nil, map[digest][]digest{}, false, false, false
	clear(x.assumedQuiet)
	x.result = Exploration{Runs: x.result.Runs}
}

// batchSize is the number of runs in a batch. It must not depend on the number of models, so that the result does not.
const batchSize = 16

func (x *explorer) explore() error {
	for {
		batch := x.take(batchSize)
		if len(batch) == 0 {
			return nil
		}
		x.run(batch)
		for _, w := range batch {
			if err := x.add(w); err != nil {
				return err
			}
			if x.refuted {
				x.reset()
				break
			}
			if x.opts.Progress != nil {
				x.opts.Progress(x.result)
			}
		}
	}
}

// take returns the next runs to make, at most so many; none at the end.
func (x *explorer) take(most int) []*walk {
	if x.started && len(x.open) == 0 {
		x.result.Finished = x.result.Bounded == ""
		return nil
	}
	most = min(most, x.opts.MaxRuns-x.result.Runs)
	if most <= 0 {
		x.result.Bounded = fmt.Sprintf("%d runs", x.opts.MaxRuns)
		return nil
	}
	x.learned = false
	var batch []*walk
	if !x.started {
		x.started = true
		batch = append(batch, newWalk(x, nil))
	} else {
		first := max(len(x.open)-most, 0)
		for _, from := range x.open[first:] {
			from.takeNext()
			batch = append(batch, newWalk(x, from))
		}
		x.open = x.open[:first]
	}
	x.result.Runs += len(batch)
	return batch
}

// run makes the runs of a batch.
func (x *explorer) run(batch []*walk) {
	if len(x.models) == 1 || len(batch) == 1 {
		for _, w := range batch {
			w.run(x.models[0], &x.trackers[0])
		}
		return
	}
	var group sync.WaitGroup
	next := make(chan *walk, len(batch))
	for _, w := range batch {
		next <- w
	}
	close(next)
	work := func(i int) {
		for w := range next {
			w.run(x.models[i], &x.trackers[i])
		}
	}
	for i := 1; i < len(x.models); i++ {
		group.Go(func() { work(i) })
	}
	work(0)
	group.Wait()
}

// add adds the result of a run, unless it refutes an assumption. Runs of the same batch that were added before may have visited its states;
// then the rest of it is dropped.
func (x *explorer) add(w *walk) error {
	if w.err != nil {
		return w.err
	}
	if x.addAssumptions(w); x.refuted {
		return nil
	}
	if w.capped {
		x.result.Bounded = fmt.Sprintf("%d choices of a run", x.opts.MaxChoices)
	}
	visited := make([]*node, 0, len(w.nodes)+1)
	if w.from != nil {
		visited = append(visited, w.from)
	}
	ended := w.ended
	for _, n := range w.nodes {
		x.visit(n)
		visited = append(visited, n)
		if !n.explore(n.at) {
			ended = false
			break
		}
	}
	for _, n := range visited {
		x.reopen(n)
	}
	if ended {
		x.result.Add(w.report)
	} else {
		x.result.Pruned++
		x.result.addViolations(w.sample)
	}
	return nil
}

// reopen adds a node to those with events to explore, if it has any.
func (x *explorer) reopen(n *node) {
	if len(n.todo) > 0 {
		x.open = append(x.open, n)
	} else {
		n.past, n.asleep = past{}, nil
	}
}

// visit adds the state of a node to those that are known, and computes the sleep set of the node and what there is to explore.
func (x *explorer) visit(n *node) {
	if n.passing {
		x.prepare(n)
		return
	}
	_, known := x.known[n.state]
	if !known {
		x.result.States++
	}
	x.prepare(n)
	x.known[n.state] = sleeping(n.asleep)
}

// addAssumptions adds what a run has assumed, and what it has learned about assumptions.
func (x *explorer) addAssumptions(w *walk) {
	x.refuted = x.refuted || w.assumed && x.learned
	for at := range w.assumedQuiet {
		x.refuted = x.refuted || x.backgroundAt[at]
		x.assumedQuiet[at] = true
	}
	x.assumed = x.assumed || w.assumed
	for kind := range w.kinds {
		if !x.kinds[kind] {
			x.kinds[kind], x.learned, x.refuted = true, true, x.refuted || x.assumed
		}
	}
	for at := range w.backgroundAt {
		if !x.backgroundAt[at] {
			x.backgroundAt[at], x.refuted = true, x.refuted || x.assumedQuiet[at]
		}
	}
	for actor := range w.actors.dependent {
		x.actors.dependent[actor], x.refuted = true, true
	}
	for actor := range w.actors.awake {
		x.actors.awake[actor], x.refuted = true, true
	}
}
