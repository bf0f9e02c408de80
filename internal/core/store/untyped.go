package store

import "fmt"

// The methods of table: a Table for callers that do not know its type.

func (t *Table[T]) create(obj Object, opts CreateOptions) (Object, error) {
	typed, err := t.typed(obj)
	if err != nil {
		return nil, err
	}
	return untyped(t.CreateWith(typed, opts))
}

func (t *Table[T]) update(obj Object, sub Subresource, opts UpdateOptions) (Object, error) {
	typed, err := t.typed(obj)
	if err != nil {
		return nil, err
	}
	return untyped(t.UpdateWith(typed, sub, opts))
}

func (t *Table[T]) load(obj Object) (Object, error) {
	typed, err := t.typed(obj)
	if err != nil {
		return nil, err
	}
	return untyped(t.Load(typed))
}

func (t *Table[T]) patch(key string, patch []byte, sub Subresource) (Object, error) {
	return untyped(t.Patch(key, patch, sub))
}

func (t *Table[T]) delete(key string, opts DeleteOptions) (Object, error) {
	return untyped(t.Delete(key, opts))
}

func (t *Table[T]) get(key string) (Object, error) { return untyped(t.Get(key)) }

func (t *Table[T]) list() []Object {
	objs := make([]Object, 0, t.Len())
	for obj := range t.All() {
		objs = append(objs, obj)
	}
	return objs
}

func (t *Table[T]) typed(obj Object) (T, error) {
	typed, ok := obj.(T)
	if !ok {
		return typed, fmt.Errorf("store: a %T is no %s", obj, t.resource.kind)
	}
	return typed, nil
}

// untyped drops the object of a failed call, so that the nil of a type does not pass for an object.
func untyped[T Object](obj T, err error) (Object, error) {
	if err != nil {
		return nil, err
	}
	return obj, nil
}
