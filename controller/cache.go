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
type Cache[T api.Object] struct {
	setup *Setup
	view  view[T]
}

// view reads the objects that an informer has received.
type view[T api.Object] interface {
	Get(key string) (T, bool)
	List() []T
}

// Watch starts a cache and calls changed with each change that it receives, beginning with an Added for each object that exists. changed
// only queues keys. T is a pointer to one of the types of k8s.io/api, such as *corev1.Pod; Watch panics for other types, and if
// changed is nil.
func Watch[T api.Object](s *Setup, changed func(api.Change[T])) *Cache[T] {
	if changed == nil {
		panic(fmt.Sprintf("controller %q: Watch of %T: the function is nil", s.actor.Name(), none[T]()))
	}
	table, ok := tableOf[T](s.actor.Engine().Store())
	if !ok {
		return watchOther(s, changed)
	}
	if s.ended() {
		return &Cache[T]{setup: s}
	}
	informer := engine.NewInformer(s.actor, table)
	notify := func(kind api.ChangeType, old *T, obj T) {
		change := api.Change[T]{Type: kind, Key: api.KeyOf(obj), Object: copyOf(obj)}
		change.Version = versionOf(obj)
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
	return &Cache[T]{s, informer}
}

// Get returns a copy of the cached object; ok is false if there is none. key is namespace/name, or name for kinds without a namespace.
func (c *Cache[T]) Get(key string) (obj T, ok bool) {
	if c.setup.ended() {
		return obj, false
	}
	if obj, ok = c.view.Get(key); ok {
		obj = copyOf(obj)
	}
	return obj, ok
}

// List returns copies of all cached objects, in the order of their keys.
func (c *Cache[T]) List() []T {
	if c.setup.ended() {
		return nil
	}
	var objs []T
	for _, obj := range c.view.List() {
		objs = append(objs, copyOf(obj))
	}
	return objs
}

// versionOf returns the resourceVersion of a stored object as a number.
func versionOf(obj api.Object) uint64 {
	version, _ := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	return version
}

func copyOf[T api.Object](obj T) T { return obj.DeepCopyObject().(T) }

// tableOf finds the table of objects of type T, if the store has objects of that type.
func tableOf[T api.Object](s *store.Store) (store.Table[T], bool) {
	for _, table := range []any{
		s.Volumes, s.Claims, s.Classes, s.AttributesClasses, s.Pods, s.Nodes, s.Attachments, s.CSIDrivers, s.CSINodes, s.Capacities, s.Events,
	} {
		if table, ok := table.(store.Table[T]); ok {
			return table, true
		}
	}
	return nil, false
}
