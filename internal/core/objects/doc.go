// Package objects reads and edits API objects as several controllers of Kubernetes and its API server do: annotations and finalizers with
// a meaning, the class of a claim, the claims of a pod, the names of volumes, node affinity, the status of an expansion.
//
// Its functions are pure: they read their arguments and nothing else. It imports only packages api, storage and backends, so the store
// and all controllers can use it.
package objects
