// Package mount simulates the kubelet of each node, as far as volumes are concerned: its volume manager, the life of pods, and the status
// of the node that the attach/detach controller reads.
//
// A kubelet finds out which volumes the pods of its node use, and reports them as in use. It waits until the attach/detach controller has
// attached them, mounts each one once on the node and then for each pod, and only then starts containers. When a pod ends, it unmounts
// in the reverse order. A kubelet that restarts has lost its state, and reconstructs it from the directories on the disk.
//
// Simulated: a [Node] with a disk (directories, metadata files, links, mounts), containers that read and write volumes as the annotations
// of their pod say ([AnnWriteEvery]), and a kubelet, which is the actor kubelet/<node>. The populator writes the desired state. The
// reconciler compares it with the actual state and starts operations, which call storage backends. A worker for each pod waits for its
// volumes. Volumes are expanded on the node when the controller has expanded them. A node can be stopped, partitioned, powered off, and
// resumed with pods that already run.
//
// Not simulated: attaching by the kubelet itself, kubelets without an API server, static pods, images, and container restarts.
// Delays that upstream randomizes have their minimum length.
//
// A loop skips the passes that would find nothing new. The others run at the ticks of the real loop.
package mount

// The rules are in docs/rules/mount.md. Where upstream leaves the order open, passes see what ended before their instant (MNT-014).
//
// Where to start:
//
//   - kubelet.go: the parts of a kubelet. populator.go, reconciler.go: its loops.
//   - mount/internal/volumes/plan.go: which step comes next for a volume ([PlanMount], [PlanUnmount], [PlanDevice]).
//   - pod_state.go: the states of a pod. pod_worker.go, wait_for_volumes.go, pod_end.go: what happens in them.
//   - operation_mount.go and the other operation files: the operations. operation_backoff.go: when a failed one is repeated.
//   - restart_reconstruction.go: what happens to the volumes of pods when their kubelet restarts. orphaned_pods.go: what happens to the
//     directories of pods that are gone.
//   - expansion.go, expansion_on_node.go, expansion_deferral.go: which volumes are expanded on the node, how, and which not yet.
//   - pod_status.go, node_status.go: what is written into the status of pods and of the Node, and when. node_registration.go, csinode.go:
//     how the node and its CSI drivers are registered.
//   - pod_next_sync.go: which periodic syncs of pods are skipped. The tickers in kubelet.go say it for the loops.
//   - mount/internal/plugin: CSI and in-tree plugins. mount/internal/disk: the disk and its layout.
