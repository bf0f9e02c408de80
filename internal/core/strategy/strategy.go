// Package strategy has the rules of each kind that need nothing but its objects: defaults, resets of fields that a client must not set,
// validation, and which objects are equal. In Kubernetes these are the strategies of pkg/registry, with the defaults and the validation of
// pkg/apis.
//
// The variable of a kind is its strategy, such as [Pod]. Package store applies it to each write. Admission, which may look at the rest of the
// cluster, is in package store, too.
//
// Kinds with objects of a Go type have an [Of] of that type. The others are stored as data: for them a kind adds its rules to those of all
// kinds (typed.go). The file of a kind has its strategy and defaults; validation is there, too, or in the file that ends in _validate. Files that
// begin with pod_ are about parts of pods, which templates of workloads have as well.
//
// Rules: API-090 to API-245 of docs/rules/api.md, and those of the workloads.
package strategy

import (
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

// Of is the strategy for the objects of one kind. What all kinds share (metadata, versions, finalizers, watches) is the store's.
//
// Every function may replace fields of obj itself. It must not write through a pointer, map or slice in obj, which may belong to a stored
// object, but copies it first. old is a stored object and read only. A nil function does nothing.
type Of[T api.Object] struct {
	// Shallow returns a copy of the struct that obj points to. Pointers, maps and slices in it are shared.
	Shallow func(obj T) T

	// Defaults sets missing fields (API-090 and following). It runs on every create, update and update of the status.
	Defaults func(obj T)
	// PrepareCreate resets fields that a client must not set (API-105 and following). It runs after admission.
	PrepareCreate func(obj T, now metav1.Time)
	// Sync, if set, sets fields of a new object that old clients write as annotations, before PrepareCreate, and returns warnings about them. The
	// user sees them even if the object is not valid.
	Sync func(obj T) []string
	// PrepareUpdate restores fields that an update of the main resource must not change, such as the status (API-210, API-216).
	PrepareUpdate func(obj, old T)
	// PrepareStatus does the same for the status subresource (API-240 and following).
	PrepareStatus func(obj, old T, now metav1.Time)

	// ValidateName returns what is wrong with the name of a new object besides its form. It comes before all other errors.
	ValidateName func(obj T) field.ErrorList
	// These validate the fields of their kind. The store validates metadata (API-032 to API-042), except for annotations with a
	// meaning. ValidateUpdate repeats the validation of a new object as far as upstream does.
	ValidateCreate func(obj T) field.ErrorList
	ValidateUpdate func(obj, old T) field.ErrorList
	ValidateStatus func(obj, old T) field.ErrorList
	// ValidateLoad, if set, validates what the controllers need of an object that is loaded as it is.
	ValidateLoad func(obj T) field.ErrorList
	// Warn, if set, returns the warnings about a valid object; old is nil for a new one.
	Warn func(obj, old T) []string
	// Encode, if set, changes what the encoding of stored objects does not keep: empty lists that become null (API-547). It runs after
	// validation and admission, which see what was sent.
	Encode func(obj T)
	// Parts are the subresources that change a part of the spec.
	Parts map[api.Subresource]Part[T]
	// SpecShared, if set, reports whether an update leaves everything that ValidateUpdate reads as it is, in the same memory. The store
	// then skips ValidateUpdate if the stored object is valid. It may return false for an update that changes nothing.
	//
	// In BenchmarkBind/pairs=10000 it saves 1.3 µs of the 16 µs per pair.
	SpecShared func(obj, old T) bool

	// Keeps reports whether an object that is being deleted stays although it has no finalizers in its metadata.
	Keeps func(obj T) bool
	// Removed, if set, is called after an object was removed and watchers know.
	Removed func(obj T)
	// Equal reports whether both would be stored as the same bytes, except for metadata (API-014). Equal quantities in different
	// notations are different bytes (API-083); nil and empty are the same.
	Equal func(a, b T) bool
	// SpecChanged reports whether an update raises generation (API-030). It is nil for kinds without generation.
	SpecChanged func(obj, old T) bool
}

// WithoutRules returns the strategy for Config.AsGiven. It still separates the status from the rest, and detects writes that change
// nothing.
func (s *Of[T]) WithoutRules() *Of[T] {
	return &Of[T]{
		Shallow:       s.Shallow,
		PrepareUpdate: s.PrepareUpdate,
		PrepareStatus: s.PrepareStatus,
		Parts:         s.Parts,
		Keeps:         s.Keeps,
		Equal:         s.Equal,
		SpecChanged:   s.SpecChanged,
	}
}
