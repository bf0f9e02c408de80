package controller

import (
	"fmt"
	"strconv"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
)

// Cache is a controller's view of one kind of object, as an informer keeps it. It lags behind the API server by the changes that are
// not delivered yet.
type Cache[T api.Object] struct{ informer *engine.Informer[T] }

// Watch starts a cache and calls changed with each change that it receives, beginning with an Added for each object that exists. changed
// only queues keys. T is a pointer to one of the types that volsim simulates, such as *corev1.Pod; Watch panics for other types.
func Watch[T api.Object](s *Setup, changed func(api.Change[T])) *Cache[T] {
	informer := engine.NewInformer(s.actor, tableOf[T](s.actor.Engine().Store()))
	notify := func(kind api.ChangeType, old *T, obj T) {
		change := api.Change[T]{Type: kind, Key: api.KeyOf(obj), Object: copyOf(obj)}
		change.Version, _ = strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
		if old != nil {
			change.Old = copyOf(*old)
		}
		changed(change)
	}
	informer.Handle(engine.Handler[T]{
		Add:    func(obj T) { notify(api.Added, nil, obj) },
		Update: func(old, obj T) { notify(api.Modified, &old, obj) },
		Delete: func(obj T) { notify(api.Deleted, &obj, obj) },
	})
	return &Cache[T]{informer}
}

// Get returns a copy of the cached object; ok is false if there is none. key is namespace/name, or name for kinds without a namespace.
func (c *Cache[T]) Get(key string) (obj T, ok bool) {
	if obj, ok = c.informer.Get(key); ok {
		obj = copyOf(obj)
	}
	return obj, ok
}

// List returns copies of all cached objects, in the order of their keys.
func (c *Cache[T]) List() []T {
	var objs []T
	for _, obj := range c.informer.List() {
		objs = append(objs, copyOf(obj))
	}
	return objs
}

func copyOf[T api.Object](obj T) T { return obj.DeepCopyObject().(T) }

// tableOf finds the table of objects of type T.
func tableOf[T api.Object](s *store.Store) *store.Table[T] {
	for _, table := range []any{
		s.Volumes, s.Claims, s.Classes, s.AttributesClasses, s.Pods, s.Nodes, s.Attachments, s.CSIDrivers, s.CSINodes, s.Capacities, s.Events,
	} {
		if table, ok := table.(*store.Table[T]); ok {
			return table
		}
	}
	var none T
	panic(fmt.Sprintf("controller: %T is not simulated", none))
}
