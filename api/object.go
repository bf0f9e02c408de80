package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is an API object: a pointer to a type of k8s.io/api, *corev1.PersistentVolume for example, or an
// *unstructured.Unstructured.
type Object interface {
	runtime.Object
	metav1.Object
}
