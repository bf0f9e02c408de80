// Package api names what the API server of a simulated cluster stores, and describes the calls that are made to it.
//
// Objects are the Go types of k8s.io/api, or unstructured. This package adds what callers of the other packages need beside them:
//
//   - [Kind], [Key] and [Ref] name a kind, an object within its kind, and an object;
//   - [DeleteOptions] changes how an object is deleted;
//   - [Change] is one event of a watch;
//   - [Call], [Fault] and [Injector] describe a request and what goes wrong with it.
//
// Errors of the API server are those of k8s.io/apimachinery/pkg/api/errors: test them with IsNotFound, IsConflict, IsInvalid and so
// on. An object of a kind that the cluster does not know is the error [ErrUnknownKind].
package api
