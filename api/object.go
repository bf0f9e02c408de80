package api

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is an API object: a pointer to a type of k8s.io/api, *corev1.PersistentVolume for example.
type Object interface {
	runtime.Object
	metav1.Object
}

// IsNil reports whether obj is nil, or a nil pointer of some type.
func IsNil(obj Object) bool {
	if obj == nil {
		return true
	}
	v := reflect.ValueOf(obj)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
