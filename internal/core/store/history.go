package store

import (
	"iter"
	"strconv"

	"github.com/volsim/volsim/api"
)

// history keeps the newest changes of a table, so that a watch can begin in the past (API-074).
type history[T api.Object] struct {
	limit   int
	dropped uint64 // the version of the newest change that was dropped
	changes []api.Change[T]
	first   int // the index of the oldest change once the slice is full
}

// firstChanges is the number of changes for which there is room at first: most tables of a small cluster have few more.
const firstChanges = 4

func (h *history[T]) add(c *api.Change[T]) {
	switch {
	case h.limit == 0:
		h.dropped = c.Version
	case len(h.changes) < h.limit:
		if h.changes == nil {
			h.changes = make([]api.Change[T], 0, min(h.limit, firstChanges))
		}
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

// versionOf returns the resourceVersion of an object as a number, or zero if it was never stored.
func versionOf(obj api.Object) uint64 { return parseVersion(obj.GetResourceVersion()) }

func parseVersion(version string) uint64 {
	if version == "" {
		return 0 // spares the allocation of an error
	}
	v, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return v
}
