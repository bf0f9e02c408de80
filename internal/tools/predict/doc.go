// Package predict simulates a change of a cluster that was loaded from a dump and reports its effects: which pods stop, which volumes are
// deleted with their data, what gets stuck, and when.
//
// It simulates the cluster twice, with the change and without it. Effects that occur in both are marked as independent of the change.
//
// Parts of Kubernetes that decide about pods and that volsim does not simulate have simple replacements here (workloads.go): the node
// lifecycle controller, which marks a node without heartbeats as not ready and evicts its pods, and ReplicaSets and StatefulSets, which
// replace deleted pods. Disruption budgets, Jobs and DaemonSets are not simulated.
package predict
