package store

import (
	"fmt"

	"github.com/volsim/volsim/api"
)

// The methods of the interface anyTable.

func (t *table[T]) create(obj api.Object, opts CreateOptions) (api.Object, error) {
	typed, err := t.typed(obj)
	if err != nil {
		return nil, err
	}
	return untyped(t.CreateWith(typed, opts))
}

func (t *table[T]) update(obj api.Object, sub api.Subresource, opts UpdateOptions) (api.Object, error) {
	typed, err := t.typed(obj)
	if err != nil {
		return nil, err
	}
	return untyped(t.UpdateWith(typed, sub, opts))
}

func (t *table[T]) load(obj api.Object) (api.Object, error) {
	typed, err := t.typed(obj)
	if err != nil {
		return nil, err
	}
	return untyped(t.Load(typed))
}

func (t *table[T]) patch(key string, patch []byte, sub api.Subresource) (api.Object, error) {
	return untyped(t.Patch(key, patch, sub))
}

func (t *table[T]) delete(key string, opts api.DeleteOptions) (api.Object, error) {
	return untyped(t.Delete(key, opts))
}

func (t *table[T]) get(key string) (api.Object, error) { return untyped(t.Get(key)) }

func (t *table[T]) lookup(key string) api.Object {
	if obj, ok := t.Lookup(key); ok {
		return obj
	}
	return nil
}

func (t *table[T]) list(from, to string) []api.Object {
	var objs []api.Object
	if from == "" && to == "" {
		objs = make([]api.Object, 0, t.Len())
	}
	t.inOrder().Ascend(from, func(key string, c *cell[T]) bool {
		if to != "" && key >= to {
			return false
		}
		objs = append(objs, c.obj)
		return true
	})
	return objs
}

func (t *table[T]) accepts(obj api.Object) bool {
	_, ok := obj.(T)
	return ok
}

func (t *table[T]) typed(obj api.Object) (T, error) {
	typed, ok := obj.(T)
	if !ok {
		return typed, fmt.Errorf("%T is not a %s", obj, t.resource.kind)
	}
	return typed, nil
}

// untyped returns nil as the object of a failed call, instead of a nil pointer of a type.
func untyped[T api.Object](obj T, err error) (api.Object, error) {
	if err != nil {
		return nil, err
	}
	return obj, nil
}
