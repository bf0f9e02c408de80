package engine

// Periodic work that would find nothing new is skipped: an actor does not arm its tickers, and a resync omits clean objects. That saves
// nearly all of the time of an idle cluster, and has no effect, with one exception: a skipped pass makes no requests, so an injected fault
// cannot hit them and would hit a later request instead. Therefore an armed fault that may hit a request of an actor switches skipping off
// for this actor. Its passes then run at the times that they would have had all along.

// FaultPredictor is an optional interface of an Injector that knows which actors its faults can hit. Without it every request of every
// actor may be hit, so nothing is skipped.
type FaultPredictor interface {
	// Active reports whether a fault may hit a request of the actor to the API server, now or after others. It changes nothing.
	Active(actor string) bool
}

// NoSkipping reports whether Config.NoSkipping is set.
func (e *Engine) NoSkipping() bool { return e.noSkipping }

// Skips reports whether the actor skips work that would find nothing new.
func (a *Actor) Skips() bool {
	skips := a.skips()
	if skips {
		a.engine.answers(1)
	} else {
		a.engine.answers(0)
	}
	return skips
}

func (a *Actor) skips() bool {
	e := a.engine
	if e.noSkipping || e.injector == nil {
		return !e.noSkipping
	}
	predictor, ok := e.injector.(FaultPredictor)
	return ok && !predictor.Active(a.name)
}

// OnResumed registers fn, which runs when this life of the actor stops skipping: at the beginning of a run of the engine after a fault was
// armed. fn arms what was skipped.
func (a *Actor) OnResumed(fn func()) {
	a.resumed, a.skipped = append(a.resumed, fn), a.skips()
}

// resumeSkipped notifies the actors that skip nothing any more.
func (e *Engine) resumeSkipped() {
	if e.noSkipping || e.injector == nil {
		return
	}
	for _, a := range e.actors {
		if !a.alive || len(a.resumed) == 0 {
			continue
		}
		skips := a.skips()
		if a.skipped && !skips {
			for _, fn := range a.resumed {
				fn()
			}
		}
		a.skipped = skips
	}
}
