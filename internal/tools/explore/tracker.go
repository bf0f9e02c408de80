package explore

import (
	"maps"
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// tracker follows one run event by event, and tells at each choice what state the run is in. The package comment says what is in a state, and
// why nothing is missing.
type tracker struct {
	run      *Run
	engine   *engine.Engine
	wrote    func(api.Kind, api.Object) // is told of each object that is there or changes
	blabs    map[string]bool            // actors that are not discreet after all
	now      past
	contents map[api.Object]digest
	taken    []engine.Due // that is about to begin, and not queued any more
	// Of the event that runs.
	before  digest // what it is
	seen    digest // what an actor of which nothing is known may see as it begins
	effects uint64
	lives   int
	key     string // that it is about, for a turn and a delivery
	queued  int    // how many of the events that were queued since the last event began have been taken up
	access  access
}

// past is what a state has in it of what happened before. A copy is complete.
type past struct {
	objects  objects
	memories map[string]digest   // by discreet actor: what it keeps, or all that its code has been through
	counters map[string][]uint64 // by actor; see reader
	views    map[string]int      // by discreet actor: how many informers it began with; of the others none
	late     map[string]digest   // by discreet actor: what it was told by informers that it started later
	rest     digest              // all that the other actors have been through
	procs    map[uint64]digest   // by process: all that it has been through
	bases    map[uint64]base     // by process: counters when it read them first
	causes   map[uint64]digest   // by event: what it comes from
	storage  map[string]digest   // by backend: all calls so far
	user     digest              // all that the user may have seen so far
	faults   digest              // all calls so far that faults may have counted
	trace    digest              // what those who look at the trace have seen
	told     uint64              // the last entry in it
}

// base are counters as a process read them first.
type base struct {
	effects  uint64
	counts   bool // effects was read
	counters []uint64
}

func (p past) clone() past {
	p.objects.byRef = maps.Clone(p.objects.byRef)
	p.memories, p.counters = maps.Clone(p.memories), maps.Clone(p.counters)
	p.views, p.late = maps.Clone(p.views), maps.Clone(p.late)
	p.procs, p.bases, p.causes = maps.Clone(p.procs), maps.Clone(p.bases), maps.Clone(p.causes)
	p.storage = maps.Clone(p.storage)
	return p
}

func newTracker(run *Run, wrote func(api.Kind, api.Object), blabs map[string]bool) *tracker {
	t := &tracker{run: run, engine: run.Engine, wrote: wrote, blabs: blabs, contents: map[api.Object]digest{}}
	t.now = past{
		objects:  objects{byRef: map[api.Ref]versions{}},
		memories: map[string]digest{}, counters: map[string][]uint64{}, views: map[string]int{}, late: map[string]digest{},
		procs: map[uint64]digest{}, bases: map[uint64]base{}, causes: map[uint64]digest{}, storage: map[string]digest{},
	}
	// Up to here every run is the same.
	for _, d := range slices.Concat(t.engine.Ready(), t.engine.Later()) {
		t.now.causes[d.Seq] = digest{}.mix([]byte("start"), number(int(d.Seq)))
	}
	for _, a := range t.engine.Actors() {
		for _, p := range a.Procs() {
			t.now.procs[p.ID()] = digest{}.mix([]byte("start"), number(int(p.ID())))
		}
	}
	if trace := t.engine.Trace(); trace != nil {
		t.now.told = trace.Seq()
	}
	t.look()
	t.lives = t.livesOfAll()
	t.remember(digest{})
	return t
}

func (t *tracker) discreet(a *engine.Actor) bool {
	return a != nil && slices.Contains(t.run.Discreet, a.Name()) && !t.blabs[a.Name()]
}

// remember takes up what all discreet actors keep.
func (t *tracker) remember(segment digest) {
	for _, a := range t.engine.Actors() {
		if t.discreet(a) {
			t.now.views[a.Name()] = len(a.Views())
			t.rememberActor(a, segment)
		}
	}
}

func (t *tracker) rememberActor(a *engine.Actor, segment digest) {
	if a.Memory() != nil {
		d, counters := t.memory(a)
		t.now.memories[a.Name()], t.now.counters[a.Name()] = d.with(t.now.late[a.Name()]), counters
		return
	}
	t.now.memories[a.Name()] = t.now.memories[a.Name()].with(segment)
}

// activity is what a process that has not ended is like.
func (t *tracker) activity(p *engine.Proc) digest {
	d := t.now.procs[p.ID()]
	b, ok := t.now.bases[p.ID()]
	if !ok {
		return d
	}
	if b.counts {
		d = d.mix([]byte("effects"), number(int(t.count()-b.effects)))
	}
	return d.mix(differ(t.now.counters[p.Actor().Name()], b.counters)...)
}

// differ is by how much counters have grown.
func differ(now, base []uint64) [][]byte {
	var grown [][]byte
	for i := range min(len(now), len(base)) {
		grown = append(grown, number(int(now[i]-base[i])))
	}
	return grown
}

// count is how much was done to the world so far.
func (t *tracker) count() uint64 { return t.engine.User().Effects() }

// id is what an event that is due is like, whenever and however it came to be due.
func (t *tracker) id(d engine.Due) digest {
	id := digest{}.mix(number(int(d.Kind)))
	if d.Actor != nil {
		id = id.mix([]byte(d.Actor.Name()))
	}
	switch d.Kind {
	case engine.DueTurn:
		return id.mix(number(d.Queue.Index()))
	case engine.DueDelivery:
		return id.mix(number(viewIndex(d.Actor, d.View)))
	case engine.DueActivity, engine.DueWaking:
		return id.with(t.now.procs[d.Proc.ID()])
	default:
		return id.with(t.now.causes[d.Seq])
	}
}

// surroundings are what an actor may see of which it is not known what it reads.
func (t *tracker) surroundings() digest {
	d := t.now.objects.all
	for _, name := range slices.Sorted(maps.Keys(t.now.storage)) {
		d = d.with(t.now.storage[name])
	}
	return d
}

// begin is told that an event begins.
func (t *tracker) begin(d engine.Due) {
	t.acted()
	t.before, t.seen, t.key = t.id(d), digest{}, ""
	switch d.Kind {
	case engine.DueTurn:
		t.key = d.Queue.First()
	case engine.DueDelivery:
		for late := range d.View.Late {
			t.key = late.Key
			t.before = t.before.mix([]byte(late.Type)).with(t.content(late.Object), t.contentOrNone(late.Old))
			break
		}
	}
	if !t.discreet(d.Actor) {
		t.seen = t.surroundings()
	}
	t.effects = t.count()
	t.access = access{}
	t.queued = 0
}

// acted takes up what the user has done since the last event, and which actors live another life than before it.
func (t *tracker) acted() {
	t.look()
	queued := t.engine.Footprint().Queued
	for i, seq := range queued[t.queued:] {
		t.now.causes[seq] = t.now.user.mix([]byte("user"), number(i))
	}
	t.queued = len(queued)
	if t.livesOfAll() != t.lives {
		t.lives = t.livesOfAll()
		t.remember(t.now.user)
	}
	t.hear()
}

// came is told that the engine goes back to whoever drives it, who may look at everything then.
func (t *tracker) came() {
	t.acted()
	t.now.user = t.now.user.with(t.state())
}

func (t *tracker) livesOfAll() int {
	n := 0
	for _, a := range t.engine.Actors() {
		n += 2 * a.Lives()
		if !a.Alive() {
			n++
		}
	}
	return n
}

// end is told what the event that has ended read and did.
func (t *tracker) end(f *engine.Footprint) {
	a, discreet := f.Event.Actor, t.discreet(f.Event.Actor)
	effects := t.count()
	f.Counts = slices.DeleteFunc(f.Counts, func(c engine.Count) bool { return c.Proc == t.engine.User() })
	changed := t.look()
	// What an activity has told to it goes past queues: such handlers are code like any other.
	late := discreet && f.Event.View != nil && viewIndex(a, f.Event.View) >= t.now.views[a.Name()]
	f.Code = f.Code || late
	segment := t.segment(f, discreet)
	if late {
		t.now.late[a.Name()] = t.now.late[a.Name()].with(segment)
	}
	t.access.note(t, f, discreet)
	for _, ref := range changed {
		t.access.changes(objectCell + ref.String())
		t.access.changes(kindCell + string(ref.Kind))
	}
	if effects != t.effects {
		t.access.reads(effectsCell)
	}
	drive, _ := t.engine.Drive()
	switch {
	case drive == engine.Stepping, drive == engine.Awaiting && !t.patient(drive), t.livesOfAll() != t.lives:
		t.access.all = true
	case drive == engine.Settling && f.Event.Background:
		t.access.changes(backgroundCell)
	case drive == engine.Settling:
		t.access.reads(backgroundCell)
	}
	for i, seq := range t.caused(f) {
		t.now.causes[seq] = segment.mix([]byte("cause"), number(i))
	}
	t.queued = len(f.Queued)
	delete(t.now.causes, f.Event.Seq)
	for _, p := range f.Procs {
		t.now.procs[p.ID()] = segment
	}
	for _, effect := range f.Calls {
		if target := effect.Call.Target; target != api.APIServer {
			t.now.storage[target] = t.now.storage[target].with(segment)
		}
	}
	switch {
	case !discreet:
		t.now.rest = t.now.rest.with(segment)
	case f.Code:
		t.rememberActor(a, segment)
	}
	if t.hear() {
		t.access.changes(traceCell)
	}
	t.forget(f)
}

// caused lists those of the events that were queued of which the cause tells what they are. Of the others it does not, and how many there
// are depends on more than what code has read: whether a worker is free, a process waits for a signal, an informer is late.
func (t *tracker) caused(f *engine.Footprint) (all []uint64) {
	if len(f.Queued) == 0 {
		return nil
	}
	for _, list := range [][]engine.Due{t.engine.Ready(), t.engine.Later()} {
		for _, d := range list {
			if slices.Contains(f.Queued, d.Seq) && told(d) {
				all = append(all, d.Seq)
			}
		}
	}
	slices.Sort(all)
	return all
}

// told reports whether what an event is is told by its cause.
func told(d engine.Due) bool {
	switch d.Kind {
	case engine.DueTurn, engine.DueDelivery, engine.DueActivity, engine.DueWaking:
		return false
	}
	return true
}

// patient reports whether the engine is being driven until a time is over, and not until something is so, although it is asked to look.
func (t *tracker) patient(drive engine.Drive) bool {
	return drive == engine.Awaiting && t.run.Waits != nil && !t.run.Waits()
}

// forget drops processes that have ended.
func (t *tracker) forget(f *engine.Footprint) {
	for _, p := range f.Procs {
		if !slices.Contains(p.Actor().Procs(), p) {
			delete(t.now.procs, p.ID())
			delete(t.now.bases, p.ID())
		}
	}
}
