package store

import (
	"github.com/volsim/volsim/api"
)

// Converter knows what custom objects look like in each version of their kind. The objects that it is given are read only.
type Converter interface {
	// InVersionOf returns a stored object as clients read it in the version of like. It may return obj.
	InVersionOf(obj, like api.Object) (api.Object, error)
	// ToStorage returns obj in the version that objects of its kind are stored in.
	ToStorage(obj api.Object) (api.Object, error)
}

// UseConverter sets what custom objects look like: an update is compared with what clients read (API-457), and stored in the storage version
// (API-480). Without one, the default, objects are stored as they are written.
func (s *Store) UseConverter(c Converter) { s.converter = c }

// inVersionOf returns a stored object in the version of the object that is about to replace it.
func (t *table[T]) inVersionOf(stored, obj T) (T, error) {
	if t.store.converter == nil || !t.resource.custom {
		return stored, nil
	}
	return typedAs[T](t.store.converter.InVersionOf(stored, obj))
}

// toStorage returns an object that is about to be stored in the version for it. Everything that is checked before is checked in the version
// of the request (API-480).
func (t *table[T]) toStorage(obj T) (T, error) {
	t.encode(obj)
	if t.store.converter == nil || !t.resource.custom {
		return obj, nil
	}
	return typedAs[T](t.store.converter.ToStorage(obj))
}

// encode changes what the encoding of stored objects does not keep. The answer to a dry run shows it, too.
func (t *table[T]) encode(obj T) {
	if t.strategy.Encode != nil {
		t.strategy.Encode(obj)
	}
}

// typedAs returns an object in the Go type of a table.
func typedAs[T api.Object](obj api.Object, err error) (T, error) {
	typed, _ := obj.(T)
	return typed, err
}
