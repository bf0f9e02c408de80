// Package nodelifecycle simulates the node lifecycle controller of kube-controller-manager, which acts when nodes fail.
//
// # What Kubernetes does
//
// Every 5 s a pass compares each node with what the previous pass saw. A node whose kubelet has renewed neither its Lease nor its status for
// more than 50 s gets the condition Ready=Unknown, and its pods get Ready=False. Nodes that are not ready are queued for a NoExecute taint;
// the queue of each zone is limited in rate, depending on how many nodes of the zone are ready. Apart from passes, conditions are mirrored
// as NoSchedule taints whenever a node changes.
//
// # What is simulated
//
// All of it, with the default flags and feature gates of v1.36.3. A pass that would find nothing new is skipped; the others run at the ticks
// of the real loop. Leases are not stored: see package leases.
//
// # Where to start
//
//   - health.go: when a node counts as unresponsive.
//   - zones.go: the states of zones, and the rates of eviction.
//   - taints.go: which taints belong to which conditions.
//   - monitor.go: the pass. skipped_passes.go: which passes run.
//   - noexecute.go, taintqueue.go: NoExecute taints, limited in rate. noschedule.go: NoSchedule taints and labels. pods.go: Ready=False.
//
// Rules: docs/rules/node-lifecycle.md, NODE-001 to NODE-053.
package nodelifecycle
