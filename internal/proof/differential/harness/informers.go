package harness

import (
	"slices"
	"strings"

	"k8s.io/client-go/tools/cache"
)

// InOrder is an informer whose lists have the order of keys. Unmodified, they come from maps.
type InOrder[L any] struct {
	cache.SharedIndexInformer
	// New makes a lister.
	New func(cache.Indexer) L
}

// NewInOrder returns the informer with the lists of its lister in the order of keys.
func NewInOrder[L any](informer cache.SharedIndexInformer, lister func(cache.Indexer) L) InOrder[L] {
	return InOrder[L]{SharedIndexInformer: informer, New: lister}
}

// Informer returns the informer.
func (s InOrder[L]) Informer() cache.SharedIndexInformer { return s }

// Lister returns a lister in the order of keys.
func (s InOrder[L]) Lister() L { return s.New(s.GetIndexer()) }

// GetIndexer returns the cache in the order of keys.
func (s InOrder[L]) GetIndexer() cache.Indexer {
	return Ordered(s.SharedIndexInformer.GetIndexer())
}

// Ordered returns a cache whose lists have the order of keys.
func Ordered(indexer cache.Indexer) cache.Indexer { return orderedIndexer{indexer} }

type orderedIndexer struct{ cache.Indexer }

func (s orderedIndexer) List() []any { return inKeyOrder(s.Indexer.List()) }

func (s orderedIndexer) Index(name string, obj any) ([]any, error) {
	found, err := s.Indexer.Index(name, obj)
	return inKeyOrder(found), err
}

func (s orderedIndexer) ByIndex(name, value string) ([]any, error) {
	found, err := s.Indexer.ByIndex(name, value)
	return inKeyOrder(found), err
}

func inKeyOrder(objects []any) []any {
	key := func(obj any) string {
		key, _ := cache.MetaNamespaceKeyFunc(obj) // an object of the API has one
		return key
	}
	slices.SortFunc(objects, func(a, b any) int { return strings.Compare(key(a), key(b)) })
	return objects
}
