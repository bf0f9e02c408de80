// Package backendtest checks that a storage backend implements the contract of package storage, which is that of CSI. Users call it through
// volsimtest.TestBackend.
//
// A check runs only if the backend supports the operations that it needs. Where CSI lets the driver decide, such as whether a second node
// may use a volume, nothing is checked. In-tree plugins have no error codes: any error counts as a rejection.
package backendtest
