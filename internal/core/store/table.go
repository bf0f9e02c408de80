package store

import (
	"strconv"

	"github.com/tidwall/btree"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/seqmap"
	"github.com/volsim/volsim/internal/core/strategy"
)

// table is a Table.
type table[T api.Object] struct {
	store     *Store
	resource  resource
	strategy  *strategy.Of[T]
	admission admission[T]
	cells     seqmap.Map[cell[T], *cell[T]]
	order     btree.Map[string, *cell[T]] // the cells by key, except for the new ones
	fresh     []*cell[T]                  // that order does not have yet, and some that were removed since
	indexes   []*indexState[T]
	watchers  []*watch[T]
	tracker   Tracker[T]
	history   history[T]
	// validAnnotations are the annotations that passed validation last; see validateMetaUpdate.
	validAnnotations map[string]string
	// removed counts the removed objects by key, so that the next one of that name gets another uid.
	removed map[string]uint32
	// written counts the writes to the table, direct those that were not deferred. deferrer has writes that are not in the table yet; it is
	// nil for none. See DeferEvent.
	written, direct uint64
	deferrer        Deferrer
	// unread: admission of other kinds does not read the objects.
	unread bool
	// These are the memory of the first index, of the first watch, and of their lists. Most tables have no more.
	firstIndex    index[T]
	firstWatch    watch[T]
	listedIndexes [2]*indexState[T]
	listedWatches [2]*watch[T]
}

// cell contains one object of a table, as long as an object of that key exists.
type cell[T api.Object] struct {
	seqmap.Link[cell[T]]
	obj T
	// validMeta and validSpec say that the metadata, and everything else but the status, have passed validation: what an update shares
	// with them need not be validated again.
	validMeta, validSpec bool
	// latest is the number that Track's function keeps with the object.
	latest uint64
	// ordered: table.order has the cell. removed: the object was removed.
	ordered, removed bool
}

// prepare makes a zero table that of a kind.
func (t *table[T]) prepare(s *Store, kind api.Kind, rules *strategy.Of[T], admitted admission[T], history int) *table[T] {
	t.store, t.resource = s, resourceOf(kind)
	t.setRules(rules, admitted)
	t.indexes, t.watchers = t.listedIndexes[:0], t.listedWatches[:0]
	t.history.limit = max(history, 0)
	t.unread = kind == api.PersistentVolume || kind == api.PersistentVolumeClaim || kind == api.Pod
	return t
}

// setRules gives a table the rules of its kind: all of them, unless Config.AsGiven is set.
func (t *table[T]) setRules(rules *strategy.Of[T], admitted admission[T]) {
	t.strategy, t.admission = rules, admitted
	if t.store.asGiven {
		t.strategy, t.admission = rules.WithoutRules(), admission[T]{}
	}
}

// renew makes a table zero again, for another store. It keeps the memory of its map and lists.
func (t *table[T]) renew() {
	cells, fresh, changes := t.cells, t.fresh, t.history.changes
	cells.Clear()
	clear(fresh)
	clear(changes)
	*t = table[T]{cells: cells, fresh: fresh[:0], history: history[T]{changes: changes[:0]}}
}

// Kind returns the kind of the objects in the table.
func (t *table[T]) Kind() api.Kind { return t.resource.kind }

// Namespaced reports whether the objects have a namespace.
func (t *table[T]) Namespaced() bool { return t.resource.namespaced }

// GroupResource is the name of the resource.
func (t *table[T]) GroupResource() schema.GroupResource { return t.resource.groupResource() }

// Len returns the number of objects.
func (t *table[T]) Len() int { return t.whole().Len() }

func (t *table[T]) writes() uint64 { return t.written }

// Lookup returns the object with that key and whether it exists.
func (t *table[T]) Lookup(key string) (T, bool) {
	if c := t.whole().Get(key); c != nil {
		return c.obj, true
	}
	var none T
	return none, false
}

// LookupLatest is Lookup with the number that Track's function keeps with the object.
func (t *table[T]) LookupLatest(key string) (obj T, latest uint64, ok bool) {
	if c := t.whole().Get(key); c != nil {
		return c.obj, c.latest, true
	}
	return obj, 0, false
}

// LookupLatestNamed is LookupLatest for the key namespace/name. It does not allocate that string.
func (t *table[T]) LookupLatestNamed(namespace, name string) (obj T, latest uint64, ok bool) {
	if c := t.whole().GetNamed(namespace, name); c != nil {
		return c.obj, c.latest, true
	}
	return obj, 0, false
}

// cellOf returns the cell of the object with that name, or nil. It does not allocate a key.
func (t *table[T]) cellOf(meta *metav1.ObjectMeta) *cell[T] {
	return t.whole().GetNamed(meta.Namespace, meta.Name)
}

// Get returns the object with that key, or a NotFound error (API-022).
func (t *table[T]) Get(key string) (T, error) {
	obj, ok := t.Lookup(key)
	if !ok {
		return obj, t.notFound(key)
	}
	return obj, nil
}

// KeyOf is api.KeyOf. It allocates no string for an object that is in the table.
func (t *table[T]) KeyOf(obj T) string {
	if c := t.cellOf(metaOf(obj)); c != nil {
		return c.Key
	}
	return api.KeyOf(obj)
}

// List returns the objects in the order of their keys.
func (t *table[T]) List() []T {
	objs := make([]T, 0, t.whole().Len())
	t.inOrder().Scan(func(_ string, c *cell[T]) bool {
		objs = append(objs, c.obj)
		return true
	})
	return objs
}

// Load stores an object of another cluster unchanged, with its uid, timestamps, finalizers and status. It validates only that the object
// has a name, and sets defaults, so that every stored object has them (API-007). It replaces an object with the same key. The object gets
// a resourceVersion of this store, and a uid if it has none.
func (t *table[T]) Load(obj T) (T, error) {
	var none T
	if absent(obj) {
		return none, t.badRequest("load", "the object is nil")
	}
	obj = t.strategy.Shallow(obj)
	meta := metaOf(obj)
	if !t.resource.namespaced {
		meta.Namespace = ""
	}
	errs := validateMetaCreate(&metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace}, t.resource)
	if len(errs) > 0 && !t.store.asGiven {
		return none, t.invalid(meta.Name, errs)
	}
	if t.strategy.Defaults != nil {
		t.strategy.Defaults(obj)
	}
	if t.strategy.ValidateLoad != nil {
		if errs := t.strategy.ValidateLoad(obj); len(errs) > 0 {
			return none, t.invalid(meta.Name, errs)
		}
	}
	t.store.noteLoaded(t.resource.kind, meta.OwnerReferences)
	key := api.Key(meta.Namespace, meta.Name)
	if meta.UID == "" {
		meta.UID = newUID(t.resource.kind, key, t.removed[key])
	}
	if meta.CreationTimestamp.IsZero() {
		meta.CreationTimestamp = clock(t.store.now())
	}
	// API-006: only here can times with a fraction of a second get into metadata.
	meta.CreationTimestamp = *strategy.WholeSecond(&meta.CreationTimestamp)
	meta.DeletionTimestamp = strategy.WholeSecond(meta.DeletionTimestamp)
	if c := t.whole().Get(key); c != nil {
		c.validMeta, c.validSpec = false, false
		t.put(c, obj)
	} else {
		t.insert(key, obj, false)
	}
	return obj, nil
}

// inOrder returns the cells by key. Only a list needs them in order, so most Events and VolumeAttachments are never put in order.
func (t *table[T]) inOrder() *btree.Map[string, *cell[T]] {
	t.whole()
	for i, c := range t.fresh {
		if !c.removed {
			c.ordered = true
			t.order.Set(c.Key, c)
		}
		t.fresh[i] = nil
	}
	t.fresh = t.fresh[:0]
	return &t.order
}

// insert stores a new object with the next version and notifies watchers. valid reports that it has passed validation.
func (t *table[T]) insert(key string, obj T, valid bool) {
	if t.store.dry {
		return
	}
	t.store.objects++
	t.stamp(obj)
	t.add(key, obj, valid, t.store.version)
}

// add is insert for an object that has its version.
func (t *table[T]) add(key string, obj T, valid bool, version uint64) {
	c := &cell[T]{obj: obj, validMeta: valid, validSpec: valid}
	c.Key = key
	t.cells.Put(c)
	t.fresh = append(t.fresh, c)
	t.notify(c, &api.Change[T]{Type: api.Added, Key: key, Object: obj, Version: version})
}

// put replaces the object of a cell by obj, with the next version, and notifies watchers.
func (t *table[T]) put(c *cell[T], obj T) {
	old := c.obj
	if t.store.dry {
		metaOf(obj).ResourceVersion = metaOf(old).ResourceVersion
		return
	}
	t.stamp(obj)
	t.change(c, obj, t.store.version)
}

// change is put for an object that has its version.
func (t *table[T]) change(c *cell[T], obj T, version uint64) {
	old := c.obj
	c.obj = obj
	t.notify(c, &api.Change[T]{Type: api.Modified, Key: c.Key, Object: obj, Old: old, Version: version})
}

// stamp sets the resourceVersion of obj to the next version.
func (t *table[T]) stamp(obj T) {
	t.direct++
	metaOf(obj).ResourceVersion = strconv.FormatUint(t.nextVersion(), 10)
}

// nextVersion counts a write, and returns its version.
func (t *table[T]) nextVersion() uint64 {
	t.store.version++
	t.written++
	if !t.unread {
		t.store.read++
	}
	return t.store.version
}

// remove removes the object of a cell and notifies watchers (API-070, API-072). An object that is created later with the same key is
// another object: it has another uid, and watchers receive Added (API-075).
func (t *table[T]) remove(c *cell[T]) T {
	old := c.obj
	last := t.strategy.Shallow(old)
	if t.store.dry {
		return last
	}
	t.stamp(last)
	t.cells.Delete(c)
	var none T
	c.obj, c.removed = none, true
	if c.ordered {
		t.order.Delete(c.Key)
	} else if len(t.fresh) > 64 && len(t.fresh) > 4*t.cells.Len() {
		t.inOrder()
	}
	if t.removed == nil {
		t.removed = map[string]uint32{}
	}
	t.removed[c.Key]++
	t.store.objects--
	t.notify(c, &api.Change[T]{Type: api.Deleted, Key: c.Key, Object: last, Old: old, Version: t.store.version})
	if t.strategy.Removed != nil {
		t.strategy.Removed(last)
	}
	return last
}

// notify passes a change of the object of a cell to indexes, history and watchers.
func (t *table[T]) notify(c *cell[T], change *api.Change[T]) {
	for _, ix := range t.indexes {
		ix.apply(change)
	}
	t.history.add(change)
	if t.tracker != nil {
		t.tracker.Changed(*change, &c.latest)
	}
	for _, w := range t.watchers {
		w.deliver(change)
	}
}

func (t *table[T]) invalid(name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return newInvalid(t.resource, name, errs)
}

// metaOf returns the metadata of an object.
func metaOf[T api.Object](obj T) *metav1.ObjectMeta {
	// The kinds that are written most often need no dynamic dispatch.
	switch o := any(obj).(type) {
	case *corev1.PersistentVolume:
		return &o.ObjectMeta
	case *corev1.PersistentVolumeClaim:
		return &o.ObjectMeta
	case *corev1.Pod:
		return &o.ObjectMeta
	}
	return any(obj).(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}

// absent reports whether obj is a nil pointer.
func absent[T api.Object](obj T) bool {
	var none T
	return any(obj) == any(none)
}
