package engine

import (
	"slices"
	"time"
)

// Skipping is decided here, and only here. Periodic work that would find nothing new is skipped: a ticker has a pass only at the ticks for
// which its controller armed it, because something changed. That saves nearly all of the time of an idle cluster, and has no effect, with
// two exceptions: a skipped pass makes no requests, so an injected fault cannot hit them and would hit a later request instead; and with
// Config.Latency its requests take no time, so the passes after it may come that much earlier.
//
// A ticker whose skipped passes would make requests has a TickerConfig.Idle, which returns when the next of them is due. While a fault that
// is armed may hit a request of the actor, or with Config.NoSkipping, the actor may not skip: the engine then requests these passes too, in
// the background, at the times that they would always have had. The other tickers make no requests unless something has changed.

// FaultPredictor is an optional interface of an Injector that knows which actors its faults can hit. Without it every request of every
// actor may be hit, so nothing is skipped.
type FaultPredictor interface {
	// Active reports whether a fault may hit a request of the actor to the API server, now or after others. It changes nothing.
	Active(actor string) bool
}

// EveryTick is a TickerConfig.Idle: each tick has a pass that makes requests.
func EveryTick() (at time.Time, ok bool) { return time.Time{}, true }

// ArmIdle requests the pass of which TickerConfig.Idle returns the time, if the actor may not skip. It reports whether it did. The engine
// calls it when the ticker is created, after each pass, and when the actor may not skip any more. A controller calls it when that time has
// changed.
func (t *Ticker) ArmIdle() bool { return t.cfg.Idle != nil && !t.actor.NoteMaySkip() && t.armIdle() }

// armIdle requests the idle pass, if there is one. One that was due at this instant is over.
func (t *Ticker) armIdle() bool {
	due, ok := t.cfg.Idle()
	if !ok {
		return false
	}
	at := t.actor.engine.now
	if t.cfg.Rank > 0 {
		at++
	}
	t.arm(max(at, t.since(due)), false)
	return true
}

// full reports whether a pass omits nothing.
func (t *Ticker) full() bool { return t.cfg.Full != nil && !t.actor.NoteMaySkip() }

// SetIsolated records whether the actor is cut off from the API server. Then it may skip, because no fault can hit its requests. The
// default is false.
func (a *Actor) SetIsolated(isolated bool) {
	a.isolated = isolated
	a.resume()
}

// NoteMaySkip reports whether the actor may skip passes that would find nothing new, and records the answer in the footprint of an observed
// engine, because what the caller does depends on it.
func (a *Actor) NoteMaySkip() bool {
	may := a.maySkip()
	if may {
		a.engine.answers(1)
	} else {
		a.engine.answers(0)
	}
	return may
}

// maySkip reports whether the actor may skip passes that would find nothing new.
func (a *Actor) maySkip() bool { return !a.engine.noSkipping && !a.Faulty() }

// Faulty reports whether an injected fault may hit a request of the actor to the API server, now or later.
func (a *Actor) Faulty() bool {
	if a.engine.injector == nil || a.isolated {
		return false
	}
	predictor, ok := a.engine.injector.(FaultPredictor)
	return !ok || predictor.Active(a.name)
}

// addIdle adds a ticker with idle passes.
func (a *Actor) addIdle(t *Ticker) {
	a.idle = append(a.idle, t)
	t.ArmIdle()
}

// dropIdle removes a ticker that has ended.
func (a *Actor) dropIdle(t *Ticker) {
	a.idle = slices.DeleteFunc(a.idle, func(other *Ticker) bool { return other == t })
}

// resume requests the idle passes of an actor that may not skip. Those that are requested already stay.
func (a *Actor) resume() {
	if !a.alive || len(a.idle) == 0 || a.maySkip() {
		return
	}
	for _, t := range slices.Clone(a.idle) {
		t.armIdle()
	}
}

// resumeIdle runs at the beginning of a run of the engine: a fault may have been armed since the last one.
func (e *Engine) resumeIdle() {
	if e.noSkipping || e.injector == nil {
		return
	}
	for _, a := range e.actors {
		a.resume()
	}
}
