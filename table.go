package volsim

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// Table reads the objects of one kind. What it returns are copies, free to change.
type Table[T api.Object] struct{ table *store.Table[T] }

// Get returns a copy of the object; key is namespace/name or name. A name without a namespace means that of namespace default, for kinds
// with namespaces. An object that does not exist
// is an error for which apierrors.IsNotFound holds.
func (t Table[T]) Get(key string) (T, error) {
	obj, err := t.table.Get(withNamespace(t.table.Kind(), key))
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

// Get returns a copy of the object of that type, as [Table.Get] does: Get[*corev1.Pod](c, "web").
func Get[T api.Object](c *Cluster, key string) (T, error) {
	var none T
	kind := api.KindOf(none)
	obj, err := c.engine.Store().Get(kind, withNamespace(kind, key))
	if err != nil {
		return none, err
	}
	return copyOf(obj.(T)), nil
}

// List returns copies of all objects of that type in the order of their keys: List[*corev1.Pod](c). It panics for a type that is not
// simulated.
func List[T api.Object](c *Cluster) []T {
	var none T
	kind := api.KindOf(none)
	if kind == "" {
		panic(fmt.Sprintf("volsim.List: %T is not simulated", none))
	}
	var objs []T
	for _, obj := range c.engine.Store().List(kind) {
		objs = append(objs, copyOf(obj.(T)))
	}
	return objs
}

// withNamespace adds the namespace default to the key of an object that needs one.
func withNamespace(kind api.Kind, key string) string {
	switch kind {
	case api.PersistentVolumeClaim, api.Pod, api.CSIStorageCapacity, api.Event:
		if namespace, name := api.SplitKey(key); namespace == "" {
			return api.Key(metav1.NamespaceDefault, name)
		}
	}
	return key
}

func copyOf[T api.Object](obj T) T { return obj.DeepCopyObject().(T) }
