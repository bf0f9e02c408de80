// Package schedule simulates kube-scheduler: it chooses nodes for pods by volumes, resources, taints, node selectors and other pods.
//
// kube-scheduler takes one pod at a time from a queue, filters the nodes through plugins, picks one, and reserves the volumes that the
// pod's unbound claims will get. It then continues with the next pod, while a binding cycle writes these choices to the API server, waits
// until the PersistentVolume controller or a provisioner has bound every claim, and binds the pod to its node. A pod that fits on no node
// waits in the queue until a change may help it.
//
// The package simulates all of that. The plugins VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone are complete.
// PodTopologySpread and InterPodAffinity filter nodes as in Kubernetes, and score them (SCHED-121). NodeUnschedulable, TaintToleration,
// NodeAffinity, NodePorts and NodeResourcesFit decide as in Kubernetes, with one exception: a node that does not report how much of a resource it has,
// has enough of it. Preemption chooses its victims as in Kubernetes, with disruption budgets and times of start.
//
// Among nodes with the same score the first by name wins, where Kubernetes takes one at random. All plugins that score by default do so
// (score.go, scorepods.go); Config.Score takes their place. In-tree volumes are translated to CSI (migrate.go).
//
// Not simulated: resource claims, extenders, pod groups, and percentageOfNodesToScore other than the default. The scheduler reads the
// taints of nodes, not their conditions; package nodelifecycle adds the taints.
//
// The rules are in docs/rules/scheduler.md. Start with cycle.go: it lists the plugins in their order. Decisions are
// pure functions of a pod, a node and the lookups: volumes.go, affinity.go, spread.go, and the files that begin with filter. Around them,
// queue.go and hints.go decide when a pod is tried, schedule.go runs an attempt, and bind.go and wait.go run the binding cycle. [Evaluator]
// runs the decisions on a snapshot, for package explain.
package schedule
