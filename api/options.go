package api

import "k8s.io/apimachinery/pkg/types"

// Subresource names the part of an object that a write changes, as the path of a request does.
type Subresource string

const (
	// Main is the object itself. A write to it leaves the status alone.
	Main Subresource = ""
	// Status is the subresource "status". A write to it leaves the spec alone.
	Status Subresource = "status"
)

// CreateOptions changes how an object is created. The zero value is what a client sends by default.
type CreateOptions struct {
	// SkipValidation stores the object even if an API server would reject it as Invalid; default false. Defaults and admission still
	// apply. Use it to study what controllers do with objects that should not exist.
	SkipValidation bool
	// DryRun does everything except storing the object; default false.
	DryRun bool
}

// UpdateOptions changes how an object is updated. The zero value is what a client sends by default.
type UpdateOptions struct {
	// SkipValidation stores the object even if an API server would reject it as Invalid; default false. Conflicts, defaults and
	// admission still apply.
	SkipValidation bool
}

// DeleteOptions changes how an object is deleted. The zero value sets no precondition and keeps the grace period of the object.
type DeleteOptions struct {
	// GracePeriodSeconds overrides the grace period of a pod, in seconds (API-062); default nil: the period in its spec. Other kinds
	// ignore it.
	GracePeriodSeconds *int64
	// UID is a precondition: another object of the same name is a Conflict (API-058). The default "" accepts any.
	UID types.UID
	// ResourceVersion is a precondition: another version of the object is a Conflict (API-058). The default "" accepts any.
	ResourceVersion string
}
