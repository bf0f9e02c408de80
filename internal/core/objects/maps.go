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
	keys := make([]K, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
