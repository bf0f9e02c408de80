package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
import "k8s.io/apimachinery/pkg/runtime"

// Object is any object that a store holds: a pointer to a k8s.io/api type.
type Object interface {
	runtime.Object
	metav1.Object
}
