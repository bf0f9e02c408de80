package api

// ChangeType says what happened to an object, in the API's words.
type ChangeType string

// The types of changes (API-070).
const (
	Added    ChangeType = "ADDED"
	Modified ChangeType = "MODIFIED"
	Deleted  ChangeType = "DELETED"
)
