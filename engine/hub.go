package engine

import "github.com/volsim/volsim/store"

// hub hands the changes of one table to all informers on it, in the order in which they were started.
type hub[T store.Object] struct {
	engine    *Engine
	table     *store.Table[T]
	informers []*Informer[T]
	shared    *feed[T] // of all informers that see every change
	sharing   int      // how many these are
}

// hubOf is the hub of a table. There is one for each kind.
func hubOf[T store.Object](e *Engine, table *store.Table[T]) *hub[T] {
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
func (h *hub[T]) take(c store.Change[T]) {
	if h.sharing > 0 {
		h.shared.push(c, h.engine.now, h.sharing)
	}
	for _, inf := range h.informers {
		if inf.match != nil {
			// API-073: the selector decides what the change looks like from there.
			seen, ok := h.table.Select(c, inf.match)
			if !ok {
				continue
			}
			inf.feed.push(seen, h.engine.now, 1)
		}
		// An informer that has other changes on their way delivers this one after them.
		if inf.place+1 == inf.feed.end() {
			h.engine.schedule(inf.lag, inf, inf.actor, false)
		}
	}
}

func (h *hub[T]) join(inf *Informer[T]) {
	inf.feed = h.shared
	if inf.match != nil {
		inf.feed = newFeed[T]()
	} else {
		h.sharing++
	}
	inf.place = inf.feed.end()
	h.informers = append(h.informers, inf)
}

func (h *hub[T]) leave(inf *Informer[T]) {
	for i, other := range h.informers {
		if other == inf {
			h.informers = append(h.informers[:i:i], h.informers[i+1:]...)
			break
		}
	}
	if inf.match != nil {
		return
	}
	h.sharing--
	for end := h.shared.end(); inf.place < end; inf.place++ {
		h.shared.done(inf.place)
	}
}
