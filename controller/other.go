package controller

import (
	"fmt"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// watchOther is Watch for a kind whose objects are only stored. It does not see an object that does not fit the fields of T, which only
// Cluster.Load can store: no API server has one.
func watchOther[T api.Object](s *Setup, changed func(api.Change[T])) *Cache[T] {
	table, err := s.actor.Engine().Store().Other(kindOf[T]())
	if err != nil {
		panic(fmt.Sprintf("controller: %v", err))
	}
	if s.ended() {
		return &Cache[T]{setup: s}
	}
	informer := engine.NewInformer(s.actor, table)
	notify := func(kind api.ChangeType, old, obj *plain.Object) {
		change := api.Change[T]{Type: kind, Key: api.KeyOf(obj), Version: versionOf(obj)}
		var fits, oldFits bool
		change.Object, fits = as[T](obj)
		if old != nil {
			change.Old, oldFits = as[T](old)
		}
		switch {
		case fits && kind == api.Modified && !oldFits:
			change.Type = api.Added
		case !fits && kind == api.Modified && oldFits:
			change.Type, change.Object = api.Deleted, change.Old
		case !fits:
			return
		}
		changed(change)
	}
	informer.Handle(engine.Handler[*plain.Object]{
		Add:    func(obj *plain.Object) { notify(api.Added, nil, obj) },
		Update: func(old, obj *plain.Object) { notify(api.Modified, old, obj) },
		Delete: func(obj *plain.Object) { notify(api.Deleted, obj, obj) },
	})
	return &Cache[T]{s, otherView[T]{informer}}
}

// otherView converts what an informer has received.
type otherView[T api.Object] struct {
	informer engine.Informer[*plain.Object]
}

func (v otherView[T]) Get(key string) (T, bool) {
	obj, ok := v.informer.Get(key)
	if !ok {
		var none T
		return none, false
	}
	return as[T](obj)
}

func (v otherView[T]) List() []T {
	var objs []T
	for _, obj := range v.informer.List() {
		if typed, ok := as[T](obj); ok {
			objs = append(objs, typed)
		}
	}
	return objs
}

// otherClient makes calls about objects of a kind whose objects are only stored.
type otherClient[T api.Object] struct{ server *engine.API }

func (c otherClient[T]) Get(p *engine.Process, key string) (T, error) {
	return typed[T](c.server.Get(p, ref[T](key)))
}

func (c otherClient[T]) Create(p *engine.Process, obj T) (T, error) {
	return typed[T](c.server.Create(p, obj, store.CreateOptions{}))
}

func (c otherClient[T]) Update(p *engine.Process, obj T) (T, error) {
	return typed[T](c.server.Update(p, obj, api.Main, store.UpdateOptions{}))
}

func (c otherClient[T]) UpdateStatus(p *engine.Process, obj T) (T, error) {
	return typed[T](c.server.Update(p, obj, api.Status, store.UpdateOptions{}))
}

func (c otherClient[T]) Patch(p *engine.Process, key string, patch []byte, sub api.Subresource) (T, error) {
	return typed[T](c.server.Patch(p, ref[T](key), patch, sub))
}

func (c otherClient[T]) Delete(p *engine.Process, key string, opts api.DeleteOptions) (T, error) {
	return typed[T](c.server.Delete(p, ref[T](key), opts))
}

func ref[T api.Object](key string) api.Ref { return api.Ref{Kind: kindOf[T](), Key: key} }

// kindOf returns the kind of a type. It panics for a type that is not of k8s.io/api.
func kindOf[T api.Object]() api.Kind {
	var none T
	kind := api.KindOf(none)
	if kind == "" {
		panic(fmt.Sprintf("controller: %T is not a type of k8s.io/api", none))
	}
	return kind
}

func typed[T api.Object](obj api.Object, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return plain.As[T](obj)
}

// as converts a stored object. It returns false if the object does not fit the fields of T.
func as[T api.Object](obj *plain.Object) (T, bool) {
	typed, err := plain.As[T](obj)
	return typed, err == nil
}
