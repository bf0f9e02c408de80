package objects

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objkinds"
)

// New returns an empty object of a simulated kind: one whose objects have their Go types in the store. It returns nil for other kinds.
func New(kind api.Kind) api.Object {
	switch kind {
	case api.PersistentVolume:
		return &corev1.PersistentVolume{}
	case api.PersistentVolumeClaim:
		return &corev1.PersistentVolumeClaim{}
	case api.StorageClass:
		return &storagev1.StorageClass{}
	case api.Pod:
		return &corev1.Pod{}
	case api.Node:
		return &corev1.Node{}
	case api.VolumeAttachment:
		return &storagev1.VolumeAttachment{}
	case api.CSIDriver:
		return &storagev1.CSIDriver{}
	case api.CSINode:
		return &storagev1.CSINode{}
	case api.VolumeAttributesClass:
		return &storagev1.VolumeAttributesClass{}
	case api.CSIStorageCapacity:
		return &storagev1.CSIStorageCapacity{}
	case api.Event:
		return &corev1.Event{}
	}
	return nil
}

// noMatch is the error of NoMatch. Its text is that of kubectl.
type noMatch struct{ meta.NoKindMatchError }

// NoMatch returns the error for an object of a kind that the server does not know (API-301).
func NoMatch(gvk schema.GroupVersionKind) error {
	err := &noMatch{meta.NoKindMatchError{GroupKind: gvk.GroupKind()}}
	if gvk.Version != "" {
		err.SearchedVersions = []string{gvk.Version}
	}
	return err
}

func (e *noMatch) Error() string {
	text := e.NoKindMatchError.Error()
	if objkinds.IsGroup(e.GroupKind.Group) {
		return text
	}
	return text + "; ensure CRDs are installed first"
}

// Is makes the error an api.ErrUnknownKind.
func (e *noMatch) Is(target error) bool { return target == api.ErrUnknownKind }
