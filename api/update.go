package api

// Subresource says which part of an object a write is about.
type Subresource string

const (
	// Main is the object itself, without its status.
	Main Subresource = ""
	// Status is the subresource of that name.
	Status Subresource = "status"
)
