package explore

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// walk is one run. It repeats the path to a node and explores from there on. It reads the explorer and does not change it.
type walk struct {
	x *explorer
	// from is the node to which the run repeats others; nil for the root. No other run has the same at the same time.
	from  *node
	nodes []*node // after it, each with the event that this run has explored and its access

	path    []*node // from the root to from, and then nodes
	events  []int   // the event that follows each of them
	cluster *Run    // while it runs
	tracker *tracker
	live    bool // the tracker follows the events; false while the path is repeated
	depth   int  // the number of nodes so far
	choices int  // the number of those with several events
	asked   bool // the engine has called Choose for the next event

	// The result.
	why    error // it was ended early
	err    error
	ended  bool   // the run was not ended early
	capped bool   // MaxChoices was reached
	report Report // if it has ended
	sample sample // the violations, if it has not
	// See explorer.
	assumed, refuted           bool
	actors                     actorSets
	kinds                      map[api.Kind]bool
	backgroundAt, assumedQuiet map[time.Time]bool
}

func newWalk(x *explorer, from *node) *walk {
	w := &walk{x: x, from: from}
	w.path, w.events = from.path()
	return w
}

// These errors end a run early.
var (
	errKnown   = errors.New("nothing new can follow")
	errRefuted = errors.New("an assumption was refuted")
	errChanged = errors.New("explore: the model is not the same each time: a choice has another number of events than before")
)

// run makes the run. It uses the memory of a tracker that no other run uses meanwhile.
func (w *walk) run(model Model, t *tracker) {
	run, err := model(w.Choose)
	if err != nil {
		w.err = fmt.Errorf("explore: make the model: %w", err)
		return
	}
	defer run.Engine.Close()
	if run.Ordered && run.Engine.Trace() == nil {
		w.err = errors.New("explore: Run.Ordered is true but the engine has no trace; set engine.Config.Trace")
		return
	}
	if w.x.opts.noIdle {
		run.Idle = nil
	}
	w.cluster = run
	run.Engine.Observe(w)
	t.repeat(run, w.wrote, w.x.actors)
	defer t.leave()
	if w.live = w.from == nil; w.live {
		t.start()
	} else {
		run.Engine.Record(false)
	}
	w.tracker = t
	failure := w.execute(run)
	switch {
	case w.err != nil || w.refuted:
	case w.ended:
		if n := len(w.path); n > 0 && w.depth == n && !w.capped {
			w.setEdge(w.tracker.access.keep())
		}
		w.report = run.report(failure, choicesOf(w.path, w.events))
	default:
		if violations := run.violations(); len(violations) > 0 {
			w.sample = sample{Choices: choicesOf(w.path, w.events), Violations: violations}
		}
	}
	w.tracker, w.cluster = nil, nil
}

// execute executes a run.
func (w *walk) execute(run *Run) (failure error) {
	defer func() {
		switch r := recover(); r {
		case nil:
		case engine.GivenUp:
			w.ends(false)
		default:
			panic(r)
		}
	}()
	failure = run.Execute()
	w.ends(failure != engine.GivenUp)
	return failure
}

// ends notes that a run ended by itself, or was given up.
func (w *walk) ends(byItself bool) {
	w.ended = byItself
	if !byItself && w.why == errChanged {
		w.err = errChanged
	}
}

// giveUp ends the run early.
func (w *walk) giveUp(why error) int {
	w.why = why
	return engine.GiveUp
}

// Choose is for engine.Config.Choose.
func (w *walk) Choose(n int) int {
	if w.tracker == nil {
		return 0
	}
	w.asked = true
	return w.next(n)
}

// Begin, End and Return make the walk an engine.Observer.
func (w *walk) Begin(d engine.Due) (run bool) {
	// With a single event due the engine does not call Choose.
	if !w.asked {
		w.tracker.taken = append(w.tracker.taken, d)
		next := w.next(1)
		w.tracker.taken = w.tracker.taken[:0]
		if next == engine.GiveUp {
			return false
		}
	}
	w.asked = false
	if w.live {
		w.wakeByDelivery(d)
		w.tracker.begin(d)
	}
	return true
}

// End handles the end of an event.
func (w *walk) End(f *engine.Footprint) {
	if w.live {
		w.tracker.end(f)
		w.background(f)
		if len(f.Calls) > 0 && w.tracker.idle(f.Event.Actor) {
			w.wake(f.Event.Actor.Name())
		}
	}
}

// Return handles the engine's return to the driver of the run.
func (w *walk) Return() {
	if w.live {
		w.tracker.returned()
	}
}

// next picks the next event: the one on the path, or at the end of the path the first one to explore, which extends the path; or it gives up.
func (w *walk) next(n int) int {
	if w.refuted {
		return w.giveUp(errRefuted)
	}
	most := w.x.opts.MaxChoices
	if w.capped || n > 1 && most > 0 && w.choices >= most {
		w.cap()
		return 0
	}
	if n > 1 {
		w.choices++
	}
	w.depth++
	at := w.depth - 1
	if at >= len(w.path) {
		return w.extend(n)
	}
	node := w.path[at]
	if node.n != n {
		return w.giveUp(errChanged)
	}
	if node == w.from {
		// The path changes here, so the tracker follows from here on.
		w.live = true
		w.tracker.engine.Record(true)
		if len(node.todo) > 0 {
			w.tracker.continueFrom(node.past.clone())
		} else {
			w.tracker.continueFrom(node.past) // no other run continues from here
			node.past = past{}
		}
	}
	return node.events[w.events[at]].index
}

// cap records that MaxChoices was reached.
func (w *walk) cap() {
	if !w.capped {
		w.capped, w.live = true, false
		if len(w.path) > 0 {
			w.setEdge(access{all: true})
		}
	}
}

// setEdge sets the access of the last event.
func (w *walk) setEdge(a access) { w.path[len(w.path)-1].edge = a }

// extend adds a node to the path, or ends the run if nothing new can follow.
func (w *walk) extend(n int) int {
	t := w.tracker
	t.noteUser()
	if w.refuted {
		return w.giveUp(errRefuted)
	}
	next := &node{n: n, events: t.possibilities(), alone: -1}
	if len(next.events) == 0 {
		w.asked = false // only stopped timers are due, so no event follows
		w.depth--
		if n > 1 {
			w.choices--
		}
		return 0
	}
	if last := len(w.path) - 1; last >= 0 {
		w.setEdge(t.access.keep())
		next.parent, next.via, next.depth = w.path[last], w.events[last], last+1
	}
	w.prefer(next)
	if next.passing = w.x.explores(next.alone); !next.passing {
		next.state = t.state()
	}
	w.x.prepare(next)
	// A node is explored again if its run leaves an event of it, also because all were asleep or known, which they may be no more.
	switch {
	case len(next.todo) == 0:
		next.past = t.now // the run ends
	case !next.passing && len(next.events) > 1:
		next.past = t.now.clone()
	}
	w.nodes = append(w.nodes, next)
	if len(next.todo) == 0 {
		w.depth--
		next.at = -1
		return w.giveUp(errKnown)
	}
	next.explore(next.todo[0])
	w.path, w.events = append(w.path, next), append(w.events, next.at)
	return next.events[next.at].index
}

// prefer chooses the event of a node that is explored alone.
func (w *walk) prefer(n *node) {
	for i := range n.events {
		if w.invisible(n, i) {
			n.alone = i
			if !w.x.explores(i) {
				return
			}
			w.assumed = true
			if mode, _ := w.tracker.engine.RunMode(); mode == engine.Settling {
				put(&w.assumedQuiet, w.tracker.engine.Now())
			}
			return
		}
	}
}

// invisible reports whether an event may come first because no other code can observe when it comes: it is one of an idle actor, or the only
// event of an independent actor.
//
// During Settle a delivery is work, and Settle ends after the last work, so a background event might then come too late. Therefore no
// background event may be due at this instant; background checks those that are queued later in it.
func (w *walk) invisible(n *node, i int) bool {
	t := w.tracker
	mode, _ := t.engine.RunMode()
	settling := mode == engine.Settling
	if !settling && mode != engine.Advancing && !t.waitsForTime(mode) {
		return false
	}
	idle := t.idle(t.next[i].Actor)
	if !idle && (len(n.events) == 1 || !w.onlyDelivery(n, i)) {
		return false
	}
	now := t.engine.Now()
	return !settling || !w.x.backgroundAt[now] && !w.backgroundAt[now] && !slices.ContainsFunc(t.next, func(d engine.Due) bool {
		return d.Background && !t.idle(d.Actor)
	})
}

// onlyDelivery reports whether an event is a delivery to an independent actor that has no other event due, and cannot get one before the
// delivery. This assumes that kinds of which nothing was written so far do not change.
func (w *walk) onlyDelivery(n *node, i int) bool {
	t, d := w.tracker, w.tracker.next[i]
	if d.Kind != engine.DueDelivery || viewIndex(d.Actor, d.View) >= t.now.actors.get(d.Actor.Name()).views {
		return false
	}
	for j := range t.next {
		if j != i && t.next[j].Actor == d.Actor {
			return false
		}
	}
	for _, v := range d.Actor.Views() {
		if v != d.View && (w.x.kinds[v.Kind()] || w.kinds[v.Kind()]) {
			return false
		}
	}
	return true
}

// background records an instant at which a background event is queued during Settle, and refutes the assumption that there is none.
func (w *walk) background(f *engine.Footprint) {
	now := w.tracker.engine.Now()
	if mode, _ := w.tracker.engine.RunMode(); mode != engine.Settling || len(f.Queued) == 0 || w.x.backgroundAt[now] || w.backgroundAt[now] {
		return
	}
	for _, d := range w.tracker.ready() {
		if d.Background && slices.Contains(f.Queued, d.Seq) && !w.tracker.idle(d.Actor) {
			put(&w.backgroundAt, now)
			w.refuted = w.refuted || w.x.assumedQuiet[now] || w.assumedQuiet[now]
		}
	}
}

// wrote handles an object that exists or changes.
func (w *walk) wrote(kind api.Kind, obj api.Object) {
	if !w.x.kinds[kind] && !w.kinds[kind] {
		put(&w.kinds, kind)
		w.refuted = w.refuted || w.x.assumed || w.assumed
	}
	if actor := dependentActor(obj); actor != "" && !w.x.actors.dependent[actor] {
		put(&w.actors.dependent, actor)
		w.refuted = true
	}
	for actor, wakes := range w.cluster.Idle {
		if wakes(obj) {
			w.wake(actor)
		}
	}
}

// wake refutes that an actor is idle.
func (w *walk) wake(actor string) {
	if !w.x.actors.awake[actor] {
		put(&w.actors.awake, actor)
		w.refuted = true
	}
}

// wakeByDelivery wakes an idle actor that gets an object that wakes it. The object may be gone from the store.
func (w *walk) wakeByDelivery(d engine.Due) {
	if d.Kind != engine.DueDelivery || !w.tracker.idle(d.Actor) {
		return
	}
	for late := range d.View.Undelivered {
		if w.cluster.Idle[d.Actor.Name()](late.Object) {
			w.wake(d.Actor.Name())
		}
		return
	}
}

// put adds a member to a set.
func put[K comparable](set *map[K]bool, member K) {
	if *set == nil {
		*set = map[K]bool{}
	}
	(*set)[member] = true
}
