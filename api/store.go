package api

import "reflect"
import "strings"

import corev1 "k8s.io/api/core/v1"
import storagev1 "k8s.io/api/storage/v1"

// Key is the name under which a table keeps an object: namespace/name, or name for kinds without a namespace.
func Key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// KeyOf is the key of an object. The namespace that an object of a kind without one may still name does not count (API-009).
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
	case *corev1.PersistentVolume:
		return obj.Name
	}
	return obj.GetName()
}

// SplitKey takes a key apart; namespace is "" for kinds without one.
func SplitKey(key string) (namespace, name string) {
	if i := strings.IndexByte(key, '/'); i >= 0 {
		return key[:i], key[i+1:]
	}
	return "", key
}

// IsNil reports whether obj is nil, or a nil pointer of some type.
func IsNil(obj Object) bool {
	if obj == nil {
		return true
	}
	v := reflect.ValueOf(obj)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
