package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

func checkLag(lags map[string]time.Duration) error {
	if len(lags) == 0 {
		return nil // most engines
	}
	for _, actor := range slices.Sorted(maps.Keys(lags)) {
		if lag := lags[actor]; lag < 0 {
			return fmt.Errorf("engine: Lag of %s is %v: give zero or more", actor, lag)
		}
	}
	return nil
}

// SetLag sets how long changes take to reach the informers that the actor creates from now on.
func (e *Engine) SetLag(actor string, lag time.Duration) {
	e.lag = maps.Clone(e.lag) // it is the caller's, from Config
	if e.lag == nil {
		e.lag = map[string]time.Duration{}
	}
	e.lag[actor] = lag
}

// LagOf returns how long changes take to reach an actor.
func (e *Engine) LagOf(actor string) time.Duration { return e.lag[actor] }
