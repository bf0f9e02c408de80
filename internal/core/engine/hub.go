package engine

import (
	"cmp"
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// hub hands the changes of one table to all informers on it, in the order in which they were started.
type hub[T api.Object] struct {
	engine  *Engine
	table   *store.Table[T]
	started uint64         // how many informers were started so far
	open    []*Informer[T] // those that look at each change, in order
	shared  *feed[T]       // of those of them that see every change
	sharing int            // how many these are
	prompt  []*Informer[T] // those of them that are Informer.prompt
	due     fifo[uint64]   // the numbers of the changes that are to be delivered to them
	keyed   []*keyed[T]
	// concerned is the memory of keyedFor.
	concerned []concerned[T]
}

// keyed are the informers that see what an index finds under one value.
type keyed[T api.Object] struct {
	index   *store.Index[T]
	byValue map[string][]*Informer[T]
}

// concerned is an informer with a selector that a change concerns: the object matched before it, or does after it.
type concerned[T api.Object] struct {
	inf           *Informer[T]
	before, after bool
}

// hubOf is the hub of a table. There is one for each kind.
func hubOf[T api.Object](e *Engine, table *store.Table[T]) *hub[T] {
	if h, ok := e.hubs[table.Kind()].(*hub[T]); ok && h.table == table {
		return h
	}
	h := &hub[T]{engine: e, table: table, shared: newFeed[T]()}
	// From zero a watch begins with what there is, which is nothing then.
	if _, err := table.Watch(store.WatchOptions[T]{From: e.store.Version()}, h.take); err != nil {
		panic("engine: a watch from now on cannot be too old: " + err.Error())
	}
	e.hubs[table.Kind()] = h
	return h
}

// take passes on a change that was just written.
func (h *hub[T]) take(c api.Change[T]) {
	if len(h.prompt) > 0 {
		h.due.push(h.shared.end())
		h.engine.schedule(0, h, nil, false)
	}
	if h.sharing > 0 {
		h.shared.push(c, h.engine.now, h.sharing)
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
func (h *hub[T]) keyedFor(c *api.Change[T]) []concerned[T] {
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

// pass gives an informer with a selector its part of the change (API-073).
func (h *hub[T]) pass(c api.Change[T], to concerned[T]) {
	// API-073: the selector decides what the change looks like from there.
	if seen, ok := h.table.Selected(c, to.before, to.after); ok {
		to.inf.feed.push(seen, h.engine.now, 1)
		h.expect(to.inf)
	}
}

// run delivers one change to all informers that are told promptly of every change.
func (h *hub[T]) run() {
	n, told := h.due.pop(), 0
	if n < h.shared.first {
		return // all those that waited for it have left
	}
	c := h.shared.at(n).change
	for _, inf := range h.prompt {
		// Who has joined since knows it from the beginning.
		if inf.place == n {
			inf.place++
			inf.tell(&c)
			told++
		}
	}
	h.shared.done(n, told)
}

// String says what is to be delivered.
func (h *hub[T]) String() string { return "watches of " + string(h.table.Kind()) }

// expect has an informer deliver a change that was just pushed. One that has others on their way delivers it after them.
func (h *hub[T]) expect(inf *Informer[T]) {
	if inf.prompt() || inf.place+1 == inf.feed.end() {
		h.engine.schedule(inf.lag, inf, inf.actor, false)
	}
}

func (h *hub[T]) join(inf *Informer[T]) {
	h.started++
	inf.order = h.started
	switch {
	case inf.index != nil:
		inf.feed = newFeed[T]()
		k := h.keyedBy(inf.index)
		k.byValue[inf.value] = append(k.byValue[inf.value], inf)
	case inf.match != nil:
		inf.feed = newFeed[T]()
		h.open = append(h.open, inf)
	default:
		inf.feed = h.shared
		h.sharing++
		if inf.prompt() {
			h.prompt = append(h.prompt, inf)
		} else {
			h.open = append(h.open, inf)
		}
	}
	inf.place = inf.feed.end()
}

func (h *hub[T]) keyedBy(index *store.Index[T]) *keyed[T] {
	for _, k := range h.keyed {
		if k.index == index {
			return k
		}
	}
	k := &keyed[T]{index: index, byValue: map[string][]*Informer[T]{}}
	h.keyed = append(h.keyed, k)
	return k
}

func (h *hub[T]) leave(inf *Informer[T]) {
	without := func(list []*Informer[T]) []*Informer[T] {
		return slices.DeleteFunc(slices.Clone(list), func(other *Informer[T]) bool { return other == inf })
	}
	if inf.index != nil {
		k := h.keyedBy(inf.index)
		if k.byValue[inf.value] = without(k.byValue[inf.value]); len(k.byValue[inf.value]) == 0 {
			delete(k.byValue, inf.value)
		}
		return
	}
	h.open, h.prompt = without(h.open), without(h.prompt)
	if inf.match != nil {
		return
	}
	h.sharing--
	for end := h.shared.end(); inf.place < end; inf.place++ {
		h.shared.done(inf.place, 1)
	}
}
