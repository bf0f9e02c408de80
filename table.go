package volsim

import (
	"fmt"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// Table reads the objects of one kind. What it returns are copies, free to change.
type Table[T api.Object] struct{ table *store.Table[T] }

// Get returns a copy of the object; key is namespace/name, or name for kinds without a namespace. An object that does not exist
// is an error for which apierrors.IsNotFound holds.
func (t Table[T]) Get(key string) (T, error) {
	obj, err := t.table.Get(key)
	if err != nil {
		return obj, err
	}
	return copyOf(obj), nil
}

// List returns copies of all objects in the order of their keys.
func (t Table[T]) List() []T {
	objs := t.table.List()
	for i, obj := range objs {
		objs[i] = copyOf(obj)
	}
	return objs
}

// Len is the number of objects.
func (t Table[T]) Len() int { return t.table.Len() }

// Watch calls fn with each change from now on, in order and as it happens, the objects copied. An Added for each object there is
// comes first. fn must not write to the cluster. The returned function ends the watch.
func (t Table[T]) Watch(fn func(api.Change[T])) (stop func(), err error) {
	var none T
	if fn == nil {
		return nil, fmt.Errorf("watch %s: the function is nil", t.table.Kind())
	}
	w, err := t.table.Watch(store.WatchOptions[T]{}, func(c api.Change[T]) {
		c.Object = copyOf(c.Object)
		if any(c.Old) != any(none) {
			c.Old = copyOf(c.Old)
		}
		fn(c)
	})
	if err != nil {
		return nil, err
	}
	return w.Stop, nil
}

func copyOf[T api.Object](obj T) T { return obj.DeepCopyObject().(T) }
