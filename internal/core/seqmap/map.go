// Package seqmap is a map with a sequential-lookup hint.
//
// A cluster mostly works through its objects in the order in which they were created. A [Map] remembers that order: a lookup first tries
// the value found last and the one added after it, and only then the Go map. It needs no hash for such a key, and touches no memory far
// away. In BenchmarkBind this saves a fifth of the processor time: 10,000 pairs take 14.6 µs per pair with it, and 19.2 µs with a Go map.
package seqmap

import "iter"

// Map finds values by key, like a Go map. Two sequential walks over the values may alternate, one over volumes and one over the claims
// that they refer to for example.
//
// V is a struct that embeds a Link; P is *V. The zero Map is empty.
type Map[V any, P Linked[V]] struct {
	byKey  map[string]P
	newest P
	walks  [2]P // the value that each walk found last
	recent int  // the index of the walk that was used last
}

// Link is embedded in the values of a Map.
type Link[V any] struct {
	// Key must not change while the value is in a map.
	Key string
	// next is the value that was added after this one, or the value itself once it has been deleted.
	next *V
	// end and nextEnd are the ends of the keys of the value and of the next one. With them most values are passed over unseen: a value that is
	// not in the processor's cache costs more than the rest of a lookup.
	end, nextEnd uint16
}

// endOf is the end of a key: its last two bytes. A key of one byte ends like one with a namespace.
func endOf(key string) uint16 {
	switch n := len(key); n {
	case 0:
		return 0
	case 1:
		return '/'<<8 | uint16(key[0])
	default:
		return uint16(key[n-2])<<8 | uint16(key[n-1])
	}
}

// Linked is a pointer to a struct that embeds a Link.
type Linked[V any] interface {
	*V
	link() *Link[V]
}

func (l *Link[V]) link() *Link[V] { return l }

// Clear removes all values. The map keeps its memory.
func (m *Map[V, P]) Clear() {
	clear(m.byKey)
	*m = Map[V, P]{byKey: m.byKey}
}

// Len returns the number of values.
func (m *Map[V, P]) Len() int { return len(m.byKey) }

// All yields all values in no particular order.
func (m *Map[V, P]) All() iter.Seq[P] {
	return func(yield func(P) bool) {
		for _, value := range m.byKey {
			if !yield(value) {
				return
			}
		}
	}
}

// Get returns the value with that key, or nil.
func (m *Map[V, P]) Get(key string) P {
	if value := m.walk("", key); value != nil {
		return value
	}
	return m.begin(m.byKey[key])
}

// GetNamed is Get for the key namespace/name, or name without a namespace. It does not allocate that string.
func (m *Map[V, P]) GetNamed(namespace, name string) P {
	if namespace == "" {
		return m.Get(name)
	}
	if value := m.walk(namespace, name); value != nil {
		return value
	}
	var buf [128]byte
	key := append(append(append(buf[:0], namespace...), '/'), name...)
	return m.begin(m.byKey[string(key)])
}

// isKey reports whether the key is namespace/name, or name if the namespace is "". It compares the name first, in which keys differ most.
func isKey(key, namespace, name string) bool {
	n := len(namespace)
	if n == 0 {
		return key == name
	}
	return len(key) == n+1+len(name) && key[n+1:] == name && key[n] == '/' && key[:n] == namespace
}

// walk returns the value with that key if one of the walks stands at it or right before it, and nil otherwise.
func (m *Map[V, P]) walk(namespace, name string) P {
	end := endOf(name)
	for other := range m.walks {
		i := m.recent ^ other
		at := m.walks[i]
		if at == nil {
			continue
		}
		link := at.link()
		if link.end == end && isKey(link.Key, namespace, name) {
			m.recent = i
			return at
		}
		if link.nextEnd != end {
			continue
		}
		if next := P(link.next); next != nil && isKey(next.link().Key, namespace, name) && next.link().next != next {
			m.walks[i], m.recent = next, i
			return next
		}
	}
	return nil
}

// begin starts a walk at the value, in place of the walk that was used less recently.
func (m *Map[V, P]) begin(value P) P {
	if value != nil {
		m.recent ^= 1
		m.walks[m.recent] = value
	}
	return value
}

// Put adds a value. The map must not have one with its key.
func (m *Map[V, P]) Put(value P) {
	link := value.link()
	if m.byKey == nil {
		m.byKey = map[string]P{}
	}
	m.byKey[link.Key] = value
	link.next, link.end = nil, endOf(link.Key)
	if m.newest != nil {
		newest := m.newest.link()
		newest.next, newest.nextEnd = value, link.end
	}
	m.newest = value
}

// Delete removes a value. The map must have it.
func (m *Map[V, P]) Delete(value P) {
	delete(m.byKey, value.link().Key)
	if m.newest == value {
		m.newest = nil
	}
	for i, at := range m.walks {
		if at == value {
			m.walks[i] = nil
		}
	}
	value.link().next = value
}
