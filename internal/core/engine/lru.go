package engine

// lru lists the members of a cache in the order of their use, and evicts the least recently used one beyond its limit. The order of use
// alone decides. The zero value, with a limit, is empty.
type lru struct {
	limit, len int
	// ring.next is the newest member, ring.prev the oldest.
	ring membership
}

// membership is the place of a value in an lru. A value that is no member has none.
type membership struct {
	next, prev *membership
	of         evicted
}

// evicted is notified that it is no member any more.
type evicted interface{ evict() }

// use makes a value the newest member. If there are too many then, it evicts the oldest.
func (c *lru) use(m *membership, of evicted) {
	if m.next != nil {
		m.leave()
	} else {
		m.of = of
		c.len++
	}
	if c.ring.next == nil {
		c.ring.next, c.ring.prev = &c.ring, &c.ring
	}
	m.prev, m.next = &c.ring, c.ring.next
	m.prev.next, m.next.prev = m, m
	if c.len > c.limit {
		oldest := c.ring.prev
		oldest.leave()
		c.len--
		oldest.of.evict()
	}
}

func (m *membership) leave() {
	m.prev.next, m.next.prev = m.next, m.prev
	m.prev, m.next = nil, nil
}

func (m *membership) member() bool { return m.next != nil }
