package explore

import (
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// tracker follows one run event by event and computes the state of the run at each choice. The package comment says what belongs to a
// state, and why that is complete.
type tracker struct {
	run      *Run
	engine   *engine.Engine
	wrote    func(api.Kind, api.Object) // is called with each object that exists or changes
	actors   actorSets
	now      past
	contents map[api.Object]digest
	writes   map[api.Kind]uint64 // to the objects of each kind, as of the last readStore
	sources  map[eventSource]digest
	readers  []*reader    // not in use
	taken    []engine.Due // the event that is about to begin, which is no longer queued
	next     []engine.Due // the events that possibilities has returned
	// Memory that is used again, also by later runs.
	text     []byte
	digests  []digest
	due      []engine.Due
	possible []possible
	// The current event.
	before  digest // its identity
	seen    digest // what a dependent actor may read as it begins
	effects uint64
	lives   int
	key     string // the object key of a turn or a delivery
	queued  int    // how many of the events queued since the last event began were handled
	access  access
}

// actorSets have what runs have found out about actors.
type actorSets struct {
	dependent map[string]bool // not independent after all
	awake     map[string]bool // not idle any more
}

// past is the part of a state that depends on what happened before.
type past struct {
	objects   objects
	actors    small[string, actorPast]   // those of the independent actors
	rest      digest                     // everything that the dependent actors have read
	procs     small[uint64, processPast] // those of the processes that run
	causes    small[uint64, digest]      // by event: its cause
	storage   small[string, digest]      // by backend: all calls so far
	user      digest                     // everything that the driver of the run may have seen
	faults    digest                     // all calls that the fault injector may have counted
	trace     digest                     // the trace entries that the run or its invariants read
	lastEntry uint64                     // the Seq of the last of them
}

// actorPast is the past of an independent actor.
type actorPast struct {
	memory   digest   // what it keeps, or all that its code has been through
	counters []uint64 // see reader
	views    int      // how many informers it began with
	late     digest   // the deliveries of informers that it started later
}

// processPast is the past of a process.
type processPast struct {
	read digest // everything that it has read
	// The counters as it first read them, if begun.
	begun    bool
	effects  uint64
	counts   bool // effects was read
	counters []uint64
}

// clone returns a copy. The objects are shared until one of the copies changes them.
func (p *past) clone() past {
	p.objects.shared = true
	c := *p
	c.actors, c.procs, c.causes, c.storage = slices.Clone(p.actors), slices.Clone(p.procs), slices.Clone(p.causes), slices.Clone(p.storage)
	return c
}

// newTracker returns a tracker of a run that follows it from its beginning.
func newTracker(run *Run, wrote func(api.Kind, api.Object), actors actorSets) *tracker {
	t := &tracker{}
	t.repeat(run, wrote, actors)
	t.start()
	return t
}

// repeat makes t the tracker of a run that repeats another up to a point. There continueFrom must be called. If the run repeats none, start must
// be called instead.
func (t *tracker) repeat(run *Run, wrote func(api.Kind, api.Object), actors actorSets) {
	t.run, t.engine, t.wrote, t.actors = run, run.Engine, wrote, actors
	if t.contents == nil {
		t.contents, t.writes, t.sources = map[api.Object]digest{}, map[api.Kind]uint64{}, map[eventSource]digest{}
	}
}

// leave ends the use of the run. The memory of the tracker serves the next one.
func (t *tracker) leave() {
	clear(t.contents)
	clear(t.writes)
	clear(t.sources)
	clear(t.due[:cap(t.due)])
	clear(t.next[:cap(t.next)])
	clear(t.taken[:cap(t.taken)])
	*t = tracker{
		contents: t.contents, writes: t.writes, sources: t.sources, readers: t.readers, text: t.text[:0], digests: t.digests[:0], due: t.due[:0], possible: t.possible[:0],
		next: t.next[:0], taken: t.taken[:0], access: access{cells: t.access.cells[:0]},
	}
}

// continueFrom lets the tracker follow the run from here on. It changes p.
func (t *tracker) continueFrom(p past) {
	t.now = p
	t.recall()
	t.queued = len(t.engine.Footprint().Queued)
	t.lives = t.countLives()
}

// start reads the run at its beginning.
func (t *tracker) start() {
	t.now = past{objects: objects{byRef: map[api.Ref]versions{}}}
	for _, d := range slices.Concat(t.engine.Ready(), t.engine.Later()) {
		t.now.causes.set(d.Seq, digest{}.mix([]byte("start"), number(int(d.Seq))))
	}
	for a := range t.engine.EachActor {
		for _, p := range a.Processes() {
			t.now.procs.set(p.ID(), processPast{read: digest{}.mix([]byte("start"), number(int(p.ID())))})
		}
	}
	if trace := t.engine.Trace(); trace != nil {
		t.now.lastEntry = trace.Seq()
	}
	t.readStore()
	t.lives = t.countLives()
	t.remember(digest{})
}

func (t *tracker) independent(a *engine.Actor) bool {
	return a != nil && !t.actors.dependent[a.Name()] && (slices.Contains(t.run.Independent, a.Name()) || t.idle(a))
}

// idle reports whether an actor is idle. The trace may show what an idle actor does, and faults may hit requests that are else skipped.
func (t *tracker) idle(a *engine.Actor) bool {
	return a != nil && t.run.Idle[a.Name()] != nil && !t.actors.awake[a.Name()] && !t.run.Ordered && !t.run.Injects
}

// remember reads the memory of all independent actors.
func (t *tracker) remember(segment digest) {
	for a := range t.engine.EachActor {
		if t.independent(a) {
			past := t.now.actors.get(a.Name())
			past.views = len(a.Views())
			t.now.actors.set(a.Name(), past)
			t.rememberActor(a, segment)
		}
	}
}

func (t *tracker) rememberActor(a *engine.Actor, segment digest) {
	past := t.now.actors.get(a.Name())
	if a.Memory() != nil {
		d, counters := t.memory(a)
		past.memory, past.counters = d.with(past.late), counters
	} else {
		past.memory = past.memory.with(segment)
	}
	t.now.actors.set(a.Name(), past)
}

// process returns the state of a running process.
func (t *tracker) process(p *engine.Process) digest {
	past := t.now.procs.get(p.ID())
	d := past.read
	if !past.begun {
		return d
	}
	if past.counts {
		d = d.mix([]byte("effects"), number(int(t.count()-past.effects)))
	}
	return d.mix(differ(t.now.actors.get(p.Actor().Name()).counters, past.counters)...)
}

// differ returns by how much counters have grown.
func differ(now, base []uint64) [][]byte {
	var grown [][]byte
	for i := range min(len(now), len(base)) {
		grown = append(grown, number(int(now[i]-base[i])))
	}
	return grown
}

// count returns the engine's counter of effects.
func (t *tracker) count() uint64 { return t.engine.User().Effects() }

// id returns the identity of an event that is due, which does not depend on when and how it became due.
func (t *tracker) id(d engine.Due) digest {
	source := eventSource{kind: d.Kind, actor: d.Actor}
	switch d.Kind {
	case engine.DueTurn:
		source.queue = d.Queue
	case engine.DueDelivery:
		source.view = d.View
	}
	id, ok := t.sources[source]
	if !ok {
		id = source.digest()
		t.sources[source] = id
	}
	switch d.Kind {
	case engine.DueTurn, engine.DueDelivery:
		return id
	case engine.DueProcess, engine.DueWaking:
		return id.with(t.now.procs.get(d.Process.ID()).read)
	default:
		return id.with(t.now.causes.get(d.Seq))
	}
}

// eventSource is where events come from. It identifies turns and deliveries.
type eventSource struct {
	kind  engine.DueKind
	actor *engine.Actor // nil for none
	queue *engine.Queue // of a turn
	view  engine.View   // of a delivery
}

func (s eventSource) digest() digest {
	d := digest{}.mix(number(int(s.kind)))
	if s.actor != nil {
		d = d.mix([]byte(s.actor.Name()))
	}
	switch {
	case s.queue != nil:
		d = d.mix(number(s.queue.Index()))
	case s.view != nil:
		d = d.mix(number(viewIndex(s.actor, s.view)))
	}
	return d
}

// surroundings returns everything that a dependent actor may read.
func (t *tracker) surroundings() digest {
	d := t.now.objects.all
	for _, backend := range t.now.storage {
		d = d.with(backend.value)
	}
	return d
}

// begin handles the begin of an event.
func (t *tracker) begin(d engine.Due) {
	t.noteUser()
	t.before, t.seen, t.key = t.id(d), digest{}, ""
	switch d.Kind {
	case engine.DueTurn:
		t.key = d.Queue.First()
	case engine.DueDelivery:
		if late, ok := d.View.NthUndelivered(0); ok {
			t.key = late.Key
			t.before = t.before.mix([]byte(late.Type)).with(t.content(late.Object), t.contentOrNone(late.Old))
		}
	}
	if !t.independent(d.Actor) {
		t.seen = t.surroundings()
	}
	t.effects = t.count()
	t.access = access{cells: t.access.cells[:0]}
	t.queued = 0
}

// acted takes up what the user has done since the last event, and which actors live another life than before it.
func (t *tracker) noteUser() {
	t.readStore()
	queued := t.engine.Footprint().Queued
	for i, seq := range queued[t.queued:] {
		t.now.causes.set(seq, t.now.user.mix([]byte("user"), number(i)))
	}
	t.queued = len(queued)
	if t.countLives() != t.lives {
		t.lives = t.countLives()
		t.remember(t.now.user)
	}
	t.readTrace()
}

// returned handles the engine's return to the driver of the run, which may then read everything.
func (t *tracker) returned() {
	t.noteUser()
	t.now.user = t.now.user.with(t.state())
}

func (t *tracker) countLives() int {
	n := 0
	for a := range t.engine.EachActor {
		n += 2 * a.Lives()
		if !a.Alive() {
			n++
		}
	}
	return n
}

// end handles the end of an event, with its footprint.
func (t *tracker) end(f *engine.Footprint) {
	a, independent := f.Event.Actor, t.independent(f.Event.Actor)
	effects := t.count()
	f.Counts = slices.DeleteFunc(f.Counts, func(c engine.Count) bool { return c.Process == t.engine.User() })
	changed := t.readStore()
	// The handlers of an informer that a process started do not only queue keys: they are code like any other.
	late := independent && f.Event.View != nil && viewIndex(a, f.Event.View) >= t.now.actors.get(a.Name()).views
	f.Code = f.Code || late
	segment := t.segment(f, independent)
	if late {
		past := t.now.actors.get(a.Name())
		past.late = past.late.with(segment)
		t.now.actors.set(a.Name(), past)
	}
	t.access.note(t, f, independent)
	for _, ref := range changed {
		t.access.changes(objectCell.named(string(ref.Kind), ref.Key))
		t.access.changes(kindCell.named(string(ref.Kind)))
	}
	if effects != t.effects {
		t.access.reads(effectsCell)
	}
	drive, _ := t.engine.RunMode()
	switch {
	case drive == engine.Stepping, drive == engine.Awaiting && !t.waitsForTime(drive), t.countLives() != t.lives:
		t.access.all = true
	case drive == engine.Settling && f.Event.Background:
		t.access.changes(backgroundCell)
	case drive == engine.Settling:
		t.access.reads(backgroundCell)
	}
	for i, seq := range t.caused(f) {
		t.now.causes.set(seq, segment.mix([]byte("cause"), number(i)))
	}
	t.queued = len(f.Queued)
	t.now.causes.delete(f.Event.Seq)
	for _, p := range f.Processes {
		past := t.now.procs.get(p.ID())
		past.read = segment
		t.now.procs.set(p.ID(), past)
	}
	for _, effect := range f.Calls {
		if target := effect.Call.Target; target != api.APIServer {
			t.now.storage.set(target, t.now.storage.get(target).with(segment))
		}
	}
	switch {
	case !independent:
		t.now.rest = t.now.rest.with(segment)
	case f.Code:
		t.rememberActor(a, segment)
	}
	if t.readTrace() {
		t.access.changes(traceCell)
	}
	t.forget(f)
}

// caused returns the queued events that are identified by their cause. How many others were queued depends on more than what code has read:
// whether a worker is free, a process waits for a signal, or an informer lags.
func (t *tracker) caused(f *engine.Footprint) (all []uint64) {
	if len(f.Queued) == 0 {
		return nil
	}
	for _, list := range []func() []engine.Due{t.ready, t.later} {
		for _, d := range list() {
			if slices.Contains(f.Queued, d.Seq) && identifiedByCause(d) {
				all = append(all, d.Seq)
			}
		}
	}
	slices.Sort(all)
	return all
}

// identifiedByCause reports whether the cause of an event identifies it.
func identifiedByCause(d engine.Due) bool {
	switch d.Kind {
	case engine.DueTurn, engine.DueDelivery, engine.DueProcess, engine.DueWaking:
		return false
	}
	return true
}

// waitsForTime reports whether Until waits only for its timeout, because its condition cannot become true any more.
func (t *tracker) waitsForTime(drive engine.RunMode) bool {
	return drive == engine.Awaiting && t.run.Waits != nil && !t.run.Waits()
}

// forget removes processes that have ended.
func (t *tracker) forget(f *engine.Footprint) {
	for _, p := range f.Processes {
		if !slices.Contains(p.Actor().Processes(), p) {
			t.now.procs.delete(p.ID())
		}
	}
}
