// Package backendtest checks that storage backends keep the promises of package storage, which are those of CSI. Users call it through
// volsimtest.TestBackend.
//
// A check runs only if the backend supports what it needs. Where CSI leaves a refusal to the driver, such as for a second node, nothing is
// checked. In-tree plugins have no codes: any error counts as a refusal.
package backendtest
