// Package storage is the contract between the simulated control plane and storage: CSI drivers and in-tree volume plugins.
//
// In a real cluster a controller that needs storage calls a CSI driver by gRPC, or a volume plugin that is compiled into
// kube-controller-manager and kubelet. Both are a [Backend] here: a name, and one small interface for each thing that it can do
// ([Creator], [Deleter], [Recycler], [Attacher], [Stager], [Publisher], [Expander], [NodeExpander], [Modifier]). Requests and responses
// have the fields of CSI that the control plane uses. What methods do not show, a backend says in its [Capabilities].
//
// Package fake has backends that work in memory. To write your own, implement [Backend] and the interfaces that you need, and check it
// with volsimtest.TestBackend. Backends have no clock and start nothing: the engine waits ([Delayer]), applies faults, and
// then makes the call, which takes effect at once.
//
// Not simulated: snapshots and clones (a clone is created empty, with its source confirmed), secrets, volume health, listing of
// volumes, and file systems except for their size.
//
// Rules: RECL-027 (volume in use).
package storage
