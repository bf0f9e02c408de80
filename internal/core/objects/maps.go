package objects

import (
	"cmp"
	"slices"
)

// SortedKeys returns the keys of a map in ascending order, nil for an empty map.
func SortedKeys[M ~map[K]V, K cmp.Ordered, V any](m M) []K {
	if len(m) == 0 {
		return nil
	}
	return AppendSortedKeys(make([]K, 0, len(m)), m)
}

// AppendSortedKeys appends the keys of a map to an empty slice in ascending order, so that a caller can give the room for them.
func AppendSortedKeys[M ~map[K]V, K cmp.Ordered, V any](keys []K, m M) []K {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
