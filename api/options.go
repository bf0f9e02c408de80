package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Subresource names the part of an object that a write changes, as the path of a request does.
type Subresource string

const (
	// Main is the object itself. A write to it leaves the status alone.
	Main Subresource = ""
	// Status is the subresource "status". A write to it leaves the spec alone.
	Status Subresource = "status"
)

// DeleteOptions changes how an object is deleted. The zero value sets no precondition and keeps the grace period of the object.
type DeleteOptions struct {
	// GracePeriodSeconds overrides the grace period of a pod, in seconds (API-062); default nil: the period in its spec. Other kinds
	// ignore it.
	GracePeriodSeconds *int64
	// UID is a precondition: another object of the same name is a Conflict (API-058). The default "" accepts any.
	UID types.UID
	// ResourceVersion is a precondition: another version of the object is a Conflict (API-058). The default "" accepts any.
	ResourceVersion string
	// PropagationPolicy says what becomes of the objects that the object owns: with Background they are deleted after it, with Foreground
	// before it, with Orphan they stay (API-059). The default "" is that of the kind: Orphan for Jobs and ReplicationControllers, else
	// Background.
	PropagationPolicy metav1.DeletionPropagation
}
