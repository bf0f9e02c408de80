package api

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/internal/core/objkinds"
)

// Ref names an object of any kind.
type Ref struct {
	Kind Kind
	// Key is namespace/name, or name for kinds without a namespace.
	Key string
}

// RefTo returns the name of obj. For nil, or a nil pointer of some type, it returns the zero Ref.
func RefTo(obj Object) Ref {
	if v := reflect.ValueOf(obj); obj == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return Ref{}
	}
	return Ref{Kind: KindOf(obj), Key: KeyOf(obj)}
}

// String returns kind/key, PersistentVolumeClaim/default/data for example, or "" for the zero Ref.
func (r Ref) String() string {
	if r == (Ref{}) {
		return ""
	}
	return string(r.Kind) + "/" + r.Key
}

// Key returns the key of the object with that name: namespace/name, or name if the namespace is "".
func Key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// KeyOf returns the key of obj. It ignores the namespace of an object whose kind has none (API-009).
func KeyOf(obj Object) string {
	switch obj := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		return Key(obj.Namespace, obj.Name)
	case *corev1.Pod:
		return Key(obj.Namespace, obj.Name)
	case *storagev1.CSIStorageCapacity:
		return Key(obj.Namespace, obj.Name)
	case *corev1.Event:
		return Key(obj.Namespace, obj.Name)
	case *corev1.PersistentVolume, *corev1.Node, *storagev1.StorageClass, *storagev1.VolumeAttachment, *storagev1.CSIDriver, *storagev1.CSINode,
		*storagev1.VolumeAttributesClass:
		return obj.GetName()
	}
	// API-009: the namespace of a cluster-scoped object is ignored. The store clears it for kinds of CustomResourceDefinitions.
	if kind := objkinds.Get(string(KindOf(obj))); kind != nil && !kind.Namespaced {
		return obj.GetName()
	}
	return Key(obj.GetNamespace(), obj.GetName())
}
