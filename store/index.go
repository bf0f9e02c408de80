package store

import "github.com/tidwall/btree"

// index finds the objects of a table by something other than their key.
type index[T Object] struct {
	values func(T) []string
	rows   *btree.BTreeG[indexRow]
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

// NewIndex keeps an index over the table from now on. values lists the values an object is found under; it must depend on the
// object alone.
func (t *Table[T]) NewIndex(values func(T) []string) *Index[T] {
	ix := &index[T]{values: values, rows: btree.NewBTreeGOptions(lessRow, btree.Options{NoLocks: true})}
	for obj := range t.All() {
		ix.add(KeyOf(obj), obj)
	}
	t.indexes = append(t.indexes, ix)
	return &Index[T]{table: t, index: ix}
}

// Values is what an object is found under.
func (ix *Index[T]) Values(obj T) []string { return ix.index.values(obj) }

// Keys lists the keys of the objects found under the value, in order.
func (ix *Index[T]) Keys(value string) []string {
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

func (ix *index[T]) add(key string, obj T) {
	for _, value := range ix.values(obj) {
		ix.rows.Set(indexRow{value, key})
	}
}

func (ix *index[T]) apply(c Change[T]) {
	if c.Type != Added {
		for _, value := range ix.values(c.Old) {
			ix.rows.Delete(indexRow{value, c.Key})
		}
	}
	if c.Type != Deleted {
		ix.add(c.Key, c.Object)
	}
}
