package engine

import (
	"slices"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// Informer is an actor's cache of one kind of object. It lags behind the store by the undelivered changes. Its methods are explained where type
// informer has them. It is an interface for the reason that store.Table is one.
type Informer[T api.Object] interface {
	View
	Handle(h Handler[T])
	Get(key string) (T, bool)
	GetNamed(namespace, name string) (T, bool)
	List() []T
	ByIndex(ix store.Index[T], value string) []T
	FirstByIndex(ix store.Index[T], value string) (T, bool)
	KeyOf(obj T) string
	Reached(version uint64) bool

	handle(c any, r receiver[T])
}

// informer is an Informer. It is represented as the store less the undelivered changes. The changes are queued once for all informers of a kind
// (see deltaQueue), so a cache needs no memory of its own.
type informer[T api.Object] struct {
	selection[T]
	order      uint64 // position among the informers on the table
	lag        time.Duration
	handlers   []handling[T]
	first      [1]handling[T] // memory of handlers; most informers have one
	dispatcher *dispatcher[T]
	deltas     *deltaQueue[T]
	offset     uint64 // in the queue: number of the next change to deliver
}

// selection holds the parameters of an informer: the actor, and which objects of the table.
type selection[T api.Object] struct {
	actor *Actor
	match func(T) bool // nil for all
	place *place[T]    // not nil: only the objects that an index finds there
}

// place is a value of an index.
type place[T api.Object] struct {
	index store.Index[T]
	value string
}

// NewInformer starts an informer in this life of the actor. Its cache begins with the objects in the store.
func NewInformer[T api.Object](a *Actor, table store.Table[T]) Informer[T] {
	return NewSelectiveInformer(a, table, nil)
}

// NewSelectiveInformer is NewInformer for the objects that match selects, like a watch with a field selector (API-073).
func NewSelectiveInformer[T api.Object](a *Actor, table store.Table[T], match func(T) bool) Informer[T] {
	return dispatcherOf(a.engine, table).start(selection[T]{actor: a, match: match})
}

// NewKeyedInformer is NewSelectiveInformer for the objects that the index finds under value. Writes to other objects cost it nothing.
func NewKeyedInformer[T api.Object](a *Actor, table store.Table[T], index store.Index[T], value string) Informer[T] {
	match := func(obj T) bool { return index.Has(obj, value) }
	return dispatcherOf(a.engine, table).start(selection[T]{actor: a, match: match, place: &place[T]{index, value}})
}

func (d *dispatcher[T]) start(with selection[T]) Informer[T] {
	a := with.actor
	inf := d.informers.next()
	inf.selection = with
	inf.lag = a.engine.lag[a.name]
	inf.handlers = inf.first[:0]
	inf.dispatcher = d
	d.join(inf)
	a.views = append(a.views, inf)
	return inf
}

// leave ends the informer.
func (inf *informer[T]) leave() { inf.dispatcher.leave(inf) }

// Handle adds a handler. First the handler gets an Add for every object in the cache, in the order of keys.
func (inf *informer[T]) Handle(h Handler[T]) { inf.handle(nil, &h) }

func (inf *informer[T]) handle(c any, r receiver[T]) {
	inf.handlers = append(inf.handlers, handling[T]{c, r})
	if r.adds() {
		var none T
		for _, obj := range inf.List() {
			r.receive(c, api.Added, none, obj)
		}
	}
}

// run delivers one change.
func (inf *informer[T]) run() {
	c := inf.take()
	if e := inf.actor.engine; !inf.prompt() && inf.offset < inf.deltas.end() {
		due := later(inf.deltas.at(inf.offset).at, inf.lag)
		e.schedule(due-e.now, inf, inf.actor, false)
	}
	inf.dispatcher.delivers(c.Object, c.Key)
	inf.deliver(&c)
	inf.dispatcher.delivered()
}

// prompt reports whether each change is delivered in an event of its own, in the order in which changes of all kinds were written: with
// seed 0, unless the informer lags. Otherwise one change is due at a time, and the order between informers is chosen.
func (inf *informer[T]) prompt() bool { return inf.lag == 0 && inf.actor.engine.choices == nil }

// take advances to the next change, which is in the cache from now on.
func (inf *informer[T]) take() api.Change[T] {
	c := inf.deltas.at(inf.offset).change
	inf.offset++
	inf.deltas.done(inf.offset-1, 1)
	return c
}

// deliver calls the handlers for a change.
func (inf *informer[T]) deliver(c *api.Change[T]) {
	for i := range inf.handlers {
		h := &inf.handlers[i]
		h.receive(h.c, c.Type, c.Old, c.Object)
	}
}

// Reached reports whether the informer has delivered all changes up to a version.
func (inf *informer[T]) Reached(version uint64) bool {
	reached := inf.offset >= inf.deltas.end() || inf.deltas.at(inf.offset).change.Version > version
	inf.actor.engine.answers(map[bool]int64{true: 1}[reached])
	return reached
}

// KeyOf is api.KeyOf. It allocates no string for the object that a handler receives, and for one that is stored.
func (inf *informer[T]) KeyOf(obj T) string {
	if d := inf.dispatcher; d.key != "" && any(obj) == any(d.obj) {
		return d.key
	}
	return inf.dispatcher.table.KeyOf(obj)
}

// String names the kind whose changes the informer delivers.
func (inf *informer[T]) String() string { return "watch of " + string(inf.dispatcher.table.Kind()) }

// Get returns the object as the cache has it.
func (inf *informer[T]) Get(key string) (T, bool) {
	obj, ok, _ := inf.get(key)
	if inf.actor.engine.footprint != nil {
		if ok {
			inf.noteRead(key, obj)
		} else {
			inf.noteRead(key)
		}
	}
	return obj, ok
}

// GetNamed is Get for the key namespace/name. It seldom allocates that string.
func (inf *informer[T]) GetNamed(namespace, name string) (T, bool) {
	if inf.match == nil && inf.actor.engine.footprint == nil {
		obj, newest, ok := inf.dispatcher.table.LookupLatestNamed(namespace, name)
		if ok {
			return inf.seen(obj, newest)
		}
		if inf.offset >= inf.deltas.end() {
			return obj, false
		}
	}
	// A deletion that is not delivered is found by key.
	return inf.Get(api.Key(namespace, name))
}

// seen returns a stored object as the cache has it. newest is the number of its last change.
func (inf *informer[T]) seen(obj T, newest uint64) (T, bool) {
	if newest < inf.offset || inf.offset >= inf.deltas.end() {
		return obj, true
	}
	c := inf.deltas.back(newest, inf.offset)
	return c.Old, c.Type != api.Added
}

// get is Get; undelivered reports whether the object has undelivered changes.
func (inf *informer[T]) get(key string) (obj T, ok, late bool) {
	obj, newest, ok := inf.dispatcher.table.LookupLatest(key)
	if inf.offset < inf.deltas.end() {
		if !ok || inf.match != nil {
			newest = inf.deltas.newest(key)
		}
		if newest >= inf.offset {
			c := inf.deltas.back(newest, inf.offset)
			return c.Old, c.Type != api.Added, true
		}
	}
	if ok && inf.match != nil && !inf.match(obj) {
		var none T
		return none, false, false
	}
	return obj, ok, false
}

// List is the cache in the order of keys.
func (inf *informer[T]) List() []T {
	view := inf.list()
	if inf.actor.engine.footprint != nil {
		inf.noteRead("", view...)
	}
	return view
}

func (inf *informer[T]) list() []T {
	objs := inf.stored()
	late := inf.deltas.undelivered(inf.offset)
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
			continue // the cached version was added above
		}
		view = append(view, obj)
	}
	for _, c := range late {
		add(c)
	}
	return view
}

// stored lists the objects of the store that the informer selects, in the order of keys.
func (inf *informer[T]) stored() []T {
	if at := inf.place; at != nil {
		return at.index.Objects(at.value)
	}
	objs := inf.dispatcher.table.List()
	if inf.match != nil {
		objs = slices.DeleteFunc(objs, func(obj T) bool { return !inf.match(obj) })
	}
	return objs
}

// ByIndex lists, in the order of keys, the cached objects that the index finds under value.
func (inf *informer[T]) ByIndex(ix store.Index[T], value string) []T {
	var objs []T
	for _, key := range inf.keysUnder(ix, value) {
		if obj, ok := inf.under(ix, value, key); ok {
			objs = append(objs, obj)
		}
	}
	if inf.actor.engine.footprint != nil {
		inf.noteRead("", objs...)
	}
	return objs
}

// FirstByIndex returns the first object of ByIndex, without a list of all.
func (inf *informer[T]) FirstByIndex(ix store.Index[T], value string) (T, bool) {
	var none T
	if inf.actor.engine.footprint != nil {
		// All of them are noted as read.
		if all := inf.ByIndex(ix, value); len(all) > 0 {
			return all[0], true
		}
		return none, false
	}
	for _, key := range inf.keysUnder(ix, value) {
		if obj, ok := inf.under(ix, value, key); ok {
			return obj, true
		}
	}
	return none, false
}

// keysUnder returns the keys of the objects that the index finds under value, or found before undelivered changes, in order. The list is valid
// until the next call.
func (inf *informer[T]) keysUnder(ix store.Index[T], value string) []string {
	keys := ix.AppendKeys(inf.dispatcher.keys[:0], value)
	if inf.offset < inf.deltas.end() {
		// Objects that left the index by undelivered changes are still found here.
		if leaving := inf.deltas.leaving(ix, value, inf.offset); len(leaving) > 0 {
			keys = append(keys, leaving...)
			slices.Sort(keys)
			keys = slices.Compact(keys)
		}
	}
	inf.dispatcher.keys = keys
	return keys
}

// under returns the cached object with that key, if the index finds it under value.
func (inf *informer[T]) under(ix store.Index[T], value, key string) (T, bool) {
	// An object with undelivered changes is found by its cached version, not by the stored one.
	obj, ok, late := inf.get(key)
	return obj, ok && (!late || ix.Has(obj, value))
}
