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
	h := &dispatcher[T]{}
	h.follow(e, table, nil, nil)
	return h
}

// follow makes h the dispatcher of a table. informers and prompt are memory for the first informers.
func (h *dispatcher[T]) follow(e *Engine, table store.Table[T], informers []informer[T], prompt []*informer[T]) {
	h.engine, h.table = e, table
	h.shared.first, h.shared.shared, h.shared.changes.pool = 1, true, &h.pool
	h.prompt, h.informers.unused = prompt[:0], informers
	table.Track(h)
}

// Changed queues a change that was just written.
func (h *dispatcher[T]) Changed(c api.Change[T], latest *uint64) {
	if len(h.prompt) > 0 {
		h.due.push(h.shared.end())
		h.engine.schedule(0, h, nil, false)
	}
	if h.sharing > 0 {
		h.shared.pushTracked(c, latest, h.engine.now, h.sharing)
	}
	keyed := h.keyedFor(&c)
	for _, inf := range h.open {
		for len(keyed) > 0 && keyed[0].inf.order < inf.order {
			h.pass(c, keyed[0])
			keyed = keyed[1:]
		}
		if inf.match == nil {
			h.expect(inf)
			continue
		}
		h.pass(c, concerned[T]{inf, c.Type != api.Added && inf.match(c.Old), c.Type != api.Deleted && inf.match(c.Object)})
	}
	for _, each := range keyed {
		h.pass(c, each)
	}
}

// keyedFor lists the keyed informers that a change concerns, in order. The list is valid until the next call.
func (h *dispatcher[T]) keyedFor(c *api.Change[T]) []concerned[T] {
	list := h.concerned[:0]
	for _, k := range h.keyed {
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
	h.concerned = list
	return list
}

// pass queues the change for an informer with a selector (API-073).
func (h *dispatcher[T]) pass(c api.Change[T], to concerned[T]) {
	// API-073: the selector turns a change into an addition or a deletion where the object begins or ceases to match. What is deleted like that
	// would be a copy of the old version with the new resourceVersion, which no handler reads: it is the old version itself.
	if to.before && !to.after && c.Type == api.Modified {
		c.Type, c.Object = api.Deleted, c.Old
		to.inf.deltas.push(c, h.engine.now)
		h.expect(to.inf)
		return
	}
	if seen, ok := h.table.Selected(c, to.before, to.after); ok {
		to.inf.deltas.push(seen, h.engine.now)
		h.expect(to.inf)
	}
}

// run delivers one change to all prompt informers.
func (h *dispatcher[T]) run() {
	n, delivered := h.due.pop(), 0
	if n < h.shared.first {
		return // all informers that waited for it have left
	}
	c := h.shared.at(n).change
	h.delivers(c.Object, c.Key)
	for _, inf := range h.prompt {
		// An informer that joined since began with the object as it is.
		if inf.offset == n {
			inf.offset++
			inf.deliver(&c)
			delivered++
		}
	}
	h.delivered()
	h.shared.done(n, delivered)
}

// delivers records the object that is about to be delivered, until delivered is called.
func (h *dispatcher[T]) delivers(obj T, key string) { h.obj, h.key = obj, key }

func (h *dispatcher[T]) delivered() {
	var none T
	h.obj, h.key = none, ""
}

// String names the kind whose changes are delivered.
func (h *dispatcher[T]) String() string { return "watches of " + string(h.table.Kind()) }

// expect schedules the delivery of a change that was just queued. An informer with undelivered changes delivers it after them.
func (h *dispatcher[T]) expect(inf *informer[T]) {
	if inf.prompt() || inf.offset+1 == inf.deltas.end() {
		h.engine.schedule(inf.lag, inf, inf.actor, false)
	}
}

func (h *dispatcher[T]) join(inf *informer[T]) {
	h.started++
	inf.order = h.started
	switch {
	case inf.place != nil:
		inf.deltas = newDeltaQueue(&h.pool)
		k, value := h.keyedBy(inf.place.index), inf.place.value
		k.byValue[value] = append(k.byValue[value], inf)
	case inf.match != nil:
		inf.deltas = newDeltaQueue(&h.pool)
		h.open = append(h.open, inf)
	default:
		inf.deltas = &h.shared
		h.sharing++
		if inf.prompt() {
			h.prompt = append(h.prompt, inf)
		} else {
			if h.open == nil && len(h.prompt) == 0 {
				h.open, h.prompt = h.prompt, nil // most clusters have informers of one sort only
			}
			h.open = append(h.open, inf)
		}
	}
	inf.offset = inf.deltas.end()
}

func (h *dispatcher[T]) keyedBy(index store.Index[T]) *keyed[T] {
	for _, k := range h.keyed {
		if k.index == index {
			return k
		}
	}
	k := &keyed[T]{index: index, byValue: map[string][]*informer[T]{}}
	h.keyed = append(h.keyed, k)
	return k
}

func (h *dispatcher[T]) leave(inf *informer[T]) {
	without := func(list []*informer[T]) []*informer[T] {
		return slices.DeleteFunc(slices.Clone(list), func(other *informer[T]) bool { return other == inf })
	}
	if inf.place != nil {
		k, value := h.keyedBy(inf.place.index), inf.place.value
		if k.byValue[value] = without(k.byValue[value]); len(k.byValue[value]) == 0 {
			delete(k.byValue, value)
		}
		return
	}
	h.open, h.prompt = without(h.open), without(h.prompt)
	if inf.match != nil {
		return
	}
	h.sharing--
	for end := h.shared.end(); inf.offset < end; inf.offset++ {
		h.shared.done(inf.offset, 1)
	}
}
