package volsim

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Table reads the objects of one kind. It returns copies, which the caller may change.
type Table[T api.Object] struct{ source source[T] }

// source reads shared objects of one kind.
type source[T api.Object] interface {
	Kind() api.Kind
	Namespaced() bool
	Get(key string) (T, error)
	List() []T
	Len() int
	Watch(opts store.WatchOptions[T], fn func(api.Change[T])) (store.Watch, error)
}

func tableOf[T api.Object](t store.Table[T]) Table[T] { return Table[T]{t} }

// converted reads objects of any kind and converts them to T.
type converted[T api.Object] struct {
	store *store.Store
	kind  api.Kind
}

func (t converted[T]) Kind() api.Kind { return t.kind }

func (t converted[T]) Namespaced() bool {
	known := t.store.Describe(t.kind)
	return known != nil && known.Namespaced
}

func (t converted[T]) Get(key string) (T, error) {
	obj, err := t.store.Get(t.kind, key)
	if err != nil {
		var none T
		return none, err
	}
	return t.as(obj)
}

func (t converted[T]) List() []T {
	stored := t.store.List(t.kind)
	objs := make([]T, len(stored))
	for i, obj := range stored {
		objs[i] = t.must(obj)
	}
	return objs
}

func (t converted[T]) Len() int { return len(t.store.List(t.kind)) }

func (t converted[T]) Watch(_ store.WatchOptions[T], fn func(api.Change[T])) (store.Watch, error) {
	stop, err := t.store.Watch(t.kind, store.WatchOptions[api.Object]{}, func(c api.Change[api.Object]) {
		seen := api.Change[T]{Type: c.Type, Key: c.Key, Object: t.must(c.Object), Version: c.Version}
		if c.Old != nil {
			seen.Old = t.must(c.Old)
		}
		fn(seen)
	})
	return stopper(stop), err
}

// stopper ends a watch.
type stopper func()

func (stop stopper) Stop() { stop() }

// as converts a stored object. An unstructured one names its kind, which a stored object of a Go type does not.
func (t converted[T]) as(obj api.Object) (T, error) {
	typed, err := plain.As[T](obj)
	if doc, ok := any(typed).(*unstructured.Unstructured); ok && err == nil && doc.GetKind() == "" {
		if known := t.store.Describe(t.kind); known != nil {
			doc.SetGroupVersionKind(known.GroupVersionKind())
		}
	}
	return typed, err
}

// must converts a stored object. It panics for an object that does not have the fields of T, which only a write without validation can store.
func (t converted[T]) must(obj api.Object) T {
	typed, err := t.as(obj)
	if err != nil {
		panic(fmt.Sprintf("volsim: %s is not a %T: %v", api.RefTo(obj), typed, err))
	}
	return typed
}

// Get returns a copy of the object; key is namespace/name or name. A name without a namespace is in namespace default, if the kind has
// namespaces. If the object does not exist, apierrors.IsNotFound holds for the error.
func (t Table[T]) Get(key string) (T, error) {
	obj, err := t.source.Get(withNamespace(t.source.Namespaced(), key))
	if err != nil {
		return obj, err
	}
	return copyOf(obj), nil
}

// List returns copies of all objects in the order of their keys.
func (t Table[T]) List() []T {
	objs := t.source.List()
	for i, obj := range objs {
		objs[i] = copyOf(obj)
	}
	return objs
}

// Len is the number of objects.
func (t Table[T]) Len() int { return t.source.Len() }

// Watch calls fn with an Added for each object that exists, and then with each change as it happens, in order. Objects are copies. fn
// must not write to the cluster. The returned function ends the watch.
func (t Table[T]) Watch(fn func(api.Change[T])) (stop func(), err error) {
	var none T
	if fn == nil {
		return nil, fmt.Errorf("watch %s: the function is nil", t.source.Kind())
	}
	w, err := t.source.Watch(store.WatchOptions[T]{}, func(c api.Change[T]) {
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

// Objects reads the objects of any kind, such as "ConfigMap", "Deployment.apps" or that of a CustomResourceDefinition. A kind that the
// cluster does not know has no objects.
func (c *Cluster) Objects(kind api.Kind) Table[*unstructured.Unstructured] {
	return Table[*unstructured.Unstructured]{converted[*unstructured.Unstructured]{c.engine.Store(), kind}}
}

// Get returns a copy of the object of that type, as [Table.Get] does: Get[*corev1.Pod](c, "web"). T is a pointer to any type of k8s.io/api;
// see [Cluster.Objects] for others.
func Get[T api.Object](c *Cluster, key string) (T, error) {
	var none T
	kind := api.KindOf(none)
	if kind == "" {
		return none, fmt.Errorf("get %s: %T is of an %w; use Cluster.Objects, or a client whose scheme has the type (controllerruntime.NewClient)", key, none, api.ErrUnknownKind)
	}
	return Table[T]{converted[T]{c.engine.Store(), kind}}.Get(key)
}

// List returns copies of all objects of that type in the order of their keys: List[*corev1.Pod](c). It panics for a type that is not of
// k8s.io/api; see [Cluster.Objects].
func List[T api.Object](c *Cluster) []T {
	var none T
	kind := api.KindOf(none)
	if kind == "" {
		panic(fmt.Sprintf("volsim.List: %T is not a type of k8s.io/api; use Cluster.Objects, or a client whose scheme has the type (controllerruntime.NewClient)", none))
	}
	return Table[T]{converted[T]{c.engine.Store(), kind}}.List()
}

// withNamespace adds the namespace default to the key of an object that needs one.
func withNamespace(namespaced bool, key string) string {
	if namespaced && !strings.Contains(key, "/") {
		return api.Key(metav1.NamespaceDefault, key)
	}
	return key
}

func (c *Cluster) withNamespace(kind api.Kind, key string) string {
	return withNamespace(c.namespaced(kind), key)
}

// namespaced reports whether objects of that kind have a namespace.
func (c *Cluster) namespaced(kind api.Kind) bool {
	known := c.engine.Store().Describe(kind)
	return known != nil && known.Namespaced
}

func copyOf[T api.Object](obj T) T { return obj.DeepCopyObject().(T) }
