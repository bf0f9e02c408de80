package api

import "errors"

// ErrUnknownKind is underneath the error for a document of a kind that a store does not hold.
var ErrUnknownKind = errors.New("kind not held here")
