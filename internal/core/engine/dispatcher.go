package engine

import (
	"cmp"
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// dispatcher delivers the changes of one table to all informers on it, in the order in which they were started.
type dispatcher[T api.Object] struct {
	engine  *Engine
	table   store.Table[T]
	started uint64         // number of informers so far
	open    []*informer[T] // informers that examine each change, in order
	shared  deltaQueue[T]  // queue of the informers without a selector
	sharing int            // how many these are
	prompt  []*informer[T] // those of them with Informer.prompt
	due     fifo[uint64]   // numbers of the changes that they have not delivered
	keyed   []*keyed[T]
	// The object that is being delivered, and its key.
	obj T
	key string
	// concerned is reused by keyedFor, and keys by ByIndex.
	concerned []concerned[T]
	keys      []string
	informers slab[informer[T]]
	pool      chunkPool[T]
}

// keyed groups the informers on the objects that an index finds under one value.
type keyed[T api.Object] struct {
	index   store.Index[T]
	byValue map[string][]*informer[T]
}

// concerned is an informer with a selector that matches the object before the change, after it, or both.
type concerned[T api.Object] struct {
	inf           *informer[T]
	before, after bool
}

func newDispatcher[T api.Object](e *Engine, table store.Table[T]) *dispatcher[T] {
	d := &dispatcher[T]{}
	d.follow(e, table, nil, nil)
	return d
}

// follow makes d the dispatcher of a table. informers and prompt are memory for the first informers.
func (d *dispatcher[T]) follow(e *Engine, table store.Table[T], informers []informer[T], prompt []*informer[T]) {
	d.engine, d.table = e, table
	d.shared.first, d.shared.shared, d.shared.changes.pool = 1, true, &d.pool
	d.prompt, d.informers.unused = prompt[:0], informers
	table.Track(d)
}

// Changed queues a change that was just written.
func (d *dispatcher[T]) Changed(c api.Change[T], latest *uint64) {
	if len(d.prompt) > 0 {
		d.due.push(d.shared.end())
		d.engine.schedule(0, d, nil, false)
	}
	if d.sharing > 0 {
		d.shared.pushTracked(c, latest, d.engine.now, d.sharing)
	}
	keyed := d.keyedFor(&c)
	for _, inf := range d.open {
		for len(keyed) > 0 && keyed[0].inf.order < inf.order {
			d.pass(c, keyed[0])
			keyed = keyed[1:]
		}
		if inf.match == nil {
			d.expect(inf)
			continue
		}
		d.pass(c, concerned[T]{inf, c.Type != api.Added && inf.match(c.Old), c.Type != api.Deleted && inf.match(c.Object)})
	}
	for _, each := range keyed {
		d.pass(c, each)
	}
}

// keyedFor lists the keyed informers that a change concerns, in order. The list is valid until the next call.
func (d *dispatcher[T]) keyedFor(c *api.Change[T]) []concerned[T] {
	list := d.concerned[:0]
	for _, k := range d.keyed {
		if c.Type != api.Added {
			for _, value := range k.index.Values(c.Old) {
				for _, inf := range k.byValue[value] {
					list = append(list, concerned[T]{inf, true, false})
				}
			}
		}
		if c.Type == api.Deleted {
			continue
		}
		for _, value := range k.index.Values(c.Object) {
			for _, inf := range k.byValue[value] {
				i := slices.IndexFunc(list, func(other concerned[T]) bool { return other.inf == inf })
				if i < 0 {
					list = append(list, concerned[T]{inf: inf})
					i = len(list) - 1
				}
				list[i].after = true
			}
		}
	}
	slices.SortFunc(list, func(a, b concerned[T]) int { return cmp.Compare(a.inf.order, b.inf.order) })
	d.concerned = list
	return list
}

// pass queues the change for an informer with a selector (API-073).
func (d *dispatcher[T]) pass(c api.Change[T], to concerned[T]) {
	// API-073: the selector turns a change into an addition or a deletion where the object begins or ceases to match. What is deleted like that
	// would be a copy of the old version with the new resourceVersion, which no handler reads: it is the old version itself.
	if to.before && !to.after && c.Type == api.Modified {
		c.Type, c.Object = api.Deleted, c.Old
		to.inf.deltas.push(c, d.engine.now)
		d.expect(to.inf)
		return
	}
	if seen, ok := d.table.Selected(c, to.before, to.after); ok {
		to.inf.deltas.push(seen, d.engine.now)
		d.expect(to.inf)
	}
}

// run delivers one change to all prompt informers.
func (d *dispatcher[T]) run() {
	n, delivered := d.due.pop(), 0
	if n < d.shared.first {
		return // all informers that waited for it have left
	}
	c := d.shared.at(n).change
	d.delivers(c.Object, c.Key)
	for _, inf := range d.prompt {
		// An informer that joined since began with the object as it is.
		if inf.offset == n {
			inf.offset++
			inf.deliver(&c)
			delivered++
		}
	}
	d.delivered()
	d.shared.done(n, delivered)
}

// delivers records the object that is about to be delivered, until delivered is called.
func (d *dispatcher[T]) delivers(obj T, key string) { d.obj, d.key = obj, key }

func (d *dispatcher[T]) delivered() {
	var none T
	d.obj, d.key = none, ""
}

// String names the kind whose changes are delivered.
func (d *dispatcher[T]) String() string { return "watches of " + string(d.table.Kind()) }

// expect schedules the delivery of a change that was just queued. An informer with undelivered changes delivers it after them.
func (d *dispatcher[T]) expect(inf *informer[T]) {
	if inf.prompt() || inf.offset+1 == inf.deltas.end() {
		d.engine.schedule(inf.lag, inf, inf.actor, false)
	}
}

func (d *dispatcher[T]) join(inf *informer[T]) {
	d.started++
	inf.order = d.started
	switch {
	case inf.place != nil:
		inf.deltas = newDeltaQueue(&d.pool)
		k, value := d.keyedBy(inf.place.index), inf.place.value
		k.byValue[value] = append(k.byValue[value], inf)
	case inf.match != nil:
		inf.deltas = newDeltaQueue(&d.pool)
		d.open = append(d.open, inf)
	default:
		inf.deltas = &d.shared
		d.sharing++
		if inf.prompt() {
			d.prompt = append(d.prompt, inf)
		} else {
			if d.open == nil && len(d.prompt) == 0 {
				d.open, d.prompt = d.prompt, nil // most clusters have informers of one sort only
			}
			d.open = append(d.open, inf)
		}
	}
	inf.offset = inf.deltas.end()
}

func (d *dispatcher[T]) keyedBy(index store.Index[T]) *keyed[T] {
	for _, k := range d.keyed {
		if k.index == index {
			return k
		}
	}
	k := &keyed[T]{index: index, byValue: map[string][]*informer[T]{}}
	d.keyed = append(d.keyed, k)
	return k
}

func (d *dispatcher[T]) leave(inf *informer[T]) {
	without := func(list []*informer[T]) []*informer[T] {
		return slices.DeleteFunc(slices.Clone(list), func(other *informer[T]) bool { return other == inf })
	}
	if inf.place != nil {
		k, value := d.keyedBy(inf.place.index), inf.place.value
		if k.byValue[value] = without(k.byValue[value]); len(k.byValue[value]) == 0 {
			delete(k.byValue, value)
		}
		return
	}
	d.open, d.prompt = without(d.open), without(d.prompt)
	if inf.match != nil {
		return
	}
	d.sharing--
	for end := d.shared.end(); inf.offset < end; inf.offset++ {
		d.shared.done(inf.offset, 1)
	}
}
