package engine

// lru lists the members of a cache in the order of their use, and evicts the least recently used one beyond its limit. The order of use
// alone decides. The zero value, with a limit, is empty.
type lru[V any, P cached[V]] struct {
	limit, len     int
	newest, oldest P
}

// membership is the place of a value in an lru. A value that is no member has none. The newest member is its own newer one, and the oldest its
// own older one.
type membership[V any] struct{ newer, older *V }

func (m *membership[V]) member() bool { return m.newer != nil }

// cached is a pointer to a value that may be in an lru. evict notifies it that it is no member any more.
type cached[V any] interface {
	*V
	membership() *membership[V]
	evict()
}

// use makes a value the newest member. If there are too many then, it evicts the oldest.
func (c *lru[V, P]) use(value P) {
	if c.newest == value {
		return
	}
	m := value.membership()
	if m.member() {
		c.remove(value)
	}
	*m = membership[V]{newer: value, older: value}
	if c.newest != nil {
		m.older = c.newest
		c.newest.membership().newer = value
	} else {
		c.oldest = value
	}
	c.newest = value
	c.len++
	if c.len > c.limit {
		oldest := c.oldest
		c.remove(oldest)
		oldest.evict()
	}
}

// remove removes a member.
func (c *lru[V, P]) remove(value P) {
	m := value.membership()
	newer, older := P(m.newer), P(m.older)
	*m = membership[V]{}
	c.len--
	switch {
	case newer == value && older == value:
		c.newest, c.oldest = nil, nil
	case newer == value:
		c.newest, older.membership().newer = older, older
	case older == value:
		c.oldest, newer.membership().older = newer, newer
	default:
		newer.membership().older, older.membership().newer = older, newer
	}
}
