package controllerruntime

import (
	"cmp"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// newSortedInformer is cache.NewSharedIndexInformer with a sorted index. Otherwise the index gives objects in the order of a Go map: to
// lists of the cache, and to handlers that are added after the first list.
func newSortedInformer(lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	informer := cache.NewSharedIndexInformer(lw, example, resync, indexers)
	field := reflect.ValueOf(informer).Elem().FieldByName("indexer")
	settable := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
	settable.Set(reflect.ValueOf(cache.Indexer(sortedIndexer{informer.GetIndexer()})))
	return orderedInformer{informer}
}

// orderedInformer is an informer whose new handlers are not synced at once. They get the objects that exist in a goroutine of their own; a
// controller asks at the same instant whether they have them, and asks again after 100 ms. Which of the two comes first depends on the Go
// scheduler.
type orderedInformer struct{ cache.SharedIndexInformer }

func (o orderedInformer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return registered(o.SharedIndexInformer.AddEventHandler(h))
}

func (o orderedInformer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, resync time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return registered(o.SharedIndexInformer.AddEventHandlerWithResyncPeriod(h, resync))
}

func (o orderedInformer) AddEventHandlerWithOptions(h cache.ResourceEventHandler, opts cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return registered(o.SharedIndexInformer.AddEventHandlerWithOptions(h, opts))
}

func (o orderedInformer) RemoveEventHandler(handle cache.ResourceEventHandlerRegistration) error {
	if r, ok := handle.(registration); ok {
		handle = r.ResourceEventHandlerRegistration
	}
	return o.SharedIndexInformer.RemoveEventHandler(handle)
}

// registration is that of a handler.
type registration struct {
	cache.ResourceEventHandlerRegistration
	since time.Time
}

func registered(r cache.ResourceEventHandlerRegistration, err error) (cache.ResourceEventHandlerRegistration, error) {
	if err != nil {
		return nil, err
	}
	return registration{r, time.Now()}, nil
}

// HasSynced is false until time has passed: by then all goroutines have done what they could.
func (r registration) HasSynced() bool {
	return time.Now().After(r.since) && r.ResourceEventHandlerRegistration.HasSynced()
}

// sortedIndexer is an index that lists objects and keys in the order of keys.
type sortedIndexer struct{ cache.Indexer }

func (s sortedIndexer) List() []any { return sorted(s.Indexer.List()) }

func (s sortedIndexer) ListKeys() []string { return slices.Sorted(slices.Values(s.Indexer.ListKeys())) }

func (s sortedIndexer) Index(name string, obj any) ([]any, error) {
	objs, err := s.Indexer.Index(name, obj)
	return sorted(objs), err
}

func (s sortedIndexer) ByIndex(name, value string) ([]any, error) {
	objs, err := s.Indexer.ByIndex(name, value)
	return sorted(objs), err
}

func (s sortedIndexer) IndexKeys(name, value string) ([]string, error) {
	keys, err := s.Indexer.IndexKeys(name, value)
	return slices.Sorted(slices.Values(keys)), err
}

func (s sortedIndexer) ListIndexFuncValues(name string) []string {
	return slices.Sorted(slices.Values(s.Indexer.ListIndexFuncValues(name)))
}

// sorted returns objects in the order of their keys.
func sorted(objs []any) []any {
	keys := make(map[any]string, len(objs))
	for _, obj := range objs {
		keys[obj], _ = cache.MetaNamespaceKeyFunc(obj) // every object in an index has a key
	}
	out := slices.Clone(objs)
	slices.SortFunc(out, func(a, b any) int { return cmp.Compare(keys[a], keys[b]) })
	return out
}
