// Package sanity compares csitest with csi-sanity (github.com/kubernetes-csi/csi-test): both test the test driver of csi with each of its bugs,
// and the mock driver that Kubernetes uses in its e2e tests.
//
// The module is nested, so that volsim depends neither on csi-sanity nor on k8s.io/kubernetes.
package sanity
