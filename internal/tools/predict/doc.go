// Package predict simulates a change of a cluster that was loaded from a dump and reports its effects: which pods stop, which volumes are
// deleted with their data, what gets stuck, and when.
//
// It simulates the cluster twice, with the change and without it. Effects that occur in both are marked as independent of the change.
//
// ReplicaSets and StatefulSets, which replace deleted pods, have simple replacements here (workloads.go). Disruption budgets, Jobs and
// DaemonSets are not simulated.
package predict
