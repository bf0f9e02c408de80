package controller

import (
	"fmt"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
)

// Handler receives the changes of one kind of object, in order. Its functions only queue keys; nil ignores that kind of change. The
// objects are shared: do not modify them.
type Handler[T api.Object] struct {
	Add    func(obj T)      // an object that is new to the cache
	Update func(old, obj T) // a change of an object
	Delete func(obj T)      // the last version of an object that is gone
}

// Cache is a controller's view of one kind of object, as an informer keeps it. It lags behind the API server by the changes that are
// not delivered yet.
type Cache[T api.Object] struct{ informer *engine.Informer[T] }

// Watch starts a cache and calls the handler with each change, beginning with an Add for each object that exists. T is a pointer to one
// of the types that volsim simulates, such as *corev1.Pod; Watch panics for other types.
func Watch[T api.Object](s *Setup, h Handler[T]) *Cache[T] {
	informer := engine.NewInformer(s.actor, tableOf[T](s.actor.Engine().Store()))
	informer.Handle(engine.Handler[T]{Add: h.Add, Update: h.Update, Delete: h.Delete})
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
