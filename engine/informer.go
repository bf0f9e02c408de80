package engine

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/volsim/volsim/store"
)

// Handler reacts to changes as an informer delivers them. It only looks and queues; a nil function ignores that sort of change.
type Handler[T store.Object] struct {
	Add    func(obj T)
	Update func(old, obj T)
	Delete func(obj T)
}

// Informer is an actor's view of one kind of object. The view lags behind the store by the changes that have not been delivered
// yet, and that is how it is kept: the store, less what is still on its way. With no lag it costs no memory.
type Informer[T store.Object] struct {
	actor    *Actor
	table    *store.Table[T]
	match    func(T) bool
	lag      time.Duration
	handlers []Handler[T]
	pending  fifo[arrival[T]]
	// seen holds, for each key with changes on their way, the object as it still is in this view; absent if nil.
	seen map[string]view[T]
}

type arrival[T store.Object] struct {
	change store.Change[T]
	due    time.Duration
}

type view[T store.Object] struct {
	obj     T
	present bool
	changes int // how many are on their way
}

// NewInformer starts an informer of this life of the actor. Its view begins with what the store holds.
func NewInformer[T store.Object](a *Actor, table *store.Table[T]) *Informer[T] {
	return NewSelectiveInformer(a, table, nil)
}

// NewSelectiveInformer is NewInformer for the objects that match selects, as a watch with a field selector sees them (API-073).
func NewSelectiveInformer[T store.Object](a *Actor, table *store.Table[T], match func(T) bool) *Informer[T] {
	inf := &Informer[T]{actor: a, table: table, match: match, lag: a.engine.lag[a.name], seen: map[string]view[T]{}}
	// From zero a watch begins with what there is, which is nothing then.
	w, err := table.Watch(store.WatchOptions[T]{From: a.engine.store.Version(), Match: match}, inf.enqueue)
	if err != nil {
		panic("engine: a watch from now on cannot be too old: " + err.Error())
	}
	a.OnStop(w.Stop)
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

func (inf *Informer[T]) enqueue(c store.Change[T]) {
	v, known := inf.seen[c.Key]
	if !known && c.Type != store.Added {
		v.obj, v.present = c.Old, true
	}
	v.changes++
	inf.seen[c.Key] = v
	inf.pending.push(arrival[T]{c, inf.actor.engine.in(inf.lag)})
	if inf.pending.len() == 1 {
		inf.actor.engine.schedule(inf.lag, inf, inf.actor, false)
	}
}

// run delivers one change.
func (inf *Informer[T]) run() {
	c := inf.pending.pop().change
	if v := inf.seen[c.Key]; v.changes == 1 {
		delete(inf.seen, c.Key)
	} else {
		v = view[T]{changes: v.changes - 1}
		if c.Type != store.Deleted {
			v.obj, v.present = c.Object, true
		}
		inf.seen[c.Key] = v
	}
	if inf.pending.len() > 0 {
		inf.actor.engine.schedule(inf.pending.all()[0].due-inf.actor.engine.now, inf, inf.actor, false)
	}
	for _, h := range inf.handlers {
		switch {
		case c.Type == store.Added && h.Add != nil:
			h.Add(c.Object)
		case c.Type == store.Modified && h.Update != nil:
			h.Update(c.Old, c.Object)
		case c.Type == store.Deleted && h.Delete != nil:
			h.Delete(c.Object)
		}
	}
}

// String says what the informer has to deliver.
func (inf *Informer[T]) String() string { return "watch of " + string(inf.table.Kind()) }

// Get returns the object as this view has it.
func (inf *Informer[T]) Get(key string) (T, bool) {
	if v, late := inf.seen[key]; late {
		return v.obj, v.present
	}
	obj, ok := inf.table.Lookup(key)
	if ok && inf.match != nil && !inf.match(obj) {
		var none T
		return none, false
	}
	return obj, ok
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
	objs := inf.table.List()
	if inf.match != nil {
		objs = slices.DeleteFunc(objs, func(obj T) bool { return !inf.match(obj) })
	}
	if len(inf.seen) == 0 {
		return objs
	}
	late := slices.Sorted(maps.Keys(inf.seen))
	view := make([]T, 0, len(objs)+len(late))
	add := func(key string) {
		if v := inf.seen[key]; v.present {
			view = append(view, v.obj)
		}
	}
	for _, obj := range objs {
		key := store.KeyOf(obj)
		for len(late) > 0 && late[0] < key {
			add(late[0])
			late = late[1:]
		}
		if len(late) > 0 && late[0] == key {
			continue // what the view has of it comes before the next
		}
		view = append(view, obj)
	}
	for _, key := range late {
		add(key)
	}
	return view
}

// ByIndex lists, in the order of keys, the objects of the view that the index finds under value.
func (inf *Informer[T]) ByIndex(ix *store.Index[T], value string) []T {
	keys := ix.Keys(value)
	if len(inf.seen) > 0 {
		// What has changes on its way is found by what the view has of it, not by what the store has.
		keys = slices.DeleteFunc(keys, func(key string) bool { _, late := inf.seen[key]; return late })
		for key, v := range inf.seen {
			if v.present && slices.Contains(ix.Values(v.obj), value) {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
	}
	var objs []T
	for _, key := range keys {
		if obj, ok := inf.Get(key); ok {
			objs = append(objs, obj)
		}
	}
	return objs
}
