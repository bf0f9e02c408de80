package explore

import (
	"cmp"
	"slices"
)

// small is a map with few entries, in the order of their keys. Copying one takes one allocation, and the past of a run is copied at nearly every
// state.
type small[K cmp.Ordered, V any] []smallEntry[K, V]

type smallEntry[K cmp.Ordered, V any] struct {
	key   K
	value V
}

// find returns the index of a key, or else the index that it would have.
func (s small[K, V]) find(key K) (int, bool) {
	from, to := 0, len(s)
	for from < to {
		if at := (from + to) / 2; s[at].key < key {
			from = at + 1
		} else {
			to = at
		}
	}
	return from, from < len(s) && s[from].key == key
}

// get returns the value of a key, the zero value if there is none.
func (s small[K, V]) get(key K) (value V) {
	if i, ok := s.find(key); ok {
		value = s[i].value
	}
	return value
}

func (s *small[K, V]) set(key K, value V) {
	i, ok := s.find(key)
	if ok {
		(*s)[i].value = value
		return
	}
	*s = slices.Insert(*s, i, smallEntry[K, V]{key, value})
}

func (s *small[K, V]) delete(key K) {
	if i, ok := s.find(key); ok {
		*s = slices.Delete(*s, i, i+1)
	}
}
