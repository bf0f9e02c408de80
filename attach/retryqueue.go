package attach

import (
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

// retryQueue is a queue of the external attacher: a key that fails comes again after a delay that grows with its failures (ATT-171).
type retryQueue struct {
	actor   *engine.Actor
	queue   *engine.Queue
	limiter *engine.Limiter
	sync    func(p *engine.Proc, key string) (known bool, err error)
	// single says that a key waits for one retry only, which an add takes the place of; timers are those retries.
	single bool
	timers map[string]*engine.Timer
}

func newRetryQueue(a *engine.Actor, name string, cfg AttacherConfig, sync func(*engine.Proc, string) (bool, error)) *retryQueue {
	q := &retryQueue{
		actor:   a,
		limiter: engine.NewLimiter(cfg.RetryStart, cfg.RetryMax, 0, 0),
		sync:    sync,
		single:  cfg.Plain,
		timers:  map[string]*engine.Timer{},
	}
	q.queue = a.NewQueue(engine.QueueConfig{Name: name, Workers: cfg.Workers, Sync: q.process})
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

func (q *retryQueue) process(p *engine.Proc, key string) error {
	known, err := q.sync(p, key)
	switch {
	case err != nil:
		// ATT-171: 1 s, 2 s, 4 s and so on. All errors are alike.
		q.again(key, q.limiter.When(key, 0))
	case known:
		q.limiter.Forget(key)
	}
	// ATT-171: the failures of an object that is gone are kept for the next one of that name.
	return nil
}

func (q *retryQueue) again(key string, delay time.Duration) {
	if !q.single {
		// ATT-171: of several retries to come the earliest counts.
		q.queue.AddAfter(key, delay)
		return
	}
	q.timers[key] = q.actor.After(delay, "retry of "+key, func(*engine.Proc) {
		delete(q.timers, key)
		q.queue.Add(key)
	})
}
