package engine

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/gates"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// Config sets up an engine. The zero value works.
type Config struct {
	// Seed orders the events of one instant. Zero, the default: first in, first out, and no switch within a sync that does not wait. Any
	// other seed shuffles them, and lets other actors run at every API call.
	Seed int64
	// Choose, when set, replaces the seed: it returns which of the n events that are due runs next, as an index from 0 to n-1, or GiveUp.
	Choose func(n int) int
	// Start is the virtual time at which the engine begins; the default is DefaultStart.
	Start time.Time
	// Latency is the time from the beginning of an actor's API call to its effect; the default is none.
	Latency time.Duration
	// Lag is the delay of the watch events of an actor's informers, by the actor's name; the default is none.
	Lag map[string]time.Duration
	// Injector injects faults into API calls of actors and backend calls; nil injects none.
	Injector api.Injector
	// NoSkipping runs all periodic work, also work that would find nothing new; see skipping.go. Without Latency the outcome is the same.
	NoSkipping bool
	// StrictNamespaces is that of store.Config.
	StrictNamespaces bool
	// CountedNames is that of store.Config.
	CountedNames bool
	// Gates are those of store.Config. Components read them from the store.
	Gates gates.Set
	// Trace receives the entries; nil records nothing.
	Trace *trace.Trace
	// Log is the log of the components; nil, the default, is none. If it has lines of level 4 and Seed and Choose are not set, nothing is
	// skipped, because real components log their periodic work, too.
	Log *klog.Config
	// AssumeFiles reports whether the Secrets or the ConfigMaps of a namespace are unknown; nil: none are. A Secret that is unknown counts as an
	// empty one for drivers, and volumes find each unknown object with each key.
	AssumeFiles func(kind api.Kind, namespace string) bool
	// History is store.Config.History.
	History int
	// AsGiven is store.Config.AsGiven.
	AsGiven bool
	// Remains, if not nil, serve this engine and others before and after it.
	Remains *Remains
}

// DefaultStart is the default of Config.Start.
var DefaultStart = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Engine runs actors in virtual time over a store, one event after the other. It is not safe for concurrent use.
type Engine struct {
	// The configuration.
	start       time.Time
	latency     time.Duration
	lag         map[string]time.Duration
	injector    api.Injector
	noSkipping  bool
	assumeFiles func(kind api.Kind, namespace string) bool
	trace       *trace.Trace
	log         *klog.Log // nil for none

	store     *store.Store
	api       *API
	actors    []*Actor
	user      *Process
	writer    string    // see Writer
	admission Admission // reviews what actors write; nil for no reviews
	outside   Outside   // see outside.go
	attached  map[any]any
	after     []func() // called after each event
	closers   []func() // called at the end of Close
	closing   bool     // the engine ends: informers need not leave each other

	// The clock, and the events that are queued.
	now          time.Duration // since start
	clock        time.Time     // the last result of Now, at clockAt
	clockAt      time.Duration
	seq          uint64 // of the newest event
	ready        readyList
	passes       eventHeap
	timers       eventHeap
	turn         turn // of the pass that ran last at this instant
	waiting      int  // foreground events, ready or timed
	choices      *choices
	stopped      int // number of timers that were stopped since dropStopped removed them
	unusedTimers []*Timer

	// The run that is under way; see coroutine.
	source   func() bool      // puts the next event into taken; see takeEvent
	taken    event            // until it begins
	isTaken  bool             // taken has the next event already
	givenUp  bool             // the run ends; see GivenUp
	inEvent  bool             // an event is under way
	host     *coroutine       // coroutine of the event's task
	running  *Process         // process that runs at this moment
	resumed  *Process         // process that continues at the end of the task
	switchTo *coroutine       // coroutine that runs next
	cause    uint64           // process that set the timer that fires at this moment
	procs    uint64           // number of processes so far
	effects  uint64           // of all actors; see Process.Effects
	repeated map[api.Call]int // calls of an instant that may be a livelock; nil for others
	panicked *Panic           // a panic on a coroutine, on its way to the one who resumed it

	// Memory that is used again.
	memory          memory
	allocation      any // the *kinds that the engine is in
	remains         *Remains
	remainsShared   bool       // remains serve other engines, too
	coroutinesKept  int        // number of idle coroutines that outlast a run
	unusedProcesses []*Process // that have ended
	// earlier are those of engines before this one, for an observed engine, and observed those that it has used.
	earlier, observed []*Process

	// For tools that observe; see Observe.
	observer  Observer
	footprint *Footprint // nil while nothing is recorded
	recorded  *Footprint // its memory; nil at first
	mode      RunMode
	deadline  time.Duration

	// See emission.go.
	eventStamp int64 // the newest; see nextStamp
	emitted    [][]emission
	recounts   int // number of emissions in it of Events that exist
}

// periodicLevel is the level at which components log periodic work that finds nothing new.
const periodicLevel = 4

// New returns an engine with an empty store. A negative latency or lag is an error.
func New(cfg Config) (*Engine, error) {
	if cfg.Latency < 0 {
		return nil, fmt.Errorf("engine: Latency is %v: give zero or more", cfg.Latency)
	}
	if err := checkLag(cfg.Lag); err != nil {
		return nil, err
	}
	if cfg.Start.IsZero() {
		cfg.Start = DefaultStart
	}
	kinds, old, kept := cfg.Remains.take(cfg.Trace)
	e := &kinds.engine
	e.timers.events, e.ready.items, e.passes.events, e.unusedProcesses = kept.timers, kept.ready, kept.passes, kept.ended
	e.earlier, e.observed, e.recorded = kept.earlier, kept.observed, kept.recorded
	e.start, e.latency, e.lag, e.injector = cfg.Start.UTC(), cfg.Latency, cfg.Lag, cfg.Injector
	e.clock = e.start
	e.noSkipping, e.assumeFiles, e.trace = cfg.NoSkipping, cfg.AssumeFiles, cfg.Trace
	e.allocation = kinds
	switch {
	case cfg.Choose != nil:
		e.choices = &choices{choose: cfg.Choose, record: kept.record}
	case cfg.Seed != 0:
		rng := rand.New(rand.NewPCG(uint64(cfg.Seed), 0x9e3779b97f4a7c15))
		e.choices = &choices{choose: rng.IntN, record: kept.record}
	}
	now := e.Now
	e.log = klog.New(cfg.Log, now)
	if e.log.Enabled(periodicLevel) && e.choices == nil {
		e.noSkipping = true
	}
	if e.trace != nil && e.trace.Start.IsZero() {
		e.trace.Start = e.start
	}
	e.store = store.New(store.Config{Now: now, History: cfg.History, AsGiven: cfg.AsGiven, StrictNamespaces: cfg.StrictNamespaces,
		CountedNames: cfg.CountedNames, Gates: cfg.Gates, Old: old})
	e.memory.prepare(e)
	if cfg.Remains != nil {
		e.remains, e.remainsShared = cfg.Remains, true
	}
	kinds.prepare(e)
	e.memory.userActor = Actor{engine: e, name: api.User, alive: true}
	e.memory.user = Process{engine: e, name: api.User, actor: &e.memory.userActor, inline: true}
	e.user = &e.memory.user
	return e, nil
}

// User is the process in whose name the caller of the engine uses the API. It never waits.
func (e *Engine) User() *Process { return e.user }

// Client returns a process like User for a client with a name of its own, which appears in the trace as user/NAME.
func (e *Engine) Client(name string) *Process {
	name = api.User + "/" + name
	return &Process{engine: e, name: name, actor: &Actor{engine: e, name: name, alive: true}, inline: true}
}

// Writer is the actor whose write takes effect now, or took effect last.
func (e *Engine) Writer() string { return e.writer }

// Now is the virtual time.
func (e *Engine) Now() time.Time {
	if e.clockAt != e.now {
		e.clock, e.clockAt = e.start.Add(e.now), e.now
	}
	return e.clock
}

// Elapsed returns the time that has passed since the start.
func (e *Engine) Elapsed() time.Duration { return e.now }

// Latency returns Config.Latency.
func (e *Engine) Latency() time.Duration { return e.latency }

// Store is the API server's storage. Reading it has no effect on the run; actors write through API.
func (e *Engine) Store() *store.Store { return e.store }

// API is the API server as actors use it.
func (e *Engine) API() *API { return e.api }

// Trace returns Config.Trace.
func (e *Engine) Trace() *trace.Trace { return e.trace }

// Choices lists the choices so far, in order. They replay the run. With Seed 0 there are none.
func (e *Engine) Choices() []Choice {
	if e.choices == nil {
		return nil
	}
	all := make([]Choice, len(e.choices.record))
	for i, c := range e.choices.record {
		all[i] = Choice{N: int(c.n), Picked: int(c.picked)}
	}
	return all
}

// AfterEvent registers fn, which runs after every event. It is for checks and must not write.
func (e *Engine) AfterEvent(fn func()) { e.after = append(e.after, fn) }

// OnClose registers fn, which Close calls when nothing happens in the engine any more.
func (e *Engine) OnClose(fn func()) { e.closers = append(e.closers, fn) }

// Close ends all processes without trace entries and frees the memory of waiting ones. It must not be called from within a process.
// Nothing happens in the engine afterwards.
func (e *Engine) Close() {
	e.closing, e.coroutinesKept = true, 0
	for _, a := range e.actors {
		a.end(nil)
	}
	e.release()
	for _, fn := range e.closers {
		fn()
	}
	e.closers = nil
	if e.remainsShared && e.allocation != nil {
		e.remains.memory, e.allocation = e.allocation, nil
	}
}

// Closed reports whether Close was called.
func (e *Engine) Closed() bool { return e.closing }

// Attached returns what is attached to the engine under the key. At the first call it attaches the result of make.
func (e *Engine) Attached(key any, make func() any) any {
	value, ok := e.attached[key]
	if !ok {
		value = make()
		if e.attached == nil {
			e.attached = map[any]any{}
		}
		e.attached[key] = value
	}
	return value
}

// EachActor walks all actors in the order in which they were added.
func (e *Engine) EachActor(yield func(*Actor) bool) {
	for _, a := range e.actors {
		if !yield(a) {
			return
		}
	}
}
