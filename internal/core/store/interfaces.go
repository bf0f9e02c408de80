package store

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
)

// Table holds the objects of one kind, ordered by key. Its methods are explained where type table has them.
//
// Table, Index and Watch are interfaces for the sake of the compiler. It compiles the methods of an instance of a generic struct again in each
// package that can reach the instance, also by way of fields of other types; with 11 kinds of objects these were 17 MB for each package that
// imports the engine.
type Table[T api.Object] interface {
	anyTable

	Kind() api.Kind
	Namespaced() bool
	// GroupResource is the name of the resource, also of a kind whose definition is gone.
	GroupResource() schema.GroupResource
	KeyOf(obj T) string

	Lookup(key string) (T, bool)
	LookupLatest(key string) (obj T, latest uint64, ok bool)
	LookupLatestNamed(namespace, name string) (obj T, latest uint64, ok bool)
	Get(key string) (T, error)
	List() []T

	Create(obj T) (T, error)
	CreateWith(obj T, opts CreateOptions) (T, error)
	Load(obj T) (T, error)
	Update(obj T) (T, error)
	UpdateStatus(obj T) (T, error)
	UpdateWith(obj T, sub api.Subresource, opts UpdateOptions) (T, error)
	Replace(obj T, sub api.Subresource) (T, error)
	Patch(key string, patch []byte, sub api.Subresource) (T, error)
	PatchWith(key string, change func(obj T) error, sub api.Subresource) (T, error)
	Delete(key string, opts api.DeleteOptions) (T, error)
	DeleteAll(match func(T) bool, opts api.DeleteOptions) (int, error)

	NewIndex(values func(obj T, list []string) []string) Index[T]
	NewIndexWith(values func(obj T, list []string) []string, same func(a, b T) bool) Index[T]

	Watch(opts WatchOptions[T], fn func(api.Change[T])) (Watch, error)
	Track(tracker Tracker[T])
	Tracker() Tracker[T]
	Selected(c api.Change[T], before, after bool) (api.Change[T], bool)
}

// Index finds the objects of a table by values other than their key; see Table.NewIndex. Its methods are explained where type index has them.
type Index[T api.Object] interface {
	Values(obj T) []string
	Has(obj T, value string) bool
	Keys(value string) []string
	AppendKeys(list []string, value string) []string
	Objects(value string) []T
	Left(c api.Change[T]) []string
}

// Watch is a running watch.
type Watch interface {
	// Stop ends the watch: its function is not called again. Stopping twice does nothing.
	Stop()
}

// own returns the table behind the interface.
func own[T api.Object](t Table[T]) *table[T] { return t.(*table[T]) }
