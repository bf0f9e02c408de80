// Package schedule finds nodes for pods, as far as their volumes decide.
//
// In a cluster this is kube-scheduler. It takes one pod at a time from a queue, filters the nodes through plugins, picks one, reserves
// the volumes that the pod's unbound claims will get, and goes on with the next pod, while a binding cycle of its own writes these
// choices to the API, waits until the PersistentVolume controller or a provisioner has bound every claim, and then gives the pod its
// node. A pod that fits nowhere waits until something happens that may help it.
//
// All of that is simulated here with the plugins VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone whole. Of the
// others there is what decides whether a node is open to a pod at all: NodeUnschedulable, TaintToleration, NodeAffinity and
// NodeResourcesFit, the last with one difference: a node that does not say how much of a resource it has, has enough. Preemption
// evicts pods of lower priority, without disruption budgets.
//
// Left out: scores, for volumes have none (SCHED-120), so that the first node by name wins unless Config.Score says otherwise;
// spreading, pod affinity, ports, resource claims, extenders and pod groups; the translation of in-tree volumes for CSI migration.
// The scheduler looks at taints, not at the conditions of nodes: nothing here taints a node that is not ready.
//
// The rules are SCHED-001 to SCHED-278 in docs/rules/scheduler.md. Decisions are functions of a pod, a node and what the informers
// show (filter*.go, volumes*.go); the controller around them queues, reserves, writes and waits.
package schedule
