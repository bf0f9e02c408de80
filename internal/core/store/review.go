package store

import (
	"fmt"

	"github.com/volsim/volsim/api"
)

// Reviewer is asked about writes, as the admission webhooks of a cluster are.
type Reviewer interface {
	// Mutate returns the object of a write as it is to be stored: that of w, or another one of its Go type, which the store owns. It is called
	// when the rest of the admission has completed the object, and again if the first call changed it. changed tells the store that.
	Mutate(w Write) (obj api.Object, changed bool, err error)
	// Validate refuses a valid write with its error.
	Validate(w Write) error
	// Number returns the number for a generated name, given the one that the store would take.
	Number(n uint64) uint64
}

// Write is a write that a Reviewer is asked about. Its objects are read only.
type Write struct {
	Kind        api.Kind
	Subresource api.Subresource
	// Object is nil for a delete, Old for a create.
	Object, Old api.Object
	// Grace is the grace period of a delete in seconds, nil for none.
	Grace *int64
	// Last says that the object of a delete was marked, and is now removed. In a dry run that does not happen.
	Last bool
	// Again says that Mutate is called a second time.
	Again bool
	// Default sets the missing fields of an object that takes the place of Object.
	Default func(obj api.Object)
}

// Reviewed calls fn, and asks the reviewer about each object that fn writes. It is not asked about what such a write leads to in the store.
func (s *Store) Reviewed(r Reviewer, fn func()) {
	outer := s.reviewer
	s.reviewer = r
	defer func() { s.reviewer = outer }()
	fn()
}

// reviewCreate lets the reviewer change a new object. The rest of the admission completes what it changed.
func (t *table[T]) reviewCreate(obj T, opts CreateOptions) (T, error) {
	w := Write{Kind: t.resource.kind, Object: obj}
	obj, changed, err := t.mutated(w)
	if err != nil || !changed {
		return obj, err
	}
	// API-389: a container that a webhook adds gets the defaults of a LimitRange, too.
	if err := t.admitNew(obj, opts); err != nil {
		return obj, err
	}
	w.Object, w.Again = obj, true
	obj, _, err = t.mutated(w)
	return obj, err
}

// reviewUpdate lets the reviewer change an object that is about to replace old. The managers of its fields are known by then.
func (t *table[T]) reviewUpdate(obj, old T, sub api.Subresource) (T, error) {
	if t.strategy.Defaults != nil {
		t.strategy.Defaults(obj)
	}
	meta := metaOf(obj)
	meta.OwnerReferences = distinctOwners(meta.OwnerReferences)
	t.trackFields(obj, old, sub)
	w := Write{Kind: t.resource.kind, Subresource: sub, Object: obj, Old: old}
	obj, changed, err := t.mutated(w)
	if err != nil || !changed {
		return obj, err
	}
	w.Object, w.Again = obj, true
	obj, _, err = t.mutated(w)
	return obj, err
}

// mutated asks the reviewer for the object of a write.
func (t *table[T]) mutated(w Write) (T, bool, error) {
	w.Default = func(obj api.Object) {
		if typed, ok := obj.(T); ok && t.strategy.Defaults != nil {
			t.strategy.Defaults(typed)
		}
	}
	obj, changed, err := t.store.reviewer.Mutate(w)
	typed, ok := obj.(T)
	if err == nil && !ok && w.Object != nil {
		err = fmt.Errorf("%s: the reviewer returned %T", t.resource.kind, obj)
	}
	if ok && err == nil && w.Object != nil {
		meta := metaOf(typed)
		meta.OwnerReferences = distinctOwners(meta.OwnerReferences)
	}
	return typed, changed, err
}

// reviewValid asks the reviewer about a valid write.
func (t *table[T]) reviewValid(obj, old api.Object, sub api.Subresource) error {
	if t.store.reviewer == nil {
		return nil
	}
	return t.store.reviewer.Validate(Write{Kind: t.resource.kind, Subresource: sub, Object: obj, Old: old})
}

// reviewDelete asks the reviewer about the delete of an object.
func (t *table[T]) reviewDelete(obj T, grace *int64, last bool) error {
	if t.store.reviewer == nil {
		return nil
	}
	w := Write{Kind: t.resource.kind, Old: obj, Grace: grace, Last: last}
	if _, _, err := t.mutated(w); err != nil {
		return err
	}
	return t.store.reviewer.Validate(w)
}
