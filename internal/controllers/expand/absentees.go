package expand

import "github.com/volsim/volsim/internal/core/engine"

// absentees are keys of claims whose volume is not there, or not theirs. They are tried again like any failure, but in the background:
// they would find the same, and Settle does not wait for them.
type absentees struct {
	actor   *engine.Actor
	queue   *engine.Queue
	limiter *engine.Limiter
	timers  map[string]*engine.Timer
}

func newAbsentees(a *engine.Actor, queue *engine.Queue, limiter *engine.Limiter) *absentees {
	return &absentees{actor: a, queue: queue, limiter: limiter, timers: map[string]*engine.Timer{}}
}

// retry has the key tried again after a delay that grows.
func (a *absentees) retry(key string) {
	delay := a.limiter.When(key, 0)
	if _, waits := a.timers[key]; waits {
		return
	}
	a.timers[key] = a.actor.Background(delay, "retry of "+key, func(*engine.Process) {
		delete(a.timers, key)
		a.queue.Add(key)
	})
}

// forget resets the failures of a key.
func (a *absentees) forget(key string) { a.limiter.Forget(key) }
