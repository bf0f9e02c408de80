package engine

// lru is a map that retains the most recently used keys only. The order of use alone decides which key is evicted.
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

// use returns the value of key, or a new zero value, and whether the key was there. It makes the key the newest; if there are too many
// keys, the oldest is evicted. The pointer is valid until the next use.
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

// peek is use for an existing key; it does not change the order.
func (c *lru[K, V]) peek(key K) (*V, bool) {
	n, ok := c.nodes[key]
	if !ok {
		return nil, false
	}
	return &n.value, true
}
