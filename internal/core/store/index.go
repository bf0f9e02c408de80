package store

import (
	"slices"

	"github.com/tidwall/btree"
	"github.com/volsim/volsim/api"
	corev1 "k8s.io/api/core/v1"
)

// indexState has the keys of an index by value, and the functions that give the values.
type indexState[T api.Object] struct {
	values  func(obj T, list []string) []string
	same    func(a, b T) bool // see NewIndexWith; may be nil
	byValue map[string]filed  // nil until the first lookup
	// old and now are the memory of the values of the two versions in a change.
	old, now []string
}

// filed contains the keys under one value. Usually there is one.
type filed struct {
	only string
	all  *btree.Set[string] // nil for one
}

// index is an Index.
type index[T api.Object] struct {
	table *table[T]
	index indexState[T]
}

// NewIndex adds an index to the table. values appends the values under which an object is found to a list, and must depend on the object
// only. The index is built at the first lookup.
func (t *table[T]) NewIndex(values func(obj T, list []string) []string) Index[T] {
	return t.NewIndexWith(values, nil)
}

// NewIndexWith is NewIndex with a cheap function that reports that two versions of an object have the same values. It may return false
// for versions that have.
func (t *table[T]) NewIndexWith(values func(obj T, list []string) []string, same func(a, b T) bool) Index[T] {
	ix := &t.firstIndex
	if ix.table != nil {
		ix = &index[T]{}
	}
	ix.table, ix.index.values, ix.index.same = t, values, same
	t.indexes = append(t.indexes, &ix.index)
	return ix
}

// Values returns the values under which an object is found. The list is valid until the next call.
func (ix *index[T]) Values(obj T) []string {
	ix.index.old = ix.index.values(obj, ix.index.old[:0])
	return ix.index.old
}

// Has reports whether an object is found under the value.
func (ix *index[T]) Has(obj T, value string) bool { return slices.Contains(ix.Values(obj), value) }

// Keys returns the keys of the objects found under the value, in order.
func (ix *index[T]) Keys(value string) []string { return ix.AppendKeys(nil, value) }

// AppendKeys is Keys; it appends to a list.
func (ix *index[T]) AppendKeys(list []string, value string) []string {
	if ix.index.byValue == nil {
		ix.build()
	}
	f, ok := ix.index.byValue[value]
	switch {
	case !ok:
	case f.all == nil:
		list = append(list, f.only)
	default:
		f.all.Scan(func(key string) bool {
			list = append(list, key)
			return true
		})
	}
	return list
}

// Objects returns the objects found under the value, in the order of their keys.
func (ix *index[T]) Objects(value string) []T {
	var objs []T
	for _, key := range ix.Keys(value) {
		if obj, ok := ix.table.Lookup(key); ok {
			objs = append(objs, obj)
		}
	}
	return objs
}

func (ix *index[T]) build() {
	ix.index.byValue = map[string]filed{}
	ix.table.inOrder().Scan(func(key string, c *cell[T]) bool {
		ix.index.apply(&api.Change[T]{Type: api.Added, Key: key, Object: c.obj})
		return true
	})
}

// Left returns the values under which an object is no longer found after a change. The list is valid until the next call.
func (ix *index[T]) Left(c api.Change[T]) []string {
	if c.Type == api.Added {
		return nil
	}
	if c.Type == api.Modified && ix.index.unchanged(&c) {
		return nil
	}
	old, now := ix.index.versions(&c)
	if slices.Equal(old, now) {
		return nil
	}
	return slices.DeleteFunc(old, func(value string) bool { return slices.Contains(now, value) })
}

func (ix *indexState[T]) unchanged(c *api.Change[T]) bool {
	return ix.same != nil && ix.same(c.Old, c.Object)
}

func (ix *indexState[T]) apply(c *api.Change[T]) {
	if ix.byValue == nil || c.Type == api.Modified && ix.unchanged(c) {
		return
	}
	old, now := ix.versions(c)
	// Most changes do not affect the index.
	if slices.Equal(old, now) {
		return
	}
	for _, value := range old {
		ix.take(value, c.Key)
	}
	for _, value := range now {
		ix.file(value, c.Key)
	}
}

// versions returns the values of an object before and after a change. The lists are valid until the next call.
func (ix *indexState[T]) versions(c *api.Change[T]) (old, now []string) {
	ix.old, ix.now = ix.old[:0], ix.now[:0]
	if c.Type != api.Added {
		ix.old = ix.values(c.Old, ix.old)
	}
	if c.Type != api.Deleted {
		ix.now = ix.values(c.Object, ix.now)
	}
	return ix.old, ix.now
}

// file adds a key to a value.
func (ix *indexState[T]) file(value, key string) {
	f, ok := ix.byValue[value]
	switch {
	case !ok:
		ix.byValue[value] = filed{only: key}
	case f.all != nil:
		f.all.Insert(key)
	case f.only != key:
		both := &btree.Set[string]{}
		both.Insert(f.only)
		both.Insert(key)
		ix.byValue[value] = filed{all: both}
	}
}

// take removes a key from a value.
func (ix *indexState[T]) take(value, key string) {
	f := ix.byValue[value]
	if f.all == nil {
		if f.only == key {
			delete(ix.byValue, value)
		}
		return
	}
	if f.all.Delete(key); f.all.Len() == 0 {
		delete(ix.byValue, value)
	}
}

func nodeOf(pod *corev1.Pod, list []string) []string { return append(list, pod.Spec.NodeName) }

func sameNode(a, b *corev1.Pod) bool { return a.Spec.NodeName == b.Spec.NodeName }

// sameVolumes reports whether two versions of a pod share the memory of their list of volumes, and therefore use the same claims.
func sameVolumes(a, b *corev1.Pod) bool {
	x, y := a.Spec.Volumes, b.Spec.Volumes
	return len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0])
}
