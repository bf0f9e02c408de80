// Package statefulset is the StatefulSet controller of kube-controller-manager.
//
// A set has pods with ordinals, and a claim for each pod and claim template. With the policy OrderedReady the controller creates a pod when
// those before it are available, and deletes one when those after it are gone; with Parallel it does not wait (STS-020). A rolling update
// deletes the pods of an old revision from the last to the partition, one at a time (STS-040). A pod that is being deleted keeps its name, so
// on a dead node it blocks its successor (STS-022). The retention policy makes the set or a surplus pod an owner of the claims (STS-030).
//
// The gate MaxUnavailableStatefulSet is off by default, so maxUnavailable has no effect.
//
// The rules are STS-001 to STS-062 in docs/rules/workloads.md. Start reading in update.go.
package statefulset
