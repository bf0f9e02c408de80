package api

// ChangeType says what happened to an object, in the words of the watch API.
type ChangeType string

// The types of changes (API-070).
const (
	Added    ChangeType = "ADDED"
	Modified ChangeType = "MODIFIED"
	Deleted  ChangeType = "DELETED"
)

// Change is one event of a watch.
type Change[T Object] struct {
	Type ChangeType
	// Key is the key of the object, as [KeyOf] returns it.
	Key string
	// Object is the new state. For a deleted object it is the last stored state with the resourceVersion of the deletion (API-072).
	Object T
	// Old is the state before the change; nil for an added object. An API server does not send it.
	Old T
	// Version is the resourceVersion of Object as a number.
	Version uint64
}
