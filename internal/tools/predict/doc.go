// Package predict plays a change on a cluster that was loaded from a dump, and says what happens: which pods stop, which volumes are
// deleted with their data, what hangs, and when.
//
// The same cluster is played twice, with the change and without it; what happens in both would have happened anyway.
//
// Parts of Kubernetes that decide about pods, and are not simulated elsewhere, are played by simple stand-ins (outside.go): the node
// lifecycle controller, which notices that a node is not heard of and evicts its pods, and ReplicaSets and StatefulSets, which
// replace pods that are gone. Disruption budgets, Jobs and DaemonSets are left out.
package predict
