package store

import (
	"slices"

	"github.com/tidwall/btree"
)

// index finds the objects of a table by something other than their key.
type index[T Object] struct {
	values func(T) []string
	same   func(a, b T) bool       // nil if that is not known
	rows   *btree.BTreeG[indexRow] // nil until somebody asks
}

type indexRow struct{ value, key string }

func lessRow(a, b indexRow) bool {
	if a.value != b.value {
		return a.value < b.value
	}
	return a.key < b.key
}

// Index finds objects by a value that a function reads off them; see NewIndex.
type Index[T Object] struct {
	table *Table[T]
	index *index[T]
}

// NewIndex makes an index over the table. values lists the values an object is found under; it must depend on the object alone. The
// index is built when somebody asks for the first time, and costs nothing before.
func (t *Table[T]) NewIndex(values func(T) []string) *Index[T] {
	return t.NewIndexWith(values, nil)
}

// NewIndexWith is NewIndex with a function that sees at a glance that two versions of an object have the same values. It may say
// no although they have.
func (t *Table[T]) NewIndexWith(values func(T) []string, same func(a, b T) bool) *Index[T] {
	ix := &index[T]{values: values, same: same}
	t.indexes = append(t.indexes, ix)
	return &Index[T]{table: t, index: ix}
}

// Values is what an object is found under.
func (ix *Index[T]) Values(obj T) []string { return ix.index.values(obj) }

// Keys lists the keys of the objects found under the value, in order.
func (ix *Index[T]) Keys(value string) []string {
	if ix.index.rows == nil {
		ix.build()
	}
	var keys []string
	ix.index.rows.Ascend(indexRow{value: value}, func(row indexRow) bool {
		if row.value != value {
			return false
		}
		keys = append(keys, row.key)
		return true
	})
	return keys
}

func (ix *Index[T]) build() {
	ix.index.rows = btree.NewBTreeGOptions(lessRow, btree.Options{NoLocks: true})
	ix.table.order.Scan(func(key string, c *cell[T]) bool {
		ix.index.apply(&Change[T]{Type: Added, Key: key, Object: c.obj})
		return true
	})
}

// Left lists the values under which a change takes its object away.
func (ix *Index[T]) Left(c *Change[T]) []string {
	if c.Type == Added {
		return nil
	}
	if c.Type == Modified && ix.index.unchanged(c) {
		return nil
	}
	old := ix.index.values(c.Old)
	if c.Type == Deleted || len(old) == 0 {
		return old
	}
	now := ix.index.values(c.Object)
	if slices.Equal(old, now) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(old), func(value string) bool { return slices.Contains(now, value) })
}

func (ix *index[T]) unchanged(c *Change[T]) bool { return ix.same != nil && ix.same(c.Old, c.Object) }

func (ix *index[T]) apply(c *Change[T]) {
	if ix.rows == nil || c.Type == Modified && ix.unchanged(c) {
		return
	}
	var old, now []string
	if c.Type != Added {
		old = ix.values(c.Old)
	}
	if c.Type != Deleted {
		now = ix.values(c.Object)
	}
	// Most changes are about something else.
	if slices.Equal(old, now) {
		return
	}
	for _, value := range old {
		ix.rows.Delete(indexRow{value, c.Key})
	}
	for _, value := range now {
		ix.rows.Set(indexRow{value, c.Key})
	}
}
