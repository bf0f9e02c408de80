package api

import (
	"errors"
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/internal/core/objkinds"
)

// Kind is the kind of an object: its name as in the field "kind" of a manifest, followed by a dot and the API group unless that is core or
// storage.k8s.io. Examples are Pod, StorageClass, Deployment.apps and Backup.example.com.
type Kind string

// ErrUnknownKind is underneath every error about an object whose kind the cluster does not know: one that is neither served by Kubernetes
// v1.36 nor defined by a CustomResourceDefinition in the cluster.
var ErrUnknownKind = errors.New("unknown kind")

// Kinds of which clusters have typed tables. Objects of other kinds are stored, too, and some of them have controllers, such as
// StatefulSet.apps; volsim's Cluster.StoredOnly lists those that have none.
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

// KindOf returns the kind of a Go object: by its type if that is one of k8s.io/api, else by its fields apiVersion and kind. It returns "" for
// an object without them.
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
	return otherKind(obj)
}

// otherKind is KindOf for kinds without a constant.
func otherKind(obj any) Kind {
	v := reflect.ValueOf(obj)
	if v.Kind() != reflect.Pointer {
		return ""
	}
	if kind := kindOfType(v.Type()); kind != "" {
		return kind
	}
	if o, ok := obj.(runtime.Object); ok && !v.IsNil() {
		if gvk := o.GetObjectKind().GroupVersionKind(); gvk.Kind != "" {
			return Kind(objkinds.Name(gvk.Group, gvk.Kind))
		}
	}
	return ""
}

// kindsOfTypes are the kinds of pointer types, "" for those that are not of k8s.io/api: reflect.Type to Kind. To look a type up by its name
// takes longer.
var kindsOfTypes sync.Map

func kindOfType(t reflect.Type) Kind {
	if known, ok := kindsOfTypes.Load(t); ok {
		return known.(Kind)
	}
	kind := Kind("")
	if gvk, ok := objkinds.OfType(t.Elem().PkgPath(), t.Elem().Name()); ok {
		kind = Kind(objkinds.Name(gvk.Group, gvk.Kind))
	}
	kindsOfTypes.Store(t, kind)
	return kind
}
