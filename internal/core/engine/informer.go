package engine

import (
	"iter"
	"slices"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// Handler reacts to changes as an informer delivers them. It only looks and queues; a nil function ignores that sort of change.
type Handler[T api.Object] struct {
	Add    func(obj T)
	Update func(old, obj T)
	Delete func(obj T)
}

// Informer is an actor's view of one kind of object. The view lags behind the store by the changes that have not been delivered
// yet, and that is how it is kept: the store, less what is still on its way. What is on its way is listed once for all informers of
// a kind (see feed), so that a view costs no memory of its own.
type Informer[T api.Object] struct {
	actor    *Actor
	table    *store.Table[T]
	match    func(T) bool    // nil for all
	index    *store.Index[T] // with a value: only what the index finds under it
	value    string
	order    uint64 // among the informers on the table
	lag      time.Duration
	handlers []Handler[T]
	feed     *feed[T]
	// The object that is being delivered, and its key.
	delivered T
	key       string
	place     uint64 // in the feed: the number of the change that is to be delivered next
}

// NewInformer starts an informer of this life of the actor. Its view begins with what the store holds.
func NewInformer[T api.Object](a *Actor, table *store.Table[T]) *Informer[T] {
	return NewSelectiveInformer(a, table, nil)
}

// NewSelectiveInformer is NewInformer for the objects that match selects, as a watch with a field selector sees them (API-073).
func NewSelectiveInformer[T api.Object](a *Actor, table *store.Table[T], match func(T) bool) *Informer[T] {
	return startInformer(&Informer[T]{actor: a, table: table, match: match})
}

// NewKeyedInformer is NewSelectiveInformer for the objects that the index finds under value. What is written about others costs it
// nothing.
func NewKeyedInformer[T api.Object](a *Actor, table *store.Table[T], index *store.Index[T], value string) *Informer[T] {
	match := func(obj T) bool { return slices.Contains(index.Values(obj), value) }
	return startInformer(&Informer[T]{actor: a, table: table, match: match, index: index, value: value})
}

func startInformer[T api.Object](inf *Informer[T]) *Informer[T] {
	a := inf.actor
	inf.lag = a.engine.lag[a.name]
	h := hubOf(a.engine, inf.table)
	h.join(inf)
	a.OnStop(func() { h.leave(inf) })
	a.views = append(a.views, inf)
	return inf
}

// Handle adds a handler. It gets an Add for everything in the view first, in the order of keys.
func (inf *Informer[T]) Handle(h Handler[T]) {
	inf.handlers = append(inf.handlers, h)
	if h.Add != nil {
		for obj := range inf.All() {
			h.Add(obj)
		}
	}
}

// run delivers one change.
func (inf *Informer[T]) run() {
	c := inf.take()
	if e := inf.actor.engine; !inf.prompt() && inf.place < inf.feed.end() {
		due := later(inf.feed.at(inf.place).at, inf.lag)
		e.schedule(due-e.now, inf, inf.actor, false)
	}
	inf.tell(&c)
}

// prompt says that each change is delivered in an event of its own, in the order in which all changes of all kinds were written: with
// seed 0, unless the informer lags. Otherwise one change is due at a time, and what comes first is chosen.
func (inf *Informer[T]) prompt() bool { return inf.lag == 0 && inf.actor.engine.choices == nil }

// take moves on to the next change: it is in the view now.
func (inf *Informer[T]) take() api.Change[T] {
	c := inf.feed.at(inf.place).change
	inf.place++
	inf.feed.done(inf.place-1, 1)
	return c
}

// tell has the handlers react to a change.
func (inf *Informer[T]) tell(c *api.Change[T]) {
	inf.delivered, inf.key = c.Object, c.Key
	for i := range inf.handlers {
		h := &inf.handlers[i]
		switch {
		case c.Type == api.Added && h.Add != nil:
			h.Add(c.Object)
		case c.Type == api.Modified && h.Update != nil:
			h.Update(c.Old, c.Object)
		case c.Type == api.Deleted && h.Delete != nil:
			h.Delete(c.Object)
		}
	}
	var none T
	inf.delivered, inf.key = none, ""
}

// KeyOf is store.KeyOf. Of the object that a handler is being told of it is at hand, and makes no new string.
func (inf *Informer[T]) KeyOf(obj T) string {
	if inf.key != "" && any(obj) == any(inf.delivered) {
		return inf.key
	}
	return api.KeyOf(obj)
}

// String says what the informer has to deliver.
func (inf *Informer[T]) String() string { return "watch of " + string(inf.table.Kind()) }

// Get returns the object as this view has it.
func (inf *Informer[T]) Get(key string) (T, bool) {
	obj, ok, _ := inf.get(key)
	if inf.actor.engine.footprint != nil {
		if ok {
			inf.look(key, obj)
		} else {
			inf.look(key)
		}
	}
	return obj, ok
}

// get is Get; late says that the object has changes on their way.
func (inf *Informer[T]) get(key string) (obj T, ok, late bool) {
	if inf.place < inf.feed.end() {
		if newest := inf.feed.latest[key]; newest >= inf.place {
			c := inf.feed.back(newest, inf.place)
			return c.Old, c.Type != api.Added, true
		}
	}
	obj, ok = inf.table.Lookup(key)
	if ok && inf.match != nil && !inf.match(obj) {
		var none T
		return none, false, false
	}
	return obj, ok, false
}

// All walks the view in the order of keys.
func (inf *Informer[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, obj := range inf.List() {
			if !yield(obj) {
				return
			}
		}
	}
}

// List is the view in the order of keys.
func (inf *Informer[T]) List() []T {
	view := inf.list()
	if inf.actor.engine.footprint != nil {
		inf.look("", view...)
	}
	return view
}

func (inf *Informer[T]) list() []T {
	objs := inf.stored()
	late := inf.feed.late(inf.place)
	if len(late) == 0 {
		return objs
	}
	view := make([]T, 0, len(objs)+len(late))
	add := func(c *api.Change[T]) {
		if c.Type != api.Added {
			view = append(view, c.Old)
		}
	}
	for _, obj := range objs {
		key := api.KeyOf(obj)
		for len(late) > 0 && late[0].Key < key {
			add(late[0])
			late = late[1:]
		}
		if len(late) > 0 && late[0].Key == key {
			continue // what the view has of it comes before the next
		}
		view = append(view, obj)
	}
	for _, c := range late {
		add(c)
	}
	return view
}

// stored lists what the store has of the view, in the order of keys.
func (inf *Informer[T]) stored() []T {
	if inf.index != nil {
		keys := inf.index.Keys(inf.value)
		objs := make([]T, 0, len(keys))
		for _, key := range keys {
			if obj, ok := inf.table.Lookup(key); ok {
				objs = append(objs, obj)
			}
		}
		return objs
	}
	objs := inf.table.List()
	if inf.match != nil {
		objs = slices.DeleteFunc(objs, func(obj T) bool { return !inf.match(obj) })
	}
	return objs
}

// ByIndex lists, in the order of keys, the objects of the view that the index finds under value.
func (inf *Informer[T]) ByIndex(ix *store.Index[T], value string) []T {
	keys := ix.Keys(value)
	if inf.place < inf.feed.end() {
		// What the index has lost by changes that are on their way is still found here.
		if leaving := inf.feed.leaving(ix, value, inf.place); len(leaving) > 0 {
			keys = append(keys, leaving...)
			slices.Sort(keys)
			keys = slices.Compact(keys)
		}
	}
	var objs []T
	for _, key := range keys {
		// What has changes on its way is found by what the view has of it, not by what the store has.
		if obj, ok, late := inf.get(key); ok && (!late || slices.Contains(ix.Values(obj), value)) {
			objs = append(objs, obj)
		}
	}
	if inf.actor.engine.footprint != nil {
		inf.look("", objs...)
	}
	return objs
}
