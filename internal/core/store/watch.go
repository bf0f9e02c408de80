package store

import (
	"fmt"

	"github.com/volsim/volsim/api"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// WatchOptions say where a watch begins and what it sees.
type WatchOptions[T api.Object] struct {
	// From is the version after which changes are delivered (API-074). Zero: an Added for every object that exists comes first.
	From uint64
	// Match selects objects, by labels or fields. A change that makes an object match is delivered as Added, one that ends it as
	// Deleted (API-073): so a pod that completes is a deletion for a scheduler that watches pods in other phases (API-076). Nil
	// matches all.
	Match func(T) bool
}

// Watch is a running watch.
type Watch[T api.Object] struct {
	table   *Table[T]
	from    uint64
	match   func(T) bool
	fn      func(api.Change[T])
	stopped bool
}

// Watch calls fn for every change from now on, in the order of versions, without gap or repetition (API-071), as part of the
// write itself: fn must not write to the store. A From that lies before the history the store keeps is the error Expired (410);
// with one that is still to come, changes up to it are not delivered.
func (t *Table[T]) Watch(opts WatchOptions[T], fn func(api.Change[T])) (*Watch[T], error) {
	if fn == nil {
		return nil, fmt.Errorf("store: watch %s: the function is nil", t.resource.plural)
	}
	w := &Watch[T]{table: t, from: opts.From, match: opts.Match, fn: fn}
	if opts.From == 0 {
		for obj := range t.All() {
			w.deliver(&api.Change[T]{Type: api.Added, Key: api.KeyOf(obj), Object: obj, Version: versionOf(obj)})
		}
	} else {
		// API-074: what is no longer known cannot be told.
		if opts.From < t.history.dropped {
			return nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", opts.From, t.history.dropped))
		}
		for change := range t.history.since(opts.From) {
			w.deliver(&change)
		}
	}
	t.watchers = append(t.watchers, w)
	return w, nil
}

// Stop ends the watch: fn is not called again. Stopping twice does nothing.
func (w *Watch[T]) Stop() {
	t := w.table
	w.stopped = true
	for i, other := range t.watchers {
		if other == w {
			t.watchers = append(t.watchers[:i:i], t.watchers[i+1:]...)
			return
		}
	}
}

func (w *Watch[T]) deliver(c *api.Change[T]) {
	// API-074: what comes is newer than where the watch began.
	if w.stopped || c.Version <= w.from {
		return
	}
	seen, ok := *c, true
	if w.match != nil {
		seen, ok = w.table.Select(seen, w.match)
	}
	if ok {
		w.fn(seen)
	}
}

// Select is what a change of the table looks like to somebody who sees the matching objects only (API-073): one that makes an
// object match is an Added, one that ends it a Deleted. It reports false if there is nothing to see.
func (t *Table[T]) Select(c api.Change[T], match func(T) bool) (api.Change[T], bool) {
	return t.Selected(c, c.Type != api.Added && match(c.Old), c.Type != api.Deleted && match(c.Object))
}

// Selected is Select for somebody who knows already whether the object matched before the change and whether it does after it.
func (t *Table[T]) Selected(c api.Change[T], before, after bool) (api.Change[T], bool) {
	// API-073: the selector decides what the change looks like from here.
	var none T
	switch {
	case before && after, before && c.Type == api.Deleted:
		return c, true
	case before:
		last := t.strategy.shallow(c.Old)
		metaOf(last).ResourceVersion = metaOf(c.Object).ResourceVersion
		return api.Change[T]{Type: api.Deleted, Key: c.Key, Object: last, Old: c.Old, Version: c.Version}, true
	case after:
		return api.Change[T]{Type: api.Added, Key: c.Key, Object: c.Object, Old: none, Version: c.Version}, true
	}
	return api.Change[T]{}, false
}
