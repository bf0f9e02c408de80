package api

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Kind is the kind of an object, spelled as in the field "kind" of a manifest.
type Kind string

// ErrUnknownKind is underneath every error about an object whose kind is not simulated, a Deployment for example.
var ErrUnknownKind = errors.New("not simulated")

// The kinds that are simulated.
const (
	PersistentVolume      Kind = "PersistentVolume"
	PersistentVolumeClaim Kind = "PersistentVolumeClaim"
	StorageClass          Kind = "StorageClass"
	Pod                   Kind = "Pod"
	Node                  Kind = "Node"
	VolumeAttachment      Kind = "VolumeAttachment"
	CSIDriver             Kind = "CSIDriver"
	CSINode               Kind = "CSINode"
	VolumeAttributesClass Kind = "VolumeAttributesClass"
	CSIStorageCapacity    Kind = "CSIStorageCapacity"
	Event                 Kind = "Event"
)

// KindOf returns the kind of a Go object, or "" if its type is not that of a simulated kind.
func KindOf(obj any) Kind {
	switch obj.(type) {
	case *corev1.PersistentVolume:
		return PersistentVolume
	case *corev1.PersistentVolumeClaim:
		return PersistentVolumeClaim
	case *storagev1.StorageClass:
		return StorageClass
	case *corev1.Pod:
		return Pod
	case *corev1.Node:
		return Node
	case *storagev1.VolumeAttachment:
		return VolumeAttachment
	case *storagev1.CSIDriver:
		return CSIDriver
	case *storagev1.CSINode:
		return CSINode
	case *storagev1.VolumeAttributesClass:
		return VolumeAttributesClass
	case *storagev1.CSIStorageCapacity:
		return CSIStorageCapacity
	case *corev1.Event:
		return Event
	}
	return ""
}
