// Package places finds things by key.
package seqmap

import "iter"

// Map finds things by key as a Go map does, and sooner if they are asked for in the order in which they came, or again. A cluster is
// mostly worked through in that order, and a key that need not be hashed need not be looked for in memory far away: among a million things
// that takes longer than all the rest of a lookup. Two walks through the things may take turns.
//
// P is what the map holds, a struct with a Place embedded; *P says so itself, as the second type. The zero Map is empty.
type Map[P any, H Holder[P]] struct {
	byKey  map[string]H
	newest H
	walks  [2]H // where things were found last
	recent int  // the one of the walks that was on last
}

// Place is embedded in what a Map holds.
type Place[P any] struct {
	// Key must not change while the thing is in a map.
	Key string
	// after is what came next into the map; the thing itself once it is out of the map.
	after *P
}

// Holder is a pointer to a struct with a Place.
type Holder[P any] interface {
	*P
	place() *Place[P]
}

func (p *Place[P]) place() *Place[P] { return p }

// Len is how many things there are.
func (m *Map[P, H]) Len() int { return len(m.byKey) }

// All yields all things, in no order that means anything.
func (m *Map[P, H]) All() iter.Seq[H] {
	return func(yield func(H) bool) {
		for _, thing := range m.byKey {
			if !yield(thing) {
				return
			}
		}
	}
}

// Get is the thing with that key, nil if there is none.
func (m *Map[P, H]) Get(key string) H {
	for turn := range m.walks {
		i := m.recent ^ turn
		at := m.walks[i]
		if at == nil {
			continue
		}
		place := at.place()
		if place.Key == key {
			m.recent = i
			return at
		}
		if next := H(place.after); next != nil && next.place().Key == key && next.place().after != next {
			m.walks[i], m.recent = next, i
			return next
		}
	}
	return m.found(m.byKey[key])
}

// GetNamed is Get for the key namespace/name, or name without a namespace. It does not make that string.
func (m *Map[P, H]) GetNamed(namespace, name string) H {
	if namespace == "" {
		return m.Get(name)
	}
	for turn := range m.walks {
		i := m.recent ^ turn
		at := m.walks[i]
		if at == nil {
			continue
		}
		place := at.place()
		if names(place.Key, namespace, name) {
			m.recent = i
			return at
		}
		if next := H(place.after); next != nil && names(next.place().Key, namespace, name) && next.place().after != next {
			m.walks[i], m.recent = next, i
			return next
		}
	}
	var buf [128]byte
	key := append(append(append(buf[:0], namespace...), '/'), name...)
	return m.found(m.byKey[string(key)])
}

// names reports whether the key is namespace/name. The name says most of it.
func names(key, namespace, name string) bool {
	n := len(namespace)
	return len(key) == n+1+len(name) && key[n+1:] == name && key[n] == '/' && key[:n] == namespace
}

// found begins a walk at a thing that was not on one of the two.
func (m *Map[P, H]) found(thing H) H {
	if thing != nil {
		m.recent ^= 1
		m.walks[m.recent] = thing
	}
	return thing
}

// Put adds a thing. There must be none with its key.
func (m *Map[P, H]) Put(thing H) {
	place := thing.place()
	if m.byKey == nil {
		m.byKey = map[string]H{}
	}
	m.byKey[place.Key] = thing
	place.after = nil
	if m.newest != nil {
		m.newest.place().after = thing
	}
	m.newest = thing
}

// Delete takes a thing out. It must be there.
func (m *Map[P, H]) Delete(thing H) {
	delete(m.byKey, thing.place().Key)
	if m.newest == thing {
		m.newest = nil
	}
	for i, at := range m.walks {
		if at == thing {
			m.walks[i] = nil
		}
	}
	thing.place().after = thing
}
