package attach

import (
	"time"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/options"
)

// retryQueue is a queue of the external-attacher: a key that fails is synced again after a backoff (ATT-171).
type retryQueue struct {
	actor   *engine.Actor
	queue   *engine.Queue
	limiter *engine.Limiter
	sync    func(p *engine.Process, key string) (known bool, err error)
	// single: a key has one pending retry at most, and an add replaces it; timers are these retries. Only the plain attacher does that.
	single bool
	timers map[string]*engine.Timer
}

func newRetryQueue(a *engine.Actor, name string, cfg AttacherConfig, opts options.Attacher,
	sync func(*engine.Process, string) (bool, error)) *retryQueue {
	q := &retryQueue{
		actor:   a,
		limiter: engine.NewLimiter(cfg.RetryStart, cfg.RetryMax, 0, 0),
		sync:    sync,
		single:  opts.Plain,
		timers:  map[string]*engine.Timer{},
	}
	q.queue = a.NewQueue(engine.QueueConfig{Name: name, Workers: opts.Workers, Sync: q.process})
	return q
}

// add queues a key.
func (q *retryQueue) add(key string) {
	if t, ok := q.timers[key]; ok {
		t.Stop()
		delete(q.timers, key)
	}
	q.queue.Add(key)
}

func (q *retryQueue) process(p *engine.Process, key string) error {
	known, err := q.sync(p, key)
	switch {
	case err != nil:
		// ATT-171: the backoff is 1 s, 2 s, 4 s and so on, for every kind of error.
		q.again(key, q.limiter.When(key, 0))
	case known:
		q.limiter.Forget(key)
	}
	// ATT-171: the failures of an object that is gone count for the next one with its name.
	return nil
}

func (q *retryQueue) again(key string, delay time.Duration) {
	if !q.single {
		// ATT-171: the earliest of several pending retries counts.
		q.queue.AddAfter(key, delay)
		return
	}
	q.timers[key] = q.actor.After(delay, "retry of "+key, func(*engine.Process) {
		delete(q.timers, key)
		q.queue.Add(key)
	})
}
