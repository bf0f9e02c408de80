package engine

import (
	"time"

	"github.com/volsim/volsim/api"
)

// View is an informer of any kind.
type View interface {
	// Kind is the kind of its objects.
	Kind() api.Kind
	// Current reports whether it has delivered all changes.
	Current() bool
	// Undelivered walks the changes that it has not delivered, in order.
	Undelivered(yield func(change UndeliveredChange) bool)
	// NthUndelivered returns the nth of them, from zero on. It allocates nothing.
	NthUndelivered(n int) (change UndeliveredChange, ok bool)
	// Object is Informer.Get.
	Object(key string) (api.Object, bool)
	// Find returns the first object of Informer.List that match selects.
	Find(match func(api.Object) bool) (api.Object, bool)

	leave()
}

// UndeliveredChange is a change that an informer has not delivered.
type UndeliveredChange struct {
	Type api.ChangeType
	Key  string
	// Object and Old are the states after and before the change, as in a store.Change.
	Object, Old api.Object
	// Written is the time of the write, since the start of the engine.
	Written time.Duration
}

// Kind is the kind of the informer's objects.
func (inf *informer[T]) Kind() api.Kind { return inf.dispatcher.table.Kind() }

// Current reports whether the informer has delivered all changes.
func (inf *informer[T]) Current() bool { return inf.offset >= inf.deltas.end() }

// Undelivered walks the changes that the informer has not delivered, in order.
func (inf *informer[T]) Undelivered(yield func(UndeliveredChange) bool) {
	for n := 0; ; n++ {
		if late, ok := inf.NthUndelivered(n); !ok || !yield(late) {
			return
		}
	}
}

// NthUndelivered returns the nth change that the informer has not delivered, from zero on.
func (inf *informer[T]) NthUndelivered(n int) (late UndeliveredChange, ok bool) {
	at := inf.offset + uint64(n)
	if at >= inf.deltas.end() {
		return late, false
	}
	d := inf.deltas.at(at)
	late = UndeliveredChange{Type: d.change.Type, Key: d.change.Key, Object: d.change.Object, Written: d.at}
	if d.change.Type != api.Added {
		late.Old = d.change.Old
	}
	return late, true
}

// Object is Get.
func (inf *informer[T]) Object(key string) (api.Object, bool) {
	obj, ok := inf.Get(key)
	return obj, ok
}

// Find returns the first object of List that match selects.
func (inf *informer[T]) Find(match func(api.Object) bool) (api.Object, bool) {
	for _, obj := range inf.List() {
		if match(obj) {
			return obj, true
		}
	}
	return nil, false
}
