package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// Queue is a work queue like client-go's: a set of keys in order of arrival. A key that is added during work on it is queued once more
// afterwards (BIND-034). Its workers are processes of the actor.
type Queue struct {
	actor   *Actor
	name    string
	kind    api.Kind
	sync    func(p *Process, key string) error
	of      any // see QueueConfig.Of
	work    worker
	limiter *Limiter
	own     Limiter // the limiter, unless the configuration has one
	failure func(p *Process, key string, delay time.Duration, err error)
	single  bool
	keys    fifo[*queued]
	busy    keySet              // keys that are queued or worked on
	waiting map[string]*delayed // pending delays of keys
	spent   []*delayed          // that have fired, to be used again
	free    int                 // idle workers
	starts  int                 // number of workers that are about to take a key
}

// delayed is a key that is added later, by its timer.
type delayed struct {
	timer Timer
	queue *Queue
	key   string
	at    time.Duration
}

func (d *delayed) due() {
	q, key := d.queue, d.key
	delete(q.waiting, key)
	if q.actor.engine.observer == nil && len(q.spent) < delaysKept {
		q.spent = append(q.spent, d)
	}
	q.Add(key)
}

// delaysKept is the number of delays that have fired that a queue retains.
const delaysKept = 1024

// delay returns the delay of a key until a time. One that was withdrawn is never used again: its timer may still be listed.
func (q *Queue) delay(key string, at time.Duration, background bool) *delayed {
	var d *delayed
	if last := len(q.spent) - 1; last >= 0 {
		d, q.spent = q.spent[last], q.spent[:last]
	} else {
		d = &delayed{}
	}
	*d = delayed{queue: q, key: key, at: at}
	d.timer.retry, d.timer.background = d, background
	return d
}

// QueueConfig sets up a queue. Sync is required.
type QueueConfig struct {
	Name string
	// Kind is the kind of the objects that keys name. Empty: keys do not name objects.
	Kind api.Kind
	// Workers is the number of keys that are worked on at the same time; the default is 1.
	Workers int
	// Limiter computes the delay of a failed key; the default is DefaultLimiter.
	Limiter *Limiter
	// Sync works on one key. After an error the key is added again after the limiter's delay (BIND-035), or as a *Retry in the error says;
	// success resets the delay (BIND-036). Every error but Gone is recorded.
	Sync func(p *Process, key string) error
	// Work replaces Sync: a function that all actors of one sort share. It gets Of, which should be a pointer.
	Work worker
	Of   any
	// OnFailure, when set, is called before a failed key is added again after the limiter's delay. It is not called for a *Retry.
	OnFailure func(p *Process, key string, delay time.Duration, err error)
	// SingleRetry withdraws the pending retry of a key that is added.
	SingleRetry bool
}

// Work is a QueueConfig.Work with an actor's controller as Of, so that clusters need no functions of their own.
type Work[C any] func(c C, p *Process, key string) error

type worker interface {
	work(c any, p *Process, key string) error
}

func (w Work[C]) work(c any, p *Process, key string) error { return w(c.(C), p, key) }

// Retry is an error of QueueConfig.Sync with a retry of its own.
type Retry struct {
	// Err is the failure.
	Err error
	// After is the delay. The failure does not count for the limiter then. Zero: the delay is the limiter's.
	After time.Duration
	// Background is set if Settle is not to wait for the retry, because it is likely to fail again.
	Background bool
}

// Error is the failure.
func (r *Retry) Error() string { return r.Err.Error() }

// Unwrap returns the failure.
func (r *Retry) Unwrap() error { return r.Err }

// Gone is the error of QueueConfig.Sync for a key whose object does not exist. It is no failure, but the key's failures are not reset: they
// count for the next object of that name.
var Gone = errors.New("the object does not exist")

// NewQueue adds a queue with its workers to the actor.
func (a *Actor) NewQueue(cfg QueueConfig) *Queue {
	if cfg.Workers <= 0 {
		cfg.Workers = 1
	}
	q := a.engine.memory.queues.next()
	*q = Queue{
		actor: a, name: cfg.Name, kind: cfg.Kind, sync: cfg.Sync, work: cfg.Work, of: cfg.Of, limiter: cfg.Limiter, failure: cfg.OnFailure, single: cfg.SingleRetry,
		free: cfg.Workers,
	}
	if q.limiter == nil {
		q.own = *DefaultLimiter()
		q.limiter = &q.own
	}
	a.queues = append(a.queues, q)
	return q
}

// Add queues a key, unless it is queued already.
func (q *Queue) Add(key string) {
	q.touched()
	if q.single {
		q.withdraw(key)
	}
	item := q.busy.add(key)
	if item.dirty {
		return
	}
	item.dirty = true
	if !item.working {
		q.push(item)
	}
}

func (q *Queue) callSync(p *Process, key string) error {
	if q.work != nil {
		return q.work.work(q.of, p, key)
	}
	return q.sync(p, key)
}

// Queued reports whether a key is queued, or will be queued once more after the work on it.
func (q *Queue) Queued(key string) bool {
	item := q.busy.get(key)
	return item != nil && item.dirty
}

func (q *Queue) push(item *queued) {
	q.keys.push(item)
	q.wake()
}

// wake schedules a free worker, if there is one and a key for it.
func (q *Queue) wake() {
	if q.starts < q.free && q.starts < q.keys.len() {
		q.starts++
		q.actor.engine.schedule(0, q, q.actor, false)
	}
}

// run lets a worker take one key.
func (q *Queue) run() {
	q.touched()
	q.starts--
	item := q.keys.pop()
	item.dirty, item.working = false, true
	q.free--
	p := q.actor.engine.newProcess()
	p.name, p.queue, p.item = q.name, q, item
	q.actor.begin(p)
}

// workOn is the code of a worker's process.
func (q *Queue) workOn(p *Process, item *queued) {
	p.object, p.about = api.Ref{}, nil
	if q.kind != "" {
		p.object = api.Ref{Kind: q.kind, Key: item.key}
	}
	if err := q.callSync(p, item.key); !p.stackless {
		q.finish(p, item, err)
	}
}

// finish handles the end of the work on a key.
func (q *Queue) finish(p *Process, item *queued, err error) {
	q.touched()
	switch {
	case err == nil:
		q.limiter.Forget(item.key)
	case !errors.Is(err, Gone):
		q.retry(p, item.key, err)
	}
	q.free++
	item.working = false
	if item.dirty {
		q.push(item)
		return
	}
	q.busy.remove(item)
	q.wake()
}

// retry records a failed key and adds it again later.
func (q *Queue) retry(p *Process, key string, err error) {
	p.Record(trace.Entry{Type: trace.KeyFailed, Object: p.Object(), Reason: q.name, Text: key, Err: err})
	how, isRetry := errors.AsType[*Retry](err)
	if isRetry && how.After > 0 {
		q.addAfter(key, how.After, how.Background)
		return
	}
	delay := q.limiter.When(key, q.actor.engine.now)
	if q.failure != nil && !isRetry {
		q.failure(p, key, delay, err)
	}
	q.addAfter(key, delay, isRetry && how.Background)
}

// String names the queue.
func (q *Queue) String() string {
	return fmt.Sprintf("queue %s with %d keys", q.name, q.keys.len())
}

// Len is the number of keys that wait for a worker.
func (q *Queue) Len() int {
	q.touched()
	q.actor.engine.answers(int64(q.keys.len()))
	return q.keys.len()
}

// AddAfter queues a key after d. Of several pending delays of a key the shortest counts.
func (q *Queue) AddAfter(key string, d time.Duration) { q.addAfter(key, d, false) }

// AddInBackground is AddAfter for a check that Settle does not wait for.
func (q *Queue) AddInBackground(key string, d time.Duration) { q.addAfter(key, d, true) }

func (q *Queue) addAfter(key string, d time.Duration, background bool) {
	q.touched()
	if d <= 0 {
		q.Add(key)
		return
	}
	at := q.actor.engine.now + d
	if w, ok := q.waiting[key]; ok {
		if w.at <= at && (background || !w.timer.background) {
			q.actor.engine.answers(0)
			return
		}
		// BIND-034: only the shorter one is left. Settle waits for it if it waits for one of them.
		w.timer.Stop()
		at, background = min(at, w.at), background && w.timer.background
	}
	d = at - q.actor.engine.now
	q.actor.engine.answers(int64(d))
	if q.waiting == nil {
		q.waiting = map[string]*delayed{}
	}
	w := q.delay(key, at, background)
	q.actor.arm(d, &w.timer)
	q.waiting[key] = w
}

// withdraw cancels the pending delays of a key.
func (q *Queue) withdraw(key string) {
	if w, ok := q.waiting[key]; ok {
		w.timer.Stop()
		delete(q.waiting, key)
	}
}

// AddRateLimited queues a key after the delay that its failures require.
func (q *Queue) AddRateLimited(key string) {
	q.AddAfter(key, q.limiter.When(key, q.actor.engine.now))
}

// Forget resets the failures of a key.
func (q *Queue) Forget(key string) {
	q.touched()
	q.limiter.Forget(key)
}

// Failures is the number of consecutive failures of a key.
func (q *Queue) Failures(key string) int {
	q.touched()
	q.actor.engine.answers(int64(q.limiter.failures[key]))
	return q.limiter.failures[key]
}
