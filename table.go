package volsim

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// Table reads the objects of one kind. It returns copies, which the caller may change.
type Table[T api.Object] struct{ table *store.Table[T] }

// Get returns a copy of the object; key is namespace/name or name. A name without a namespace is in namespace default, if the kind has
// namespaces. If the object does not exist, apierrors.IsNotFound holds for the error.
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

// Watch calls fn with an Added for each object that exists, and then with each change as it happens, in order. Objects are copies. fn
// must not write to the cluster. The returned function ends the watch.
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
	if namespaced(kind) && !strings.Contains(key, "/") {
		return api.Key(metav1.NamespaceDefault, key)
	}
	return key
}

// namespaced reports whether objects of that kind have a namespace.
func namespaced(kind api.Kind) bool {
	switch kind {
	case api.PersistentVolumeClaim, api.Pod, api.CSIStorageCapacity, api.Event:
		return true
	}
	return false
}

func copyOf[T api.Object](obj T) T { return obj.DeepCopyObject().(T) }
