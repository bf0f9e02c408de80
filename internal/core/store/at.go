package store

import (
	"fmt"
	"slices"

	"github.com/volsim/volsim/api"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// At returns the objects that the table had at a version, in the order of their keys. It takes the changes since then back. A version that
// is older than the history of the store is the error Expired (410).
func (t *table[T]) At(version uint64) ([]T, error) {
	t.whole()
	if version < t.history.dropped {
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, t.history.dropped))
	}
	objs := t.List()
	for _, c := range slices.Backward(slices.Collect(t.history.since(version))) {
		i, found := slices.BinarySearchFunc(objs, c.Key, func(obj T, key string) int { return compareKeys(api.KeyOf(obj), key) })
		switch {
		case c.Type == api.Added && found:
			objs = slices.Delete(objs, i, i+1)
		case c.Type == api.Modified && found:
			objs[i] = c.Old
		case c.Type == api.Deleted && !found:
			objs = slices.Insert(objs, i, c.Old)
		}
	}
	return objs, nil
}

func compareKeys(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (t *table[T]) at(version uint64) ([]api.Object, error) {
	objs, err := t.At(version)
	if err != nil {
		return nil, err
	}
	list := make([]api.Object, len(objs))
	for i, obj := range objs {
		list[i] = obj
	}
	return list, nil
}

// At returns the objects of a kind at a version, as Table.At does.
func (s *Store) At(kind api.Kind, version uint64) ([]api.Object, error) {
	t, err := s.tableOf(kind)
	if err != nil {
		return nil, err
	}
	return t.at(version)
}

func (t *table[T]) watch(opts WatchOptions[api.Object], fn func(api.Change[api.Object])) (stop func(), err error) {
	typed := WatchOptions[T]{From: opts.From}
	if opts.Match != nil {
		typed.Match = func(obj T) bool { return opts.Match(obj) }
	}
	w, err := t.Watch(typed, func(c api.Change[T]) {
		change := api.Change[api.Object]{Type: c.Type, Key: c.Key, Object: c.Object, Version: c.Version}
		if c.Type != api.Added {
			change.Old = c.Old
		}
		fn(change)
	})
	if err != nil {
		return nil, err
	}
	return w.Stop, nil
}

// Watch calls fn for every change of objects of a kind, as Table.Watch does, until stop is called.
func (s *Store) Watch(kind api.Kind, opts WatchOptions[api.Object], fn func(api.Change[api.Object])) (stop func(), err error) {
	t, err := s.tableToWatch(kind)
	if err != nil {
		return nil, err
	}
	return t.watch(opts, fn)
}
