package store

import (
	"github.com/volsim/volsim/api"
	"iter"
	"strconv"
)

// history keeps the newest changes of a table, so that a watch can begin in the past (API-074).
type history[T api.Object] struct {
	limit   int
	dropped uint64 // the version of the newest change that is no longer kept
	changes []api.Change[T]
	first   int // where the oldest change stands once the slice is full
}

func (h *history[T]) add(c *api.Change[T]) {
	switch {
	case h.limit == 0:
		h.dropped = c.Version
	case len(h.changes) < h.limit:
		h.changes = append(h.changes, *c)
	default:
		h.dropped = h.changes[h.first].Version
		h.changes[h.first] = *c
		h.first = (h.first + 1) % h.limit
	}
}

func (h *history[T]) since(version uint64) iter.Seq[api.Change[T]] {
	return func(yield func(api.Change[T]) bool) {
		for i := range h.changes {
			c := h.changes[(h.first+i)%len(h.changes)]
			if c.Version > version && !yield(c) {
				return
			}
		}
	}
}

// versionOf is an object's resourceVersion as a number, zero for one that was never stored.
func versionOf(obj api.Object) uint64 {
	if obj.GetResourceVersion() == "" {
		return 0 // the error of parsing nothing would be made for nothing
	}
	v, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return v
}
