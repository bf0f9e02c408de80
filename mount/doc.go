// Package mount is the node's side of the life of a volume: one kubelet for each node, with its volume manager and the loop that
// leads pods from their arrival to their end.
//
// In a real cluster the kubelet works out which volumes the pods of its node use, reports them as in use, waits until the
// attach/detach controller has attached them, mounts each once for the node and then for each pod, and only then starts containers.
// When a pod ends it goes the same way back. All it knows is lost when the process ends; what it finds below its directory afterwards
// tells it what may be mounted.
//
// Here a [Node] is a machine: a [Disk] with the directories, files and mounts of the kubelet, a runtime with containers, and a
// kubelet that is an actor (kubelet/<node>). The populator writes the desired state of the world, the reconciler compares it with
// the actual state and starts operations, an operation calls a storage backend and notes what came of it, and a worker for each pod
// waits for its volumes. Passes that would find the same again do not take place; those that do fall on the ticks of loops that
// never sleep. A node can be stopped, cut off, powered off, rebooted and brought back; containers can read and write what is on
// their volumes ([Workload]). A machine can also be taken up in the middle of its life, with pods that run already ([Node.Adopt]).
//
// What is on a volume grows when the controller has expanded the volume itself: when a pod gets it, or at the next sync of a pod that
// has it. The notes that controller and kubelet exchange are in the status of the claim (EXP-040 to EXP-042).
//
// Left out: SELinux labels, plugins that CSI drivers took over, secrets and tokens of drivers, attaching by the kubelet itself, and kubelets
// without an API server. Static pods, admission of pods, images and restarts of containers are no matter of volumes. Delays that
// upstream stretches by chance have their least length.
//
// Rules held here: those of docs/rules/mount.md. Where upstream leaves the order open, what ends at the instant of a pass is seen by
// the next one (MNT-014).
package mount
