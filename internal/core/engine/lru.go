package engine

// lru is a map that keeps the most recently used keys only. Which one is dropped depends on the order of use alone.
type lru[K comparable, V any] struct {
	limit int
	nodes map[K]*lruNode[K, V]
	// ring is the list of nodes: ring.next is the newest, ring.prev the oldest.
	ring lruNode[K, V]
}

type lruNode[K comparable, V any] struct {
	next, prev *lruNode[K, V]
	key        K
	value      V
}

// use returns the value of key, a new zero one if there is none, and whether there was one. The key is now the newest; if that
// makes one too many, the oldest is dropped. The value stays at its place until the next use.
func (c *lru[K, V]) use(key K) (*V, bool) {
	if n, ok := c.nodes[key]; ok {
		n.prev.next, n.next.prev = n.next, n.prev
		c.first(n)
		return &n.value, true
	}
	if c.nodes == nil {
		c.nodes = map[K]*lruNode[K, V]{}
		c.ring.next, c.ring.prev = &c.ring, &c.ring
	}
	var n *lruNode[K, V]
	if len(c.nodes) < c.limit {
		n = &lruNode[K, V]{}
	} else {
		n = c.ring.prev
		n.prev.next, n.next.prev = n.next, n.prev
		delete(c.nodes, n.key)
		*n = lruNode[K, V]{}
	}
	n.key = key
	c.nodes[key] = n
	c.first(n)
	return &n.value, false
}

func (c *lru[K, V]) first(n *lruNode[K, V]) {
	n.prev, n.next = &c.ring, c.ring.next
	n.prev.next, n.next.prev = n, n
}

// look is use for a key that is there, and leaves the order as it is.
func (c *lru[K, V]) look(key K) (*V, bool) {
	n, ok := c.nodes[key]
	if !ok {
		return nil, false
	}
	return &n.value, true
}
