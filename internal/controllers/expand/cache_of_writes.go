package expand

import (
	"strconv"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// cache is an informer's cache into which the sidecar also puts the objects that it wrote. They stay until the informer delivers a change
// of the object.
type cache[T api.Object] struct {
	informer engine.Informer[T]
	own      map[string]T
}

// newCache returns a cache, which is up to date when handle is called for a change. Nil functions of handle ignore changes.
func newCache[T api.Object](informer engine.Informer[T], handle engine.Handler[T]) *cache[T] {
	c := &cache[T]{informer: informer, own: map[string]T{}}
	forget := func(obj T) { delete(c.own, informer.KeyOf(obj)) }
	informer.Handle(engine.Handler[T]{Add: forget, Update: func(_, obj T) { forget(obj) }, Delete: forget})
	informer.Handle(handle)
	return c
}

func (c *cache[T]) get(key string) (T, bool) {
	if obj, ok := c.own[key]; ok {
		return obj, true
	}
	return c.informer.Get(key)
}

// getNamed is get for the key namespace/name.
func (c *cache[T]) getNamed(namespace, name string) (T, bool) {
	if len(c.own) > 0 {
		return c.get(api.Key(namespace, name))
	}
	return c.informer.GetNamed(namespace, name)
}

// put adds an object that was written, unless the informer has that version or a newer one.
func (c *cache[T]) put(obj T) {
	key := api.KeyOf(obj)
	if known, ok := c.informer.Get(key); ok && version(known) < version(obj) {
		c.own[key] = obj
	}
}

func version(obj api.Object) uint64 {
	v, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return v
}
