// Package predict simulates a change of a cluster that was loaded from a dump and reports its effects: which pods stop, which volumes are
// deleted with their data, what gets stuck, and when.
//
// It simulates the cluster twice, with the change and without it. Effects that occur in both are marked as independent of the change.
//
// The steps are the commands of scripts that change objects, as with kubectl, and what befalls nodes. The controllers of workloads act if the
// dump has the workload with all that it owns. Else a pod of a ReplicaSet or a StatefulSet is replaced by workloads.go.
package predict
