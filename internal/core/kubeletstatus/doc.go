// Package kubeletstatus works out what a kubelet says about pods and about its node.
//
// It looks at nothing but the objects it is given. Package mount writes what it says; so does the kubelet that stands around the real
// volume manager in internal/proof/differential.
package kubeletstatus
