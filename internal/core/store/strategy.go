package store

import (
	"time"

	"github.com/volsim/volsim/api"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type (
	corePV                = corev1.PersistentVolume
	corePVC               = corev1.PersistentVolumeClaim
	corePod               = corev1.Pod
	coreNode              = corev1.Node
	coreEvent             = corev1.Event
	storageClass          = storagev1.StorageClass
	volumeAttachment      = storagev1.VolumeAttachment
	csiDriver             = storagev1.CSIDriver
	csiNode               = storagev1.CSINode
	volumeAttributesClass = storagev1.VolumeAttributesClass
	csiStorageCapacity    = storagev1.CSIStorageCapacity
)

// strategy says what is particular to one kind on its way into the store. The table does what all kinds share:
// metadata, versions, finalizers, watches.
//
// Every function may replace fields of obj itself but must not write through a pointer, map or slice it finds there:
// those may belong to a stored object. What is to change inside is copied first. old is a stored object, read only.
// A nil function means that there is nothing to do.
type strategy[T api.Object] struct {
	// shallow returns a copy of the struct obj points to, sharing everything inside.
	shallow func(obj T) T

	// defaults fills what the author left out (API-090 and following). It runs on every body: create, update and status update.
	defaults func(obj T)
	// prepareCreate resets what a client may not set (API-105 and following). It runs after admission.
	prepareCreate func(obj T, now metav1.Time)
	// prepareUpdate carries over what an update of the main resource may not touch, status above all (API-210, API-216).
	prepareUpdate func(obj, old T)
	// prepareStatus does the same for the status subresource (API-240 and following).
	prepareStatus func(obj, old T, now metav1.Time)

	// admitCreate and admitUpdate are admission: admitCreate may change obj, both may refuse with an error of
	// k8s.io/apimachinery/pkg/api/errors (API-250 and following; API-224).
	admitCreate func(s *Store, obj T) error
	admitUpdate func(s *Store, obj, old T) error

	// The validations know the fields of their kind only; metadata (API-032 to API-042) is the table's business, save for the
	// name of an annotation with a meaning. validateUpdate repeats the create validation on obj as far as upstream does.
	validateCreate func(obj T) field.ErrorList
	validateUpdate func(obj, old T) field.ErrorList
	validateStatus func(obj, old T) field.ErrorList
	// equal reports whether both would be stored as the same bytes, metadata aside (API-014). Equal quantities of another
	// notation are not the same bytes (API-083); nil and empty are.
	equal func(a, b T) bool
	// specChanged reports whether generation has to rise (API-030); nil for kinds without generation.
	specChanged func(obj, old T) bool
}

// withoutRules is the strategy of a store that takes objects as they are given: what is left keeps status and the rest apart, and
// tells whether a write changes anything.
func (s strategy[T]) withoutRules() strategy[T] {
	return strategy[T]{
		shallow:       s.shallow,
		prepareUpdate: s.prepareUpdate,
		prepareStatus: s.prepareStatus,
		equal:         s.equal,
		specChanged:   s.specChanged,
	}
}

// clock is the time as the API server sees it: whole seconds (API-006).
func clock(now time.Time) metav1.Time {
	return metav1.NewTime(now.UTC().Truncate(time.Second))
}
