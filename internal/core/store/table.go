package store

import (
	"iter"
	"strconv"

	"github.com/tidwall/btree"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/seqmap"
)

// Table holds the objects of one kind, ordered by key.
type Table[T api.Object] struct {
	store    *Store
	resource resource
	strategy strategy[T]
	cells    seqmap.Map[cell[T], *cell[T]]
	order    btree.Map[string, *cell[T]] // the cells by key
	indexes  []*index[T]
	watchers []*Watch[T]
	history  history[T]
	// validAnnotations are the annotations that passed validation last; see validateMetaUpdate.
	validAnnotations map[string]string
	// removed counts, by key, the objects of that name that are gone, so that the next one gets a uid of its own.
	removed map[string]uint32
}

// cell is where a table keeps one object, for as long as there is one of that key.
type cell[T api.Object] struct {
	seqmap.Place[cell[T]]
	obj       T
	validMeta bool // the metadata has passed validation; see validateMetaUpdate
}

func newTable[T api.Object](s *Store, kind api.Kind, strategy strategy[T], history int) *Table[T] {
	if s.asGiven {
		strategy = strategy.withoutRules()
	}
	t := &Table[T]{store: s, resource: resourceOf(kind), strategy: strategy, removed: map[string]uint32{}}
	t.history.limit = max(history, 0)
	s.tables[kind] = t
	return t
}

// Kind is the kind of the objects in the table.
func (t *Table[T]) Kind() api.Kind { return t.resource.kind }

// Len is the number of objects.
func (t *Table[T]) Len() int { return t.cells.Len() }

// Lookup returns the object of that key and whether there is one.
func (t *Table[T]) Lookup(key string) (T, bool) {
	if c := t.cells.Get(key); c != nil {
		return c.obj, true
	}
	var none T
	return none, false
}

// cellOf finds the cell of the object with that metadata, nil if there is none. It makes no key of its own.
func (t *Table[T]) cellOf(meta *metav1.ObjectMeta) *cell[T] {
	return t.cells.GetNamed(meta.Namespace, meta.Name)
}

// Get returns the object of that key, or a NotFound error (API-022).
func (t *Table[T]) Get(key string) (T, error) {
	obj, ok := t.Lookup(key)
	if !ok {
		return obj, t.notFound(key)
	}
	return obj, nil
}

// All walks the objects in the order of their keys. The table may be written to meanwhile: the walk goes on over what was there
// when it began.
func (t *Table[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, obj := range t.List() {
			if !yield(obj) {
				return
			}
		}
	}
}

// KeyOf is the key of an object. It is that of the function KeyOf, and makes no new string for an object that is in the table.
func (t *Table[T]) KeyOf(obj T) string {
	if c := t.cellOf(metaOf(obj)); c != nil {
		return c.Key
	}
	return api.KeyOf(obj)
}

// List returns the objects in the order of their keys.
func (t *Table[T]) List() []T {
	objs := make([]T, 0, t.cells.Len())
	t.order.Scan(func(_ string, c *cell[T]) bool {
		objs = append(objs, c.obj)
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
	key := api.Key(meta.Namespace, meta.Name)
	if meta.UID == "" {
		meta.UID = newUID(t.resource.kind, key, t.removed[key])
	}
	if meta.CreationTimestamp.IsZero() {
		meta.CreationTimestamp = clock(t.store.now())
	}
	// API-006: no other way leads a time of its own into an object's metadata.
	meta.CreationTimestamp = *wholeSecond(&meta.CreationTimestamp)
	meta.DeletionTimestamp = wholeSecond(meta.DeletionTimestamp)
	if c := t.cells.Get(key); c != nil {
		c.validMeta = false
		t.put(c, obj)
	} else {
		t.insert(key, obj, false)
	}
	return obj, nil
}

// insert stores obj as a new object under the next version and tells the watchers.
func (t *Table[T]) insert(key string, obj T, validMeta bool) {
	c := &cell[T]{obj: obj, validMeta: validMeta}
	c.Key = key
	t.cells.Put(c)
	t.order.Set(key, c)
	t.store.objects++
	t.stamp(obj)
	t.tell(&api.Change[T]{Type: api.Added, Key: key, Object: obj, Version: t.store.version})
}

// put stores obj under the next version in place of what the cell has and tells the watchers.
func (t *Table[T]) put(c *cell[T], obj T) {
	old := c.obj
	c.obj = obj
	t.stamp(obj)
	t.tell(&api.Change[T]{Type: api.Modified, Key: c.Key, Object: obj, Old: old, Version: t.store.version})
}

// stamp gives obj the next version.
func (t *Table[T]) stamp(obj T) {
	t.store.version++
	metaOf(obj).ResourceVersion = strconv.FormatUint(t.store.version, 10)
}

// remove takes the object out and tells the watchers (API-070, API-072). An object that is created under the same key later on is
// another one, with another uid, and Added (API-075).
func (t *Table[T]) remove(c *cell[T]) T {
	old := c.obj
	last := t.strategy.shallow(old)
	t.stamp(last)
	t.cells.Delete(c)
	var none T
	c.obj = none
	t.order.Delete(c.Key)
	t.removed[c.Key]++
	t.store.objects--
	t.tell(&api.Change[T]{Type: api.Deleted, Key: c.Key, Object: last, Old: old, Version: t.store.version})
	return last
}

func (t *Table[T]) tell(change *api.Change[T]) {
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
func metaOf[T api.Object](obj T) *metav1.ObjectMeta {
	// Those that are written most often are known at a glance.
	switch o := any(obj).(type) {
	case *corePV:
		return &o.ObjectMeta
	case *corePVC:
		return &o.ObjectMeta
	case *corePod:
		return &o.ObjectMeta
	}
	return any(obj).(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}

// absent reports whether obj is the nil of its type.
func absent[T api.Object](obj T) bool {
	var none T
	return any(obj) == any(none)
}
