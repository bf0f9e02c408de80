package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// deltaQueue lists the changes of one kind of object, in order, that at least one of its readers has not delivered yet. Each reader has
// an offset in it. Informers on all objects of a kind share one queue; an informer with a selector has its own.
type deltaQueue[T api.Object] struct {
	changes deltaList[T]
	first   uint64 // number of the oldest change in the queue; numbers start at 1
	// latest is, for each key with changes in the list, the number of the newest. The shared queue has only deleted objects in it: the
	// table keeps the number of an object that exists (store.Table.Track). Another queue has it while it is indexed: a short one is searched.
	latest          map[string]uint64
	shared, indexed bool
	// departed finds, by index and value, the changes that remove an object from under that value.
	departed []departures[T]
}

// delta is a change that is not delivered to all readers.
type delta[T api.Object] struct {
	change api.Change[T]
	at     time.Duration // when it was written
	before uint64        // number of the previous change of the same key; below first, or zero, for none
	left   int           // number of readers that have not delivered it
}

type departures[T api.Object] struct {
	index   store.Index[T]
	byValue map[string][]uint64 // ascending
}

func newDeltaQueue[T api.Object](pool *chunkPool[T]) *deltaQueue[T] {
	return &deltaQueue[T]{first: 1, changes: deltaList[T]{pool: pool}}
}

// end is the number of the next change, and the offset of a reader that has delivered everything.
func (q *deltaQueue[T]) end() uint64 { return q.first + uint64(q.changes.len()) }

func (q *deltaQueue[T]) at(n uint64) *delta[T] { return q.changes.at(int(n - q.first)) }

// searched is the length up to which a queue with one reader is searched. A kubelet's seldom has more.
const searched = 16

// push adds a change to a queue with one reader.
func (q *deltaQueue[T]) push(c api.Change[T], at time.Duration) {
	before := q.newest(c.Key)
	if !q.indexed && q.changes.len() == searched {
		q.indexed = true
		for n := q.first; n < q.end(); n++ {
			q.note(q.at(n).change.Key, n)
		}
	}
	if q.indexed {
		q.note(c.Key, q.end())
	}
	q.add(c, at, before, 1)
}

// newest returns the number of the newest change of a key; zero for none. In the shared queue it finds deleted objects.
func (q *deltaQueue[T]) newest(key string) uint64 {
	if q.shared || q.indexed {
		return q.latest[key]
	}
	for n := q.end(); n > q.first; n-- {
		if q.at(n-1).change.Key == key {
			return n - 1
		}
	}
	return 0
}

// pushTracked is push for the shared queue. latest is the number that the table keeps with the object.
func (q *deltaQueue[T]) pushTracked(c api.Change[T], latest *uint64, at time.Duration, readers int) {
	before, n := *latest, q.end()
	*latest = n
	switch {
	case c.Type == api.Deleted:
		q.note(c.Key, n)
	case c.Type == api.Added && len(q.latest) > 0:
		before = q.latest[c.Key]
		delete(q.latest, c.Key)
	}
	q.add(c, at, before, readers)
}

// note records the number of the newest change of a key.
func (q *deltaQueue[T]) note(key string, n uint64) {
	if q.latest == nil {
		q.latest = map[string]uint64{}
	}
	q.latest[key] = n
}

func (q *deltaQueue[T]) add(c api.Change[T], at time.Duration, before uint64, readers int) {
	n := q.end()
	*q.changes.push() = delta[T]{change: c, at: at, before: before, left: readers}
	for i := range q.departed {
		q.departed[i].add(&c, n)
	}
}

// done records that readers delivered the change of that number, and removes the changes that all readers have delivered.
func (q *deltaQueue[T]) done(n uint64, readers int) {
	q.at(n).left -= readers
	for q.changes.len() > 0 {
		oldest := q.changes.at(0)
		if oldest.left > 0 {
			return
		}
		if listed := !q.shared || oldest.change.Type == api.Deleted; listed && len(q.latest) > 0 && q.latest[oldest.change.Key] == q.first {
			delete(q.latest, oldest.change.Key)
		}
		for i := range q.departed {
			q.departed[i].drop(&oldest.change)
		}
		q.changes.pop()
		q.first++
	}
	q.indexed = false
}

// back finds the first change of an object from an offset on; n is the newest one, which is not before the offset.
func (q *deltaQueue[T]) back(n, from uint64) *api.Change[T] {
	d := q.at(n)
	for d.before >= from {
		d = q.at(d.before)
	}
	return &d.change
}

// undelivered lists the first change of each key from an offset on, by key.
func (q *deltaQueue[T]) undelivered(from uint64) []*api.Change[T] {
	if from == q.end() {
		return nil
	}
	changes := make([]*api.Change[T], 0, q.end()-from)
	for n := from; n < q.end(); n++ {
		if d := q.at(n); d.before < from {
			changes = append(changes, &d.change)
		}
	}
	slices.SortFunc(changes, func(a, b *api.Change[T]) int { return strings.Compare(a.Key, b.Key) })
	return changes
}

// leaving lists the keys of objects that changes from an offset on remove from under a value of the index.
func (q *deltaQueue[T]) leaving(ix store.Index[T], value string, from uint64) []string {
	var keys []string
	numbers := q.departuresOf(ix).byValue[value]
	at, _ := slices.BinarySearch(numbers, from)
	for _, n := range numbers[at:] {
		keys = append(keys, q.at(n).change.Key)
	}
	return keys
}

// departuresOf returns the departures of an index, and creates them at the first call.
func (q *deltaQueue[T]) departuresOf(ix store.Index[T]) *departures[T] {
	for i := range q.departed {
		if q.departed[i].index == ix {
			return &q.departed[i]
		}
	}
	q.departed = append(q.departed, departures[T]{index: ix, byValue: map[string][]uint64{}})
	d := &q.departed[len(q.departed)-1]
	for n := q.first; n < q.end(); n++ {
		d.add(&q.at(n).change, n)
	}
	return d
}

func (d *departures[T]) add(c *api.Change[T], n uint64) {
	for _, value := range d.index.Left(*c) {
		d.byValue[value] = append(d.byValue[value], n)
	}
}

// drop reverts add for the oldest change.
func (d *departures[T]) drop(c *api.Change[T]) {
	for _, value := range d.index.Left(*c) {
		if numbers := d.byValue[value]; len(numbers) > 1 {
			d.byValue[value] = numbers[1:]
		} else {
			delete(d.byValue, value)
		}
	}
}
