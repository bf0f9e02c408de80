package store

import (
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
)

// FieldTracker returns the managedFields for obj, which is about to replace old; old is nil for a new object. It is called when the defaults
// are set, before admission. It must not modify either object.
type FieldTracker func(obj, old api.Object, sub api.Subresource) []metav1.ManagedFieldsEntry

// TrackFields maintains managedFields from now on. Without a tracker, the default, they are stored as clients send them.
func (s *Store) TrackFields(fn FieldTracker) { s.fields = fn }

// trackFields sets the managedFields of obj. old is the zero value for a new object.
func (t *table[T]) trackFields(obj, old T, sub api.Subresource) {
	if t.store.fields == nil {
		return
	}
	var before api.Object
	if !absent(old) {
		before = old
	}
	metaOf(obj).ManagedFields = t.store.fields(obj, before, sub)
}

// sameFields reports whether both have the same managedFields, apart from their times. It always does if they are not tracked.
func (s *Store) sameFields(a, b *metav1.ObjectMeta) bool {
	return s.fields == nil || slices.EqualFunc(a.ManagedFields, b.ManagedFields, func(a, b metav1.ManagedFieldsEntry) bool {
		a.Time, b.Time = nil, nil
		return reflect.DeepEqual(a, b)
	})
}
