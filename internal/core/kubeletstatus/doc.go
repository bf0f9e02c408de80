// Package kubeletstatus computes the status that a kubelet reports for its pods and for its node.
//
// Its functions read their arguments only. Package mount writes the results, and so does the kubelet that runs the real volume manager in
// internal/proof/differential.
package kubeletstatus
