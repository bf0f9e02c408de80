// Package kubectl runs the kubectl of Kubernetes v1.36.3 against the API server of a simulated cluster, and compares what it prints with
// transcripts of a real cluster.
package kubectl
