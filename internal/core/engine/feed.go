package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// feed is a list of the changes of one kind of object, in order, that at least one of its readers has yet to deliver. Each reader
// has a place in it. All informers that see every change share one; one that selects has its own.
type feed[T api.Object] struct {
	changes arrivals[T]
	first   uint64 // the number of the oldest change in the list; numbers begin with 1
	// latest is, for each key with changes in the list, the number of the newest.
	latest map[string]uint64
	// departed finds, by index and value, the changes after which an object is no longer found under that value.
	departed []departures[T]
}

// arrival is a change on its way.
type arrival[T api.Object] struct {
	change api.Change[T]
	at     time.Duration // when it was written
	before uint64        // the number of the change of the same key before it; one below first, or zero, is none
	left   int           // how many readers have yet to deliver it
}

type departures[T api.Object] struct {
	index   *store.Index[T]
	byValue map[string][]uint64 // ascending
}

func newFeed[T api.Object]() *feed[T] { return &feed[T]{first: 1, latest: map[string]uint64{}} }

// end is the number that the next change will get: the place of a reader that has delivered everything.
func (f *feed[T]) end() uint64 { return f.first + uint64(f.changes.len()) }

func (f *feed[T]) at(n uint64) *arrival[T] { return f.changes.at(int(n - f.first)) }

// push adds a change that so many readers will deliver.
func (f *feed[T]) push(c api.Change[T], at time.Duration, readers int) {
	n := f.end()
	*f.changes.push() = arrival[T]{change: c, at: at, before: f.latest[c.Key], left: readers}
	f.latest[c.Key] = n
	for i := range f.departed {
		f.departed[i].add(&c, n)
	}
}

// done notes that so many readers need the change of that number no more, and drops what nobody needs.
func (f *feed[T]) done(n uint64, readers int) {
	f.at(n).left -= readers
	for f.changes.len() > 0 {
		oldest := f.changes.at(0)
		if oldest.left > 0 {
			return
		}
		if f.latest[oldest.change.Key] == f.first {
			delete(f.latest, oldest.change.Key)
		}
		for i := range f.departed {
			f.departed[i].drop(&oldest.change)
		}
		f.changes.pop()
		f.first++
	}
}

// back finds the first change of an object at a place or after it; n is the newest there is, at that place or after it.
func (f *feed[T]) back(n, from uint64) *api.Change[T] {
	a := f.at(n)
	for a.before >= from {
		a = f.at(a.before)
	}
	return &a.change
}

// late lists the first change of each key at a place or after it, by key.
func (f *feed[T]) late(from uint64) []*api.Change[T] {
	if from == f.end() {
		return nil
	}
	changes := make([]*api.Change[T], 0, f.end()-from)
	for n := from; n < f.end(); n++ {
		if a := f.at(n); a.before < from {
			changes = append(changes, &a.change)
		}
	}
	slices.SortFunc(changes, func(a, b *api.Change[T]) int { return strings.Compare(a.Key, b.Key) })
	return changes
}

// leaving lists the keys of objects that changes at a place or after it take from under a value of the index.
func (f *feed[T]) leaving(ix *store.Index[T], value string, from uint64) []string {
	var keys []string
	numbers := f.departuresOf(ix).byValue[value]
	at, _ := slices.BinarySearch(numbers, from)
	for _, n := range numbers[at:] {
		keys = append(keys, f.at(n).change.Key)
	}
	return keys
}

// departuresOf begins to keep the departures of an index when it is asked for the first time.
func (f *feed[T]) departuresOf(ix *store.Index[T]) *departures[T] {
	for i := range f.departed {
		if f.departed[i].index == ix {
			return &f.departed[i]
		}
	}
	f.departed = append(f.departed, departures[T]{index: ix, byValue: map[string][]uint64{}})
	d := &f.departed[len(f.departed)-1]
	for n := f.first; n < f.end(); n++ {
		d.add(&f.at(n).change, n)
	}
	return d
}

func (d *departures[T]) add(c *api.Change[T], n uint64) {
	for _, value := range d.index.Left(c) {
		d.byValue[value] = append(d.byValue[value], n)
	}
}

// drop undoes add for the oldest change.
func (d *departures[T]) drop(c *api.Change[T]) {
	for _, value := range d.index.Left(c) {
		if numbers := d.byValue[value]; len(numbers) > 1 {
			d.byValue[value] = numbers[1:]
		} else {
			delete(d.byValue, value)
		}
	}
}
