package expand

import (
	"errors"
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

// retries is a work queue of the sidecar: a claim that fails comes again after a delay that grows with its failures (EXP-020).
type retries struct {
	queue   *engine.Queue
	limiter *engine.Limiter
	absent  *absentees
	sync    func(p *engine.Process, key string) error
	// failed is told of each failure.
	failed func(p *engine.Process, key string, delay time.Duration, err error)
}

// errAbsent is the failure of a claim whose volume is not known. It is no work that anybody waits for.
var errAbsent = errors.New("PV not found")

// later is a failure that is tried again after a time of its own and does not count.
type later struct {
	after time.Duration
	text  string
}

func (l *later) Error() string { return l.text }

func newRetries(a *engine.Actor, name string, cfg ResizerConfig, sync func(*engine.Process, string) error, failed func(*engine.Process, string, time.Duration, error)) *retries {
	// EXP-020: 1 s, 2 s, 4 s and so on, up to 5 min.
	r := &retries{limiter: engine.NewLimiter(cfg.RetryStart, cfg.RetryMax, 0, 0), sync: sync, failed: failed}
	r.queue = a.NewQueue(engine.QueueConfig{Name: name, Workers: cfg.Workers, Sync: r.process})
	r.absent = newAbsentees(a, r.queue, r.limiter)
	return r
}

func (r *retries) process(p *engine.Process, key string) error {
	err := r.sync(p, key)
	if err == nil {
		r.limiter.Forget(key)
		return nil
	}
	var wait *later
	switch {
	case errors.As(err, &wait):
		r.queue.AddAfter(key, wait.after)
		return nil
	case errors.Is(err, errAbsent):
		r.absent.retry(key)
		return nil
	}
	delay := r.limiter.When(key, 0)
	r.failed(p, key, delay, err)
	r.queue.AddAfter(key, delay)
	return nil
}

// forget is for a claim that was deleted.
func (r *retries) forget(key string) { r.limiter.Forget(key) }
