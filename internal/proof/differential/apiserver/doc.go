// Package apiserver connects client-go to a store: a Server is the API server of package internal/apiserver with an empty store behind it,
// with faults, and with a record of what was written. So the controllers of Kubernetes run unmodified.
package apiserver
