package nodelifecycle

import (
	"slices"
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

// taintQueue has the nodes of a zone that wait for a NoExecute taint (NODE-046).
type taintQueue struct {
	waiting []waiting // in the order in which they are tried
	// known are the nodes that were added and not removed since, waiting or already tainted.
	known  map[string]bool
	bucket bucket
	// trying is set while a pass tries nodes; tried is released at its end.
	trying bool
	tried  engine.Signal
}

type waiting struct {
	node string
	// notBefore is the earliest time of the next try.
	notBefore time.Time
}

func newTaintQueue() *taintQueue {
	return &taintQueue{known: map[string]bool{}, bucket: bucket{rate: evictionRate}}
}

// add queues a node, unless it was queued before and not removed since. It reports whether it did.
func (q *taintQueue) add(node string, now time.Time) bool {
	if q.known[node] {
		return false
	}
	q.known[node] = true
	q.insert(waiting{node, now})
	return true
}

// insert puts an item behind those of its time.
func (q *taintQueue) insert(w waiting) {
	i := slices.IndexFunc(q.waiting, func(other waiting) bool { return other.notBefore.After(w.notBefore) })
	if i < 0 {
		i = len(q.waiting)
	}
	q.waiting = slices.Insert(q.waiting, i, w)
}

// remove forgets a node, so that it can be queued again. It reports whether it was known.
func (q *taintQueue) remove(node string) bool {
	q.drop(node)
	known := q.known[node]
	delete(q.known, node)
	return known
}

// drop takes a node from the queue. It stays known.
func (q *taintQueue) drop(node string) bool {
	before := len(q.waiting)
	q.waiting = slices.DeleteFunc(q.waiting, func(w waiting) bool { return w.node == node })
	return len(q.waiting) != before
}

// try calls taint for the first nodes of the queue, as far as the rate allows. If taint returns false, the node is tried again, after a pause
// (NODE-046).
func (q *taintQueue) try(now func() time.Time, taint func(node string) (done bool, pause time.Duration)) {
	for len(q.waiting) > 0 {
		head, began := q.waiting[0], now()
		// NODE-047: a try costs a token even if the node must not be tried yet.
		if !q.bucket.take(began) || began.Before(head.notBefore) {
			return
		}
		done, pause := taint(head.node)
		// The node may have been removed meanwhile.
		if q.drop(head.node) && !done {
			q.insert(waiting{head.node, began.Add(pause + 1)})
		}
	}
}

// setRate changes how many nodes may be tried in a second.
func (q *taintQueue) setRate(p *engine.Process, rate float32) {
	// NODE-049: a pass over the queue goes on with the rate with which it began.
	for q.trying {
		q.tried.Wait(p, 0)
	}
	q.bucket.swap(rate, p.Now())
}

// bucket is a token bucket for one token (NODE-047). It is full at first.
type bucket struct {
	rate float32 // tokens per second; zero: there are none
	next time.Time
}

// take takes a token, if there is one.
func (b *bucket) take(now time.Time) bool {
	if b.rate <= 0 || now.Before(b.next) {
		return false
	}
	b.next = now.Add(time.Duration(float64(time.Second) / float64(b.rate)))
	return true
}

// wait returns the time until there is a token, at the present rate.
func (b *bucket) wait(now time.Time) time.Duration {
	if !b.next.After(now) {
		return 0
	}
	return b.next.Sub(now)
}

// swap changes the rate. A bucket that replaces an empty one is empty (NODE-047).
func (b *bucket) swap(rate float32, now time.Time) {
	if b.rate == rate {
		return
	}
	full := b.take(now)
	*b = bucket{rate: rate}
	if !full {
		b.take(now)
	}
}
