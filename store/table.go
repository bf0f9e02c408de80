package store

import (
	"iter"
	"strconv"

	"github.com/tidwall/btree"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Table holds the objects of one kind, ordered by key.
type Table[T Object] struct {
	store    *Store
	resource resource
	strategy strategy[T]
	rows     btree.Map[string, T]
	indexes  []*index[T]
	watchers []*Watch[T]
	history  history[T]
	// removed counts, by key, the objects of that name that are gone, so that the next one gets a uid of its own.
	removed map[string]uint32
}

func newTable[T Object](s *Store, kind Kind, strategy strategy[T], history int) *Table[T] {
	if s.asGiven {
		strategy = strategy.withoutRules()
	}
	t := &Table[T]{store: s, resource: resourceOf(kind), strategy: strategy, removed: map[string]uint32{}}
	t.history.limit = max(history, 0)
	s.tables[kind] = t
	return t
}

// Kind is the kind of the objects in the table.
func (t *Table[T]) Kind() Kind { return t.resource.kind }

// Len is the number of objects.
func (t *Table[T]) Len() int { return t.rows.Len() }

// Lookup returns the object of that key and whether there is one.
func (t *Table[T]) Lookup(key string) (T, bool) { return t.rows.Get(key) }

// Get returns the object of that key, or a NotFound error (API-022).
func (t *Table[T]) Get(key string) (T, error) {
	obj, ok := t.rows.Get(key)
	if !ok {
		return obj, t.notFound(key)
	}
	return obj, nil
}

// All walks the objects in the order of their keys. The table may be written to meanwhile: the walk goes on over what was there
// when it began.
func (t *Table[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		rows := t.rows.Copy()
		rows.Scan(func(_ string, obj T) bool { return yield(obj) })
	}
}

// List returns the objects in the order of their keys.
func (t *Table[T]) List() []T {
	objs := make([]T, 0, t.rows.Len())
	t.rows.Scan(func(_ string, obj T) bool {
		objs = append(objs, obj)
		return true
	})
	return objs
}

// Load stores an object as it is: uid, timestamps, finalizers, status and all, nothing validated but that it has a name. Defaults
// are filled in, so that whatever is read has them (API-007). An object of the same key is replaced. It is for bringing in the
// state of another cluster; the object gets a resourceVersion of this one, and a uid if it has none.
func (t *Table[T]) Load(obj T) (T, error) {
	var none T
	if absent(obj) {
		return none, t.badRequest("load", "the object is nil")
	}
	obj = t.strategy.shallow(obj)
	meta := metaOf(obj)
	if !t.resource.namespaced {
		meta.Namespace = ""
	}
	errs := validateMetaCreate(&metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace}, t.resource)
	if len(errs) > 0 && !t.store.asGiven {
		return none, t.invalid(meta.Name, errs)
	}
	if t.strategy.defaults != nil {
		t.strategy.defaults(obj)
	}
	key := Key(meta.Namespace, meta.Name)
	old, _ := t.rows.Get(key)
	if meta.UID == "" {
		meta.UID = newUID(t.resource.kind, key, t.removed[key])
	}
	if meta.CreationTimestamp.IsZero() {
		meta.CreationTimestamp = clock(t.store.now())
	}
	// API-006: no other way leads a time of its own into an object's metadata.
	meta.CreationTimestamp = *wholeSecond(&meta.CreationTimestamp)
	meta.DeletionTimestamp = wholeSecond(meta.DeletionTimestamp)
	t.put(key, obj, old)
	return obj, nil
}

// put stores obj under the next version and tells the watchers.
func (t *Table[T]) put(key string, obj, old T) {
	t.store.version++
	metaOf(obj).ResourceVersion = strconv.FormatUint(t.store.version, 10)
	t.rows.Set(key, obj)
	change := Change[T]{Type: Modified, Key: key, Object: obj, Old: old, Version: t.store.version}
	if absent(old) {
		change.Type = Added
		t.store.objects++
	}
	t.tell(change)
}

// remove takes the object out and tells the watchers (API-070, API-072). An object that is created under the same key later on is
// another one, with another uid, and Added (API-075).
func (t *Table[T]) remove(key string, old T) T {
	t.store.version++
	last := t.strategy.shallow(old)
	metaOf(last).ResourceVersion = strconv.FormatUint(t.store.version, 10)
	t.rows.Delete(key)
	t.removed[key]++
	t.store.objects--
	t.tell(Change[T]{Type: Deleted, Key: key, Object: last, Old: old, Version: t.store.version})
	return last
}

func (t *Table[T]) tell(change Change[T]) {
	for _, ix := range t.indexes {
		ix.apply(change)
	}
	t.history.add(change)
	for _, w := range t.watchers {
		w.deliver(change)
	}
}

func (t *Table[T]) invalid(name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return newInvalid(t.resource, name, errs)
}

// metaOf is the metadata of an object, for reading and writing.
func metaOf[T Object](obj T) *metav1.ObjectMeta {
	return any(obj).(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}

// absent reports whether obj is the nil of its type.
func absent[T Object](obj T) bool {
	var none T
	return any(obj) == any(none)
}
