package store

import (
	"slices"
	"strconv"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/seqmap"
	"github.com/volsim/volsim/internal/core/strategy"
	corev1 "k8s.io/api/core/v1"
)

// Deferrer stores the Events that it has deferred, in the order of their versions; see DeferEvent.
type Deferrer interface{ StoreDeferred() }

// DeferEvent reserves the next version for an Event that nobody may ever read. Before the table of Events is read, watched, or written to in
// another way, the store calls by, which then passes the Event to StoreDeferred. Until then nothing about it can be observed but that the
// store's counters include it. isNew says that the table has no Event of that name.
//
// It returns false if the Event must be written at once, by Create or Replace, because its write could be seen or rejected. The name must be
// one that only the caller gives, so the first other write to the table ends all deferring.
func (s *Store) DeferEvent(namespace string, isNew bool, by Deferrer) (version uint64, ok bool) {
	t := own(s.Events)
	seen := t.direct > 0 || len(t.watchers) > 0 || t.tracker != nil || s.fields != nil || s.warned.to != nil ||
		slices.ContainsFunc(t.indexes, func(ix *indexState[*corev1.Event]) bool { return ix.byValue != nil })
	ruled := s.asGiven || s.dry || s.namespaces != nil || s.quotas != nil || !strategy.IsDNSLabel(namespace)
	if seen || ruled {
		return 0, false
	}
	if isNew {
		s.objects++
	}
	t.deferrer = by
	return t.nextVersion(), true
}

// StoreDeferred stores an Event under the version that was reserved for it, in place of the one of its name.
func (s *Store) StoreDeferred(event *corev1.Event, version uint64) {
	t := own(s.Events)
	key := api.Key(event.Namespace, event.Name)
	event.ResourceVersion = strconv.FormatUint(version, 10)
	if c := t.cells.Get(key); c != nil {
		t.change(c, event, version)
		return
	}
	event.UID = newUID(api.Event, key, t.removed[key])
	t.add(key, event, true, version)
}

// whole returns the cells of the table after the deferred writes. Everything that reads the table begins with it.
func (t *table[T]) whole() *seqmap.Map[cell[T], *cell[T]] {
	if by := t.deferrer; by != nil {
		t.deferrer = nil
		by.StoreDeferred()
	}
	return &t.cells
}
