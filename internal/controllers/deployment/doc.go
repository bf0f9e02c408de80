// Package deployment is the Deployment controller of kube-controller-manager.
//
// A Deployment has one ReplicaSet per pod template. A rollout adds pods to the set of the current template and removes them from the
// others, or, with the strategy Recreate, removes all old pods first (rolling.go). With a ReadWriteOnce volume a rolling update across
// nodes waits for itself: the new pod waits for the volume, and the old pod stays until the new one is available.
//
// The rules are DEP-001 to DEP-094 in docs/rules/workloads.md. Start reading in controller.go.
package deployment
