package engine

import "hash/maphash"

// keySet finds the keys that are queued or worked on. It is a hash table with chains through the records of the keys: adding a key hashes it once, and
// removing it does not hash it at all. A Go map needs three accesses for that, and three times the memory.
type keySet struct {
	chains []*queued // their number is a power of two, or zero
	len    int
	unused *queued  // records without a key, in a chain
	idle   int      // how many these are
	fresh  []queued // memory for further records
}

// queued is a key in a queue.
type queued struct {
	key     string
	hash    uint32
	dirty   bool // it needs work, or more work
	working bool
	next    *queued // in its chain
}

// keySeed affects only which keys share a chain. No result depends on it: all has no order, and its callers sort.
var keySeed = maphash.MakeSeed()

// recordsAtOnce is the number of records of a block of memory, of all but the first ones.
const recordsAtOnce = 64

// recordsIdle is the number of unused records, and of chains, that an empty set retains.
const recordsIdle = 4096

// get returns the record of a key, nil if the set does not have it.
func (s *keySet) get(key string) *queued {
	if s.len == 0 {
		return nil
	}
	return s.find(key, uint32(maphash.String(keySeed, key)))
}

func (s *keySet) find(key string, hash uint32) *queued {
	item := s.chains[hash&uint32(len(s.chains)-1)]
	for item != nil && (item.hash != hash || item.key != key) {
		item = item.next
	}
	return item
}

// add returns the record of a key, which is a new one if the set did not have it.
func (s *keySet) add(key string) *queued {
	hash := uint32(maphash.String(keySeed, key))
	if s.len > 0 {
		if item := s.find(key, hash); item != nil {
			return item
		}
	}
	if s.len == len(s.chains) {
		s.grow()
	}
	item := s.record()
	item.key, item.hash = key, hash
	s.link(item)
	s.len++
	return item
}

func (s *keySet) link(item *queued) {
	chain := &s.chains[item.hash&uint32(len(s.chains)-1)]
	item.next, *chain = *chain, item
}

// grow doubles the number of chains.
func (s *keySet) grow() {
	old := s.chains
	s.chains = make([]*queued, max(8, 2*len(old)))
	for _, item := range old {
		for item != nil {
			next := item.next
			s.link(item)
			item = next
		}
	}
}

// record returns an unused record.
func (s *keySet) record() *queued {
	if item := s.unused; item != nil {
		s.unused = item.next
		s.idle--
		return item
	}
	if len(s.fresh) == 0 {
		s.fresh = make([]queued, min(recordsAtOnce, 1+s.len))
	}
	item := &s.fresh[0]
	s.fresh = s.fresh[1:]
	return item
}

// remove removes the record of a key.
func (s *keySet) remove(item *queued) {
	at := &s.chains[item.hash&uint32(len(s.chains)-1)]
	for *at != item {
		at = &(*at).next
	}
	*at = item.next
	*item = queued{}
	s.len--
	if s.idle < recordsIdle {
		item.next, s.unused = s.unused, item
		s.idle++
	}
	if s.len == 0 && len(s.chains) > recordsIdle {
		*s = keySet{} // the memory of a burst is released
	}
}

// all lists the records, in no particular order.
func (s *keySet) all() []*queued {
	items := make([]*queued, 0, s.len)
	for _, item := range s.chains {
		for ; item != nil; item = item.next {
			items = append(items, item)
		}
	}
	return items
}
