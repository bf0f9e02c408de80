package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// Config sets up an engine. The zero value works.
type Config struct {
	// Seed chooses the order of what is due at the same instant. Zero: first in, first out, and no switch in the middle of a
	// sync that does not wait. Any other seed shuffles, and makes every API call a point at which another actor may get in between.
	Seed int64
	// Choose, when set, takes the place of the seed: it picks one of n things that may happen next, as an index from 0 to n-1.
	Choose func(n int) int
	// Start is the virtual time at which the engine begins; zero is 2026-01-01 00:00:00 UTC.
	Start time.Time
	// Latency is how long each API call of an actor takes before it has its effect; zero is none.
	Latency time.Duration
	// Lag is how long the watch events of an actor's informers take to arrive, by the actor's name; a missing name is no lag.
	Lag map[string]time.Duration
	// Injector is asked before each API call of an actor and each backend call; nil injects nothing.
	Injector api.Injector
	// Trace receives what happens; nil records nothing.
	Trace *trace.Trace
	// History is store.Config.History.
	History int
	// AsGiven is store.Config.AsGiven.
	AsGiven bool
}

// DefaultStart is when virtual time begins unless the configuration says otherwise.
var DefaultStart = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Engine runs actors in virtual time, one event after the other, over a store. It is not safe for concurrent use.
type Engine struct {
	store    *store.Store
	api      *API
	start    time.Time
	now      time.Duration // since start
	seq      uint64
	timers   timerHeap
	ready    readyList
	waiting  int // events, ready or timed, that are not background
	choices  *choices
	latency  time.Duration
	lag      map[string]time.Duration
	injector api.Injector
	trace    *trace.Trace
	actors   []*Actor
	hubs     map[api.Kind]any // a *hub for each kind that has had an informer
	// See coroutine.
	more    func() (event, bool) // gives the next event
	open    bool                 // an event is under way
	host    *coroutine           // that runs the event's task
	resumed *Proc                // that is to go on at the end of the task
	onto    *coroutine           // that goes on next
	idle    []*coroutine
	after   []func() // called after each event
	user    *Proc
	running *Proc  // the process that runs at this moment
	procs   uint64 // how many processes have begun
	cause   uint64 // the process that asked for what a timer does at this moment
	// For tools that explore; see Observe.
	observer  Observer
	footprint *Footprint
	drive     Drive
	horizon   time.Duration
	// eventStamp is what the name of the newest Event ends in.
	eventStamp int64
	// effects counts what actors did to the world: writes, events, backend calls, operations begun (see Proc.Effects).
	effects uint64
}

// New returns an engine with an empty store. It refuses a negative latency or lag.
func New(cfg Config) (*Engine, error) {
	if cfg.Latency < 0 {
		return nil, fmt.Errorf("engine: Latency is %v: give zero or more", cfg.Latency)
	}
	for _, actor := range slices.Sorted(maps.Keys(cfg.Lag)) {
		if lag := cfg.Lag[actor]; lag < 0 {
			return nil, fmt.Errorf("engine: Lag of %s is %v: give zero or more", actor, lag)
		}
	}
	if cfg.Start.IsZero() {
		cfg.Start = DefaultStart
	}
	e := &Engine{
		start:    cfg.Start.UTC(),
		latency:  cfg.Latency,
		lag:      cfg.Lag,
		injector: cfg.Injector,
		trace:    cfg.Trace,
		hubs:     map[api.Kind]any{},
	}
	switch {
	case cfg.Choose != nil:
		e.choices = &choices{choose: cfg.Choose}
	case cfg.Seed != 0:
		rng := rand.New(rand.NewPCG(uint64(cfg.Seed), 0x9e3779b97f4a7c15))
		e.choices = &choices{choose: rng.IntN}
	}
	if e.trace != nil && e.trace.Start.IsZero() {
		e.trace.Start = e.start
	}
	e.store = store.New(store.Config{Now: e.Now, History: cfg.History, AsGiven: cfg.AsGiven})
	e.api = newAPI(e)
	e.user = &Proc{engine: e, name: api.User, actor: &Actor{engine: e, name: api.User, alive: true}, inline: true}
	return e, nil
}

// User is the process in whose name the driver of the engine uses the API. It never waits.
func (e *Engine) User() *Proc { return e.user }

// Now is the virtual time.
func (e *Engine) Now() time.Time { return e.start.Add(e.now) }

// Store is the API server. Reading it is free; what an actor writes goes through API.
func (e *Engine) Store() *store.Store { return e.store }

// API is the API server as actors use it.
func (e *Engine) API() *API { return e.api }

// Trace is the trace of the configuration, nil when nothing is recorded.
func (e *Engine) Trace() *trace.Trace { return e.trace }

// Choices are the choices made so far, in order: which of how many. They replay the run; empty with Seed 0.
func (e *Engine) Choices() []Choice {
	if e.choices == nil {
		return nil
	}
	return append([]Choice(nil), e.choices.record...)
}

// AfterEvent has fn called after every event, for checks. fn must not write.
func (e *Engine) AfterEvent(fn func()) { e.after = append(e.after, fn) }

// Close ends all processes without a trace, so that the memory of an engine that is no longer used can be freed even if some of
// them were still waiting. It must not be called from within a process. Nothing happens in the engine afterwards.
func (e *Engine) Close() {
	for _, a := range e.actors {
		a.end(nil)
	}
	e.release()
}

// task is something that can be scheduled.
type task interface{ run() }

// schedule makes t due after d. Background tasks do not keep Settle going. Nothing is scheduled for a dead actor: it reports
// whether t will come.
func (e *Engine) schedule(d time.Duration, t task, owner *Actor, background bool) bool {
	if owner != nil && !owner.alive {
		return false
	}
	e.seq++
	ev := event{seq: e.seq, task: t, owner: owner, background: background}
	if e.footprint != nil {
		e.footprint.Queued = append(e.footprint.Queued, ev.seq)
	}
	if !background {
		e.waiting++
	}
	if d <= 0 {
		e.ready.push(ev)
		return true
	}
	ev.at = e.in(d)
	e.timers.push(ev)
	return true
}

// in is the time d from now, or the end of time if that comes first.
func (e *Engine) in(d time.Duration) time.Duration { return later(e.now, d) }

// later is the time d after t, or the end of time if that comes first.
func later(t, d time.Duration) time.Duration {
	if d > forever-t {
		return forever
	}
	return t + d
}

// next takes the event that comes next, moving the clock to it, but not past limit.
func (e *Engine) next(limit time.Duration) (event, bool) {
	for {
		if e.ready.len() == 0 {
			ev, ok := e.timers.peek()
			if !ok || ev.at > limit {
				return event{}, false
			}
			// A timer that was stopped is gone, and does not move the clock.
			if t, ok := ev.task.(*Timer); ok && t.stopped {
				e.timers.pop()
				continue
			}
			e.now = ev.at
			for ok && ev.at == e.now {
				e.ready.push(e.timers.pop())
				ev, ok = e.timers.peek()
			}
		}
		i := 0
		if e.choices != nil {
			i = e.choices.pick(e.ready.len())
		}
		ev := e.ready.take(i)
		if t, ok := ev.task.(*Timer); ok && t.stopped {
			continue
		}
		if !ev.background {
			e.waiting--
		}
		return ev, true
	}
}
