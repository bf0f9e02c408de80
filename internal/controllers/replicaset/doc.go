// Package replicaset is the ReplicaSet controller of kube-controller-manager, and its ReplicationController controller, which has the same
// code (RS-070).
//
// A set creates and deletes pods until it has as many active ones as it has replicas (RS-020). A pod that is being deleted is not active, so
// it has a successor at once, also on a dead node (RS-021): with a ReadWriteOnce volume the successor waits until that node is detached.
//
// The rules are RS-001 to RS-072 in docs/rules/workloads.md. Start reading in controller.go.
package replicaset
